//! Dispatch of a world's calls to its strategy.

use std::any::Any;

use super::coverage::CoverageGuided;
use super::directed::Directed;
use super::portfolio::Portfolio;
use super::sampling::random::Random;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::search::Exhaustive;
use crate::world::strategy::{Dispatch, Strategy};
use crate::world::{self, State};

/// The strategy of a world. The random walk is called directly: it does so little that a virtual
/// call at every step is measurable.
pub enum Dispatcher {
    /// The uniform random walk.
    Random(Random),
    /// Any other strategy.
    Other(Box<dyn Strategy>),
}

impl From<Box<dyn Strategy>> for Dispatcher {
    fn from(strategy: Box<dyn Strategy>) -> Self {
        if !(&*strategy as &dyn Any).is::<Random>() {
            return Dispatcher::Other(strategy);
        }
        match (strategy as Box<dyn Any>).downcast() {
            Ok(random) => Dispatcher::Random(*random),
            Err(_) => unreachable!("it is one"),
        }
    }
}

impl From<Dispatcher> for Box<dyn Strategy> {
    fn from(dispatcher: Dispatcher) -> Self {
        match dispatcher {
            Dispatcher::Random(random) => Box::new(random),
            Dispatcher::Other(strategy) => strategy,
        }
    }
}

impl Dispatch for Dispatcher {
    #[inline(always)]
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        match self {
            Dispatcher::Random(random) => Ok(random.pick(state)),
            Dispatcher::Other(strategy) => strategy.choose(state),
        }
    }

    /// The random walk does not spend random choices on steps that no other thread can observe.
    #[inline(always)]
    fn skips_trivial_choices(&self) -> bool {
        matches!(self, Dispatcher::Random(_))
    }

    #[inline]
    fn strategy(&self) -> &dyn Strategy {
        match self {
            Dispatcher::Random(random) => random,
            Dispatcher::Other(strategy) => &**strategy,
        }
    }

    #[inline]
    fn strategy_mut(&mut self) -> &mut dyn Strategy {
        match self {
            Dispatcher::Random(random) => random,
            Dispatcher::Other(strategy) => &mut **strategy,
        }
    }
}

/// The world of a program under test, driven by any strategy.
pub type World = world::World<Dispatcher>;

impl World {
    /// Returns the exhaustive search, if the strategy is one or contains one.
    pub fn exhaustive(&mut self) -> Option<&mut Exhaustive> {
        let strategy: &mut dyn Any = self.strategy_mut();
        if strategy.is::<Exhaustive>() {
            return strategy.downcast_mut();
        }
        strategy.downcast_mut::<Portfolio>()?.search()
    }

    /// Returns the strategy if it searches for an execution that fits an alternative.
    pub fn directed(&mut self) -> Option<&mut Directed> {
        (self.strategy_mut() as &mut dyn Any).downcast_mut()
    }

    /// Returns the strategy if it is guided by coverage.
    pub fn guided(&mut self) -> Option<&mut CoverageGuided> {
        (self.strategy_mut() as &mut dyn Any).downcast_mut()
    }
}
