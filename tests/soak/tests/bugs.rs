//! The stories of real bugs as tests that remember: what `raddle-soak` runs and kills.

use raddle::{Checker, Memory, Strategy};
use raddle_stories::{Story, all};

/// The number of tests that the stories are divided into; they run in parallel.
const PARTS: usize = 6;

/// Every bug is found, and then known; the twin does not fail.
fn run_part(part: usize) {
    for story in all().into_iter().skip(part).step_by(PARTS) {
        if story.facts.preemptions.is_some_and(|most| most <= 2) {
            run(&story);
        }
    }
}

fn run(story: &Story) {
    let memory = match story.facts.memory {
        raddle_stories::Memory::Sc => Memory::Sc,
        raddle_stories::Memory::Weak => Memory::Rc11,
    };
    let checker = |name: String| {
        let checker = Checker::new().named(&name).known_schedules(true);
        checker.memory(memory).remember(true)
    };
    let report = checker(story.name.to_owned()).run(story.buggy);
    assert!(!report.failures.is_empty(), "{} is not found", story.name);
    let twin = checker(format!("{} twin", story.name));
    let twin = twin.strategy(Strategy::Random).max_executions(300);
    twin.run(story.correct).assert_ok();
}

macro_rules! parts {
    ($($name:ident = $part:expr;)*) => {$(
        #[test]
        fn $name() {
            run_part($part);
        }
    )*};
}
parts! { first = 0; second = 1; third = 2; fourth = 3; fifth = 4; sixth = 5; }
