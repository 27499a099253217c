//! The deadline of a check: one value for the search, for the replays before it and for the
//! explanation of what was found.
//!
//! The watchdog compares it with the clock. When it has passed, no further execution begins, and an
//! execution that does not end soon after is cut at its next scheduling point.

use std::time::{Duration, Instant};

use super::interrupts;

/// Time for explaining a failure that was found too late for the rest of the budget.
const LATE_EXPLANATION: Duration = Duration::from_millis(400);

/// The time at which a check must end, if it is limited. It ends earlier if the user asks for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    until: Option<Instant>,
    /// Time limit from which the deadline was computed, for messages.
    limit: Option<Duration>,
}

impl Deadline {
    /// A deadline at this time limit after `start`, if there is a limit.
    pub(crate) fn new(start: Instant, limit: Option<Duration>) -> Self {
        Deadline {
            until: limit.and_then(|limit| start.checked_add(limit)),
            limit,
        }
    }

    /// Returns the time at which the check ends, if it is limited.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Returns the time limit, unless the user has stopped the check.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.limit.filter(|_| !interrupts::came())
    }

    /// True when it has passed, or the user has stopped the check. Reads the clock.
    pub(crate) fn is_past(&self) -> bool {
        interrupts::came() || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Returns the deadline of an explanation that begins at `now`: the rest of the budget, and a moment if
    /// that is spent.
    pub(crate) fn of_explanation(&self, now: Instant) -> Self {
        Deadline {
            until: self.until.map(|until| until.max(now + LATE_EXPLANATION)),
            ..*self
        }
    }

    /// Returns the deadline if it comes before `until`, and one at `until` otherwise.
    pub(crate) fn before(&self, until: Instant) -> Self {
        Deadline {
            until: Some(self.until.map_or(until, |own| own.min(until))),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_takes_the_rest_of_the_budget_and_a_moment_at_most_after_it() {
        let start = Instant::now();
        let seconds = |seconds| start + Duration::from_secs(seconds);
        let most = Duration::from_secs(5);
        let deadline = Deadline::new(start, Some(Duration::from_secs(10)));
        let explanation = |now| deadline.of_explanation(now).before(now + most);
        let until = |now| explanation(now).until().unwrap();
        assert_eq!(until(start), seconds(5), "its own limit comes first");
        assert_eq!(until(seconds(7)), seconds(10), "the rest of the budget");
        assert_eq!(until(seconds(10)), seconds(10) + LATE_EXPLANATION);
        assert_eq!(until(seconds(12)), seconds(12) + LATE_EXPLANATION);
        let unlimited = Deadline::new(start, None);
        let explanation = unlimited.of_explanation(seconds(7));
        assert_eq!(explanation.until(), None);
        assert_eq!(explanation.before(seconds(9)).until(), Some(seconds(9)));
    }

    #[test]
    fn a_deadline_beyond_the_end_of_time_is_none() {
        let deadline = Deadline::new(Instant::now(), Some(Duration::MAX));
        assert!(deadline.until().is_none() && !deadline.is_past());
    }
}
