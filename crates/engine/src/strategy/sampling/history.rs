//! History-dependent scheduling: prefers decisions that were never made in the same abstract state.
//!
//! An abstract state is the multiset of source lines at which threads are about to continue; thread
//! identities and values do not matter. Of the enabled threads, one is chosen whose line was never
//! chosen in this abstract state, in any execution. If there is none, all are equally likely.
//! Threads at the same line count as interchangeable, and states that differ only in values as
//! equal, so this search is not exhaustive. (The history-dependent policy of Cooperari; Simões,
//! master's thesis, University of Lisbon, 2014.)

use std::fmt;
use std::sync::Arc;

use super::Foregone;
use crate::analysis::classes::Fingerprints;
use crate::base::ids::{SiteId, ThreadId};
use crate::base::rng::{Rng, mix};
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::strategy::sampling;
use crate::world::State;
use crate::world::strategy::{Capabilities, Lesson, Randomness, Strategy};

/// Maximum number of stored decisions, to bound the memory; later ones are not stored.
const MOST_DECISIONS: usize = 1 << 20;
/// Maximum number of new decisions that are handed on to other processes, and of those among which they are drawn.
const MOST_LESSONS: usize = 128;
const MOST_FRESH: usize = 1 << 14;

/// Numbers of source locations that are the same in all processes of a program.
#[derive(Clone)]
pub struct SiteKeys {
    key: Arc<dyn Fn(SiteId) -> u64 + Send + Sync>,
    /// By source location: its number, once it was asked for.
    known: Vec<Option<u64>>,
}

impl SiteKeys {
    /// Creates the numbers by a function that is called once for each source location.
    pub fn new(key: impl Fn(SiteId) -> u64 + Send + Sync + 'static) -> Self {
        SiteKeys {
            key: Arc::new(key),
            known: Vec::new(),
        }
    }

    fn of(&mut self, site: SiteId) -> u64 {
        let SiteKeys { key, known } = self;
        if site.index() >= known.len() {
            known.resize(site.index() + 1, None);
        }
        *known[site.index()].get_or_insert_with(|| key(site))
    }
}

impl fmt::Debug for SiteKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteKeys").finish_non_exhaustive()
    }
}

/// Random scheduling that prefers new decisions.
#[derive(Clone, Debug)]
pub struct History {
    rng: Rng,
    foregone: Foregone,
    /// By thread: its line, valid until it runs.
    lines: Vec<Option<u64>>,
    /// Decisions made, each with its abstract state.
    taken: Fingerprints,
    /// The numbers of source locations, if decisions are handed on to other processes.
    keys: Option<SiteKeys>,
    /// Decisions that other processes may not know, if there are such.
    fresh: Vec<u32>,
}

impl History {
    /// Creates the strategy; schedules depend only on the seed and the program.
    pub fn new(seed: u64) -> Self {
        History {
            rng: Rng::new(seed),
            foregone: Foregone::default(),
            lines: Vec::new(),
            taken: Fingerprints::default(),
            keys: None,
            fresh: Vec::new(),
        }
    }

    /// Makes the decisions the same in all processes that use these numbers.
    pub fn with_keys(mut self, keys: SiteKeys) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Records a decision; false if it was made before.
    fn take(&mut self, decision: u64) -> bool {
        if self.keys.is_none() {
            return self.taken.insert(decision);
        }
        let short = decision as u32;
        let is_new = self.taken.insert(mix(short.into()));
        if is_new && self.fresh.len() < MOST_FRESH {
            self.fresh.push(short);
        }
        is_new
    }

    /// Returns the thread's line: source location and operation, because one call may perform
    /// several operations.
    fn line(&mut self, state: &State, thread: ThreadId) -> u64 {
        let (line, keys) = (&mut self.lines[thread.index()], &mut self.keys);
        *line.get_or_insert_with(|| {
            let site = state.pending_site(thread);
            let site = match keys {
                Some(keys) => keys.of(site),
                None => site.index() as u64,
            };
            let bytes = state.pending(thread).label().bytes();
            bytes.fold(mix(site.wrapping_add(1)), |line, byte| {
                mix(line ^ u64::from(byte))
            })
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
                if self.take(decision) {
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

    /// Returns some of the new decisions, drawn at random: other streams make many of the same ones first.
    fn lessons(&self) -> Vec<Lesson> {
        let salt = self.rng.clone().next();
        let mut fresh = self.fresh.clone();
        fresh.sort_by_key(|&decision| mix(salt ^ u64::from(decision)));
        fresh.truncate(MOST_LESSONS);
        // Streams with the same decisions hand on the same.
        fresh.sort_unstable();
        fresh.into_iter().map(Lesson::Decision).collect()
    }

    fn recall(&mut self, lesson: &Lesson) {
        if let Lesson::Decision(decision) = lesson {
            self.taken.insert(mix(u64::from(*decision)));
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            randomness: Randomness::Seeded,
            ..Capabilities::SAMPLER
        }
    }
}
