//! Trials of loops: rounds that are repeated off the record before a loop is taken for one that waits.
//!
//! Equal stacks do not prove that rounds are equal: the state of a loop may be on the heap, in a thread-local
//! or in a static. So the thread first goes round [`ROUNDS`] times alone, with the replies of its last
//! round. These rounds are not recorded, and change nothing but memory that raddle does not see. If the thread
//! performs another operation, or ends, the loop ends by itself: its rounds are explored one by one.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use raddle_engine::{Ending, Operation, Reply, Round, SiteId, Step, ThreadId, World};

use crate::runtime::Context;

/// Rounds of a trial: more than the rounds after which hand-written loops back off or give up, and less than a
/// millisecond.
const ROUNDS: u32 = 1_000;

/// A loop of a thread: the site at which a round begins, and the bytes of the stack there, which tell calls of
/// one function from each other.
pub(super) type Loop = (ThreadId, SiteId, usize);

/// The result of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// The loop goes on for as long as its reads return what they did.
    Waits,
    /// The loop ends by itself.
    Ends,
}

/// The trial that takes place.
struct Trial {
    tried: Loop,
    round: Round,
    /// Index of the operation that is expected next.
    next: usize,
    rounds: u32,
}

/// The trials of the loops of a program.
#[derive(Default)]
pub(super) struct Trials {
    verdicts: RefCell<HashMap<Loop, Verdict>>,
    /// The loops in which threads wait, by thread.
    waits: RefCell<HashMap<ThreadId, Loop>>,
    trial: RefCell<Option<Trial>>,
    takes_place: Cell<bool>,
}

/// The answer to an operation during a trial.
pub(super) enum Answer {
    /// The reply of the last round.
    Reply(Reply),
    /// The trial is over.
    Over,
}

impl Trials {
    /// True while a thread repeats its last round.
    #[inline(always)]
    pub(super) fn takes_place(&self) -> bool {
        self.takes_place.get()
    }

    /// Returns the result of the trial of a loop, if there was one.
    pub(super) fn verdict(&self, of: Loop) -> Option<Verdict> {
        self.verdicts.borrow().get(&of).copied()
    }

    /// Records that a thread waits in this loop.
    pub(super) fn note_wait(&self, of: Loop) {
        self.waits.borrow_mut().insert(of.0, of);
    }

    /// Returns the loop in which a thread waits, if it was not tried.
    pub(super) fn untried_wait(&self, thread: ThreadId) -> Option<Loop> {
        let of = self.waits.borrow().get(&thread).copied()?;
        self.verdict(of).is_none().then_some(of)
    }

    /// Begins a trial with the events of the last round, whose first operation the thread repeats now; returns
    /// its reply.
    pub(super) fn begin(&self, tried: Loop, round: Round) -> Reply {
        let (_, _, reply) = round[0];
        let trial = Trial {
            tried,
            next: 1 % round.len(),
            rounds: u32::from(round.len() == 1),
            round,
        };
        *self.trial.borrow_mut() = Some(trial);
        self.takes_place.set(true);
        reply
    }

    /// Answers the next operation of the thread.
    pub(super) fn answer(&self, operation: &Operation, site: SiteId) -> Answer {
        let mut place = self.trial.borrow_mut();
        let trial = place.as_mut().expect("a trial takes place");
        let (expected, at, reply) = &mut trial.round[trial.next];
        // Events, of which the first round consists, may have another ordering than operations that are changed.
        let is_event = matches!((trial.rounds, trial.next), (0, _) | (1, 0));
        let is_expected = match is_event {
            true => expected.is_like(operation),
            false => expected == operation,
        };
        if !is_expected || *at != site {
            drop(place);
            self.end(Verdict::Ends);
            return Answer::Over;
        }
        *expected = *operation;
        let reply = *reply;
        trial.next = (trial.next + 1) % trial.round.len();
        trial.rounds += u32::from(trial.next == 0);
        match trial.rounds {
            ROUNDS => {
                drop(place);
                self.end(Verdict::Waits);
                Answer::Over
            }
            _ => Answer::Reply(reply),
        }
    }

    /// Forgets a trial whose execution was stopped.
    pub(super) fn forget_trial(&self) {
        self.takes_place.set(false);
    }

    /// Ends the trial with this verdict.
    pub(super) fn end(&self, verdict: Verdict) {
        self.takes_place.set(false);
        if let Some(trial) = self.trial.borrow_mut().take() {
            self.verdicts.borrow_mut().insert(trial.tried, verdict);
        }
    }
}

impl Context {
    /// Answers the next operation of a thread that repeats its last round off the record. When that is over, the
    /// execution is run again.
    #[cold]
    #[inline(never)]
    pub(super) fn request_in_trial(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: &Operation,
        site: SiteId,
    ) -> Step {
        match self.watch.trials.answer(operation, site) {
            Answer::Reply(reply) => world.reply_off_the_record(thread, reply),
            Answer::Over => {
                self.watch.again.set(true);
                world.stop(Ending::Discarded)
            }
        }
    }

    /// Ends the trial of the calling thread, which has ended.
    #[inline]
    pub(in crate::runtime) fn end_trial(&self) {
        if self.watch.trials.takes_place() {
            self.watch.trials.end(Verdict::Ends);
            self.watch.again.set(true);
            self.with_world(|world| world.stop(Ending::Discarded));
            self.progress.set_fault();
        }
    }

    /// Tries the loops of a livelock that was found by a strategy that cannot run an execution again. Discards the
    /// execution if one of them ends by itself.
    #[inline]
    pub(in crate::runtime) fn try_livelock(&self, resume: impl Fn(&Context, ThreadId)) {
        let rounds = self.with_world(|world| world.livelocked());
        if rounds.is_empty() || !self.is_library() {
            return;
        }
        self.watch.perform_apart();
        for (thread, round) in rounds {
            let trials = &self.watch.trials;
            let Some(tried) = trials.untried_wait(thread) else {
                continue;
            };
            let reply = trials.begin(tried, round);
            self.with_world(|world| world.reply_off_the_record(thread, reply));
            resume(self, thread);
            self.progress.take_fault();
            self.watch.again.set(false);
            if self.watch.trials.verdict(tried) == Some(Verdict::Ends) {
                return self.with_world(|world| world.retract_livelock());
            }
        }
    }
}
