//! History-dependent scheduling: prefers decisions that were never made in the same abstract state.
//!
//! An abstract state is the multiset of source lines at which threads are about to continue; thread
//! identities and values do not matter. Of the enabled threads, one is chosen whose line was never
//! chosen in this abstract state, in any execution. If there is none, all are equally likely.
//! Threads at the same line count as interchangeable, and states that differ only in values as
//! equal, so this search is not exhaustive. (The history-dependent policy of Cooperari; Simões,
//! master's thesis, University of Lisbon, 2014.)

use super::Foregone;
use crate::analysis::classes::Fingerprints;
use crate::base::ids::ThreadId;
use crate::base::rng::{Rng, mix};
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Randomness, Strategy};

/// Maximum number of stored decisions, to bound the memory; later ones are not stored.
const MOST_DECISIONS: usize = 1 << 20;

/// Random scheduling that prefers new decisions.
#[derive(Clone, Debug)]
pub struct History {
    rng: Rng,
    foregone: Foregone,
    /// By thread: its line, valid until it runs.
    lines: Vec<Option<u64>>,
    /// Decisions made, each with its abstract state.
    taken: Fingerprints,
}

impl History {
    /// Creates the strategy; schedules depend only on the seed and the program.
    pub fn new(seed: u64) -> Self {
        History {
            rng: Rng::new(seed),
            foregone: Foregone::default(),
            lines: Vec::new(),
            taken: Fingerprints::default(),
        }
    }

    /// Returns the thread's line: source location and operation, because one call may perform
    /// several operations.
    fn line(&mut self, state: &State, thread: ThreadId) -> u64 {
        let line = &mut self.lines[thread.index()];
        *line.get_or_insert_with(|| {
            let site = state.pending_site(thread).index() as u64;
            let bytes = state.pending(thread).label().bytes();
            bytes.fold(mix(site + 1), |line, byte| mix(line ^ u64::from(byte)))
        })
    }

    fn pick(&mut self, state: &State) -> ThreadId {
        let enabled = state.enabled();
        if let [only] = *enabled {
            return only;
        }
        let mut place = 0_u64;
        for &thread in enabled {
            place = place.wrapping_add(self.line(state, thread));
        }
        let first = sampling::below(&mut self.rng, enabled.len() as u32) as usize;
        if self.taken.len() < MOST_DECISIONS {
            for &thread in enabled[first..].iter().chain(&enabled[..first]) {
                let decision = mix(place ^ self.line(state, thread).rotate_left(32));
                if self.taken.insert(decision) {
                    return thread;
                }
            }
        }
        enabled[first]
    }
}

impl Strategy for History {
    fn begin(&mut self) -> bool {
        self.foregone.begin();
        self.lines.clear();
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.lines.resize(state.execution().threads.len(), None);
        let foregone = self.foregone.next(state);
        let thread = foregone.unwrap_or_else(|| self.pick(state));
        self.lines[thread.index()] = None;
        Ok(sampling::run(&mut self.rng, state, thread))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            randomness: Randomness::Seeded,
            ..Capabilities::SAMPLER
        }
    }
}
