//! The pick among many threads, compared with one that holds threads one by one.

use std::sync::atomic::Ordering::SeqCst;

use super::Surw;
use crate::base::ids::{LocationId, SiteId, ThreadId};
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::strategy::{Dispatcher, World};
use crate::world::strategy::{Capabilities, Strategy};
use crate::world::{State, Step};

const PROGRAMS: u64 = 60;
const EXECUTIONS: usize = 8;

/// Selectively uniform random walk that holds threads one by one.
struct OneByOne(Surw);

impl Strategy for OneByOne {
    fn begin(&mut self) -> bool {
        self.0.begin()
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let pick = |surw: &mut Surw, state: &State| loop {
            if let Some(thread) = surw.pick_highest(state) {
                return thread;
            }
        };
        Ok(self.0.choose_by(state, pick))
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.0.end(execution, ending);
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
}

/// Runs one execution; returns its events as text.
fn execution(world: &mut World, program: &[Vec<Operation>]) -> String {
    assert!(world.begin(SiteId::new(0)));
    world.add_location(0);
    world.add_location(0);
    let mut done = vec![0_usize; program.len()];
    let mut step = world.advance();
    while let Step::Run(thread) = step {
        let next = done[thread.index()];
        done[thread.index()] += 1;
        let children = match thread {
            ThreadId::MAIN => program.len() - 1,
            _ => 0,
        };
        let operation = match next.checked_sub(children) {
            None => Some(Operation::Spawn),
            Some(next) => program[thread.index()].get(next).copied(),
        };
        let site = SiteId::new(next);
        step = match operation {
            Some(operation) => world.request(thread, operation, site),
            None => {
                world.announce_end(thread, site);
                world.advance()
            }
        };
    }
    format!("{:?}", world.finish().0.events)
}

#[test]
fn many_threads_are_held_at_once_as_one_by_one() {
    for seed in 0..PROGRAMS {
        let rng = &mut Rng::new(seed);
        let threads = 2 + rng.below(30);
        let mut operation = || {
            let location = LocationId::new(rng.below(2));
            match rng.below(3) {
                0 => Operation::Load {
                    location,
                    ordering: SeqCst,
                },
                1 => Operation::Store {
                    location,
                    ordering: SeqCst,
                    value: Some(1),
                },
                _ => Operation::Yield,
            }
        };
        let mut thread = || (0..4).map(|_| operation()).collect();
        let program: Vec<Vec<_>> = (0..threads).map(|_| thread()).collect();
        let mut ours = World::new(Dispatcher::other(Surw::new(seed)), 10_000);
        let mut expected = World::new(Dispatcher::other(OneByOne(Surw::new(seed))), 10_000);
        for _ in 0..EXECUTIONS {
            let (ours, expected) = (
                execution(&mut ours, &program),
                execution(&mut expected, &program),
            );
            assert_eq!(ours, expected, "{seed}");
        }
    }
}
