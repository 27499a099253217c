//! Dispatch of a world's calls to its strategy.

use super::coverage::CoverageGuided;
use super::directed::Directed;
use super::portfolio::Portfolio;
use super::sampling::Random;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::search::Exhaustive;
use crate::world::strategy::{Dispatch, Strategy};
use crate::world::{self, State};

/// The strategy of a world. The random walk is called directly: it does so little that a virtual
/// call at every step is measurable. Strategies with methods beyond the trait also have a variant
/// of their own.
pub enum Dispatcher {
    /// The uniform random walk.
    Random(Random),
    /// The exhaustive search, whose work can be shared and saved.
    Search(Box<Exhaustive>),
    /// Samplers and a search that take turns.
    Portfolio(Box<Portfolio>),
    /// A search for one execution that fits an alternative.
    Directed(Box<Directed>),
    /// A strategy that is guided by coverage.
    Guided(Box<CoverageGuided>),
    /// Any other strategy.
    Other(Box<dyn Strategy>),
}

impl Dispatcher {
    /// Wraps a strategy that is used through the trait only.
    pub fn other(strategy: impl Strategy + 'static) -> Self {
        Dispatcher::Other(Box::new(strategy))
    }
}

impl From<Box<dyn Strategy>> for Dispatcher {
    fn from(strategy: Box<dyn Strategy>) -> Self {
        Dispatcher::Other(strategy)
    }
}

impl From<Random> for Dispatcher {
    fn from(random: Random) -> Self {
        Dispatcher::Random(random)
    }
}

impl From<Exhaustive> for Dispatcher {
    fn from(search: Exhaustive) -> Self {
        Dispatcher::Search(Box::new(search))
    }
}

impl From<Portfolio> for Dispatcher {
    fn from(portfolio: Portfolio) -> Self {
        Dispatcher::Portfolio(Box::new(portfolio))
    }
}

impl From<Directed> for Dispatcher {
    fn from(directed: Directed) -> Self {
        Dispatcher::Directed(Box::new(directed))
    }
}

impl From<CoverageGuided> for Dispatcher {
    fn from(guided: CoverageGuided) -> Self {
        Dispatcher::Guided(Box::new(guided))
    }
}

impl Dispatch for Dispatcher {
    #[inline(always)]
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        match self {
            Dispatcher::Random(random) => Ok(random.pick(state)),
            other => other.strategy_mut().choose(state),
        }
    }

    #[inline(always)]
    fn random_walk(&mut self) -> Option<&mut Rng> {
        match self {
            Dispatcher::Random(random) => Some(random.rng()),
            _ => None,
        }
    }

    #[inline]
    fn strategy(&self) -> &dyn Strategy {
        match self {
            Dispatcher::Random(random) => random,
            Dispatcher::Search(search) => &**search,
            Dispatcher::Portfolio(portfolio) => &**portfolio,
            Dispatcher::Directed(directed) => &**directed,
            Dispatcher::Guided(guided) => &**guided,
            Dispatcher::Other(strategy) => &**strategy,
        }
    }

    #[inline]
    fn strategy_mut(&mut self) -> &mut dyn Strategy {
        match self {
            Dispatcher::Random(random) => random,
            Dispatcher::Search(search) => &mut **search,
            Dispatcher::Portfolio(portfolio) => &mut **portfolio,
            Dispatcher::Directed(directed) => &mut **directed,
            Dispatcher::Guided(guided) => &mut **guided,
            Dispatcher::Other(strategy) => &mut **strategy,
        }
    }
}

/// The world of a program under test, driven by any strategy.
pub type World = world::World<Dispatcher>;

impl World {
    /// Returns the exhaustive search, if the strategy is one or contains one.
    pub fn exhaustive(&mut self) -> Option<&mut Exhaustive> {
        match self.dispatch() {
            Dispatcher::Search(search) => Some(search),
            Dispatcher::Portfolio(portfolio) => portfolio.search(),
            _ => None,
        }
    }

    /// Returns the strategy if it searches for an execution that fits an alternative.
    pub fn directed(&mut self) -> Option<&mut Directed> {
        match self.dispatch() {
            Dispatcher::Directed(directed) => Some(directed),
            _ => None,
        }
    }

    /// Returns the strategy if it is guided by coverage.
    pub fn guided(&mut self) -> Option<&mut CoverageGuided> {
        match self.dispatch() {
            Dispatcher::Guided(guided) => Some(guided),
            _ => None,
        }
    }
}
