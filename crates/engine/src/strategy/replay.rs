//! The execution that a schedule describes, once.
//!
//! Where the program no longer does what the schedule says, the execution stops there and says
//! what differs. Past the end of the schedule each thread runs as far as it can.

use super::{Choice, Divergence, Record, Strategy};
use crate::schedule::Schedule;
use crate::world::State;

/// One execution along a schedule.
#[derive(Debug)]
pub struct Replay {
    schedule: Schedule,
    position: usize,
    started: bool,
}

impl Replay {
    /// Will follow this schedule.
    pub fn new(schedule: Schedule) -> Self {
        Replay {
            schedule,
            position: 0,
            started: false,
        }
    }
}

impl Strategy for Replay {
    fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.started, true)
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let Some(step) = self.schedule.steps.get(self.position) else {
            let first = state
                .enabled()
                .iter()
                .min()
                .expect("some thread is enabled");
            return Ok(Choice::run(*first));
        };
        let thread = state.execution().thread_at(&step.thread);
        let live = thread.filter(|&thread| !state.has_ended(thread));
        if let Some(thread) = live
            && state.is_enabled(thread)
            && step.fits(state.pending(thread))
            && step.outcome < state.outcomes(thread)
        {
            self.position += 1;
            return Ok(Choice {
                thread,
                source: 0,
                outcome: step.outcome,
            });
        }
        Err(Box::new(Divergence {
            from: Record::Schedule,
            after: self.position,
            thread: step.thread.clone(),
            expected: step.operation.clone(),
            found: live.map(|thread| *state.pending(thread)),
        }))
    }
}
