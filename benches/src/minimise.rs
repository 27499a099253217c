//! The length of minimised failures: the stories of `tests/stories`, found by sampling and
//! minimised.

use std::fmt;
use std::time::Duration;

use raddle::{Checker, Strategy};
use raddle_stories::Story;

/// Maximum executions until a failure; a story without one is not minimised.
const CAP: u64 = 20_000;
/// No time limit: the number of executions limits a check.
const NO_LIMIT: Duration = Duration::from_secs(1_000_000);
/// A seed that does not find the shortest failure.
const SEED: u64 = 1;

/// Prints a line for each program.
pub(crate) fn run(programs: &[&str]) {
    for story in raddle_stories::all() {
        if programs.is_empty() || programs.contains(&story.name) {
            println!("{}", measure(&story));
        }
    }
}

/// The result for one story.
struct Line {
    name: &'static str,
    minimised: Option<raddle::Minimised>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(minimised) = &self.minimised else {
            return write!(f, "minimise {} not found", self.name);
        };
        let after = minimised.preemptions_after;
        let optimal = match minimised.is_minimal {
            true => after.to_string(),
            false => "?".to_owned(),
        };
        write!(
            f,
            "minimise {} preemptions_before={} after={after} optimal={optimal} events_before={} \
             events_after={} reruns={}",
            self.name,
            minimised.preemptions_before,
            minimised.events_before,
            minimised.events_after,
            minimised.runs,
        )
    }
}

fn measure(story: &Story) -> Line {
    let check = |strategy: Strategy| {
        Checker::new()
            .strategy(strategy)
            .seed(SEED)
            .max_executions(CAP)
            .max_time(NO_LIMIT)
            .checkpoint_every(Duration::ZERO)
            .run(story.buggy)
    };
    let mut report = check(Strategy::Random);
    if report.failures.is_empty() {
        report = check(Strategy::Exhaustive);
    }
    let failure = report.failures.first();
    Line {
        name: story.name,
        minimised: failure.and_then(|failure| failure.minimised),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_update_takes_one_preemption() {
        let stories = raddle_stories::all();
        let story = stories.iter().find(|story| story.name == "lost_update");
        let line = measure(story.unwrap()).to_string();
        assert!(
            line.starts_with("minimise lost_update preemptions_before="),
            "{line}"
        );
        assert!(line.contains(" after=1 optimal=1 events_before="), "{line}");
    }
}
