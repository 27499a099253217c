//! Executions to the first failure: the stories of `tests/stories`, with raddle's strategies and
//! with shuttle's schedulers, from many seeds each.

mod contender;
mod muted;
mod options;
mod peer;
mod summary;

use std::time::Instant;

use contender::{Contender, Subject};
pub(crate) use options::{BadOption, Options, options, story};
use peer::Peer;
use raddle::Strategy;
use summary::{Line, Summary};

/// Maximum executions of one search; a bug not found by then counts as not found.
const CAP: u64 = 10_000;
/// Number of seeds for each program and strategy.
const SEEDS: u64 = 100;
/// Number of seeds for a first impression.
pub(crate) const QUICK_SEEDS: u64 = 5;
/// Number of seeds without a failure after which the rest is skipped.
const HOPELESS: usize = 10;
/// Executions of each twin by each strategy.
const TWIN: u64 = 2_000;
/// The strategies that are compared unless others are named.
const STRATEGIES: [Strategy; 11] = [
    Strategy::Auto,
    Strategy::Random,
    Strategy::Pct { depth: 3 },
    Strategy::Pos,
    Strategy::Urw,
    Strategy::Surw,
    Strategy::History,
    Strategy::RaceDirected,
    Strategy::AtomicityDirected,
    Strategy::DeadlockDirected,
    Strategy::Exhaustive,
];

/// Prints a line for each program, then three for all of them.
pub(crate) fn run(options: &Options) {
    let raddle = options.strategies.iter().cloned().map(Contender::Raddle);
    let shuttle = Peer::ALL.map(Contender::Shuttle);
    let contenders: Vec<_> = raddle.chain(shuttle).collect();
    let mut summary = Summary::default();
    for story in subjects(&options.programs) {
        let start = Instant::now();
        let name = story.raddle.name;
        let mut line = Line::new(name, story.raddle.facts.memory);
        for contender in &contenders {
            line.add(contender, measure(contender, &story, options.seeds));
        }
        for contender in &contenders {
            if contender.twin_fails(&story, 0, TWIN) {
                eprintln!("bugs: the twin of {name} fails with {}", contender.name());
                line.twin_failed = true;
            }
        }
        println!("{line}");
        eprintln!("bugs: {name} took {:.1} s", start.elapsed().as_secs_f64());
        summary.add(line);
    }
    print!("{summary}");
}

/// The stories with these names, as both run them.
fn subjects(names: &[&str]) -> Vec<Subject> {
    let wanted = |story: &Subject| names.contains(&story.raddle.name);
    let both = raddle_stories::all().into_iter().zip(peer::all());
    both.map(|(raddle, shuttle)| Subject { raddle, shuttle })
        .filter(wanted)
        .collect()
}

/// Executions to the first failure, one for each seed; fewer if it is hopeless.
fn measure(contender: &Contender, story: &Subject, seeds: u64) -> summary::Runs {
    let mut runs = summary::Runs::new(seeds);
    for seed in 0..seeds {
        if runs.is_hopeless(HOPELESS) {
            break;
        }
        runs.push(contender.first_failure(story, seed, CAP));
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_run_the_same_stories() {
        for Subject { raddle, shuttle } in subjects(&options(&[]).unwrap().programs) {
            assert_eq!(raddle.name, shuttle.name);
        }
        assert_eq!(raddle_stories::all().len(), peer::all().len());
    }

    #[test]
    fn executions_up_to_the_failure_are_counted() {
        let story = &subjects(&["lost_update"])[0];
        // Any first failure is a lost update, and it needs a preemption.
        for contender in [
            Contender::Raddle(Strategy::Exhaustive),
            Contender::Raddle(Strategy::Random),
            Contender::Shuttle(Peer::Random),
            Contender::Shuttle(Peer::Pct),
            Contender::Shuttle(Peer::Urw),
        ] {
            let name = contender.name();
            let found = contender.first_failure(story, 1, 1_000).expect(&name);
            // Fewer executions are not enough, and this number is.
            assert_eq!(
                contender.first_failure(story, 1, found),
                Some(found),
                "{name}"
            );
            if found > 1 {
                assert_eq!(contender.first_failure(story, 1, found - 1), None, "{name}");
            }
            assert!(!contender.twin_fails(story, 1, 100), "{name}");
        }
    }
}
