//! Executions to the first failure of a changed program, with what an earlier version knows and without.
//!
//! A pair of versions is a story of `tests/stories`: its twin is the earlier version, the buggy program the later one.
//! Beside it runs a part that has nothing to do with it, and that changes more; of a *large* program, also a part that
//! does not change. What `cargo raddle test --since` would pass on is made from an exploration of the earlier version, and from the texts of the lines that both use.

mod change;
mod near;
mod unrelated;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use raddle::{Checker, Metric, Metrics, Strategy};
use raddle_stories::Story;

use crate::bugs::Options;
use crate::measure::geometric_mean;
use change::Change;
use near::NearChange;

/// Maximum executions of one search.
const CAP: u64 = 5_000;
/// Executions of the earlier version.
const EARLIER: u64 = 300;
/// No time limit: the number of executions limits a check.
const NO_LIMIT: Duration = Duration::from_secs(1_000_000);

/// A way to search the later version.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    /// As without `--since`.
    Auto,
    /// As with it.
    Since,
    Random,
    /// Guided by coverage.
    Guided,
    /// The same with the targets of the change.
    Targets,
    /// A search with preemptions near the change.
    Near,
}

/// The ratio that is printed is that of the second to the first.
const WAYS: [(Way, &str); 6] = [
    (Way::Auto, "auto"),
    (Way::Since, "since"),
    (Way::Random, "random"),
    (Way::Guided, "guided"),
    (Way::Targets, "targets"),
    (Way::Near, "near"),
];

/// Returns the metrics of guided search.
fn metrics() -> Metrics {
    Metrics::SYNC_PAIR_DEF_USE | Metric::Adjacent
}

/// A pair of versions.
struct Pair {
    story: Story,
    size: Size,
    change: Change,
}

/// What is around the changed story.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Size {
    /// A part that changes more.
    Small,
    /// This and a part that does not change.
    Large,
}

impl Pair {
    fn before(story: &Story, size: Size) -> impl Fn() + Send + Sync + 'static + use<> {
        all(story.correct, unrelated::before, size)
    }

    fn after(story: &Story, size: Size) -> impl Fn() + Send + Sync + 'static + use<> {
        all(story.buggy, unrelated::after, size)
    }

    /// Returns the execution in which the later version first fails; `CAP` if there is none.
    fn first_failure(&self, way: Way, seed: u64) -> u64 {
        let check = Checker::new();
        let check = match way {
            Way::Auto => check,
            Way::Since => check.set_option("since", self.change.file()),
            Way::Random => check.strategy(Strategy::Random),
            Way::Guided => check.strategy(Strategy::Coverage { metric: metrics() }),
            Way::Targets => check
                .strategy(Strategy::Coverage { metric: metrics() })
                .set_option("since", self.change.file()),
            Way::Near => {
                let near = self.change.near().to_vec();
                check.scheduler(move |seed, _| NearChange::new(near.clone(), seed))
            }
        };
        let count = AtomicU64::new(0);
        let body = Pair::after(&self.story, self.size);
        let report = check
            .seed(seed)
            .max_executions(CAP)
            .max_time(NO_LIMIT)
            .shorten(false)
            .checkpoint_every(Duration::ZERO)
            .run(|| {
                count.fetch_add(1, Relaxed);
                body();
            });
        match report.failures.is_empty() {
            true => CAP,
            false => count.load(Relaxed).min(CAP),
        }
    }
}

/// A program with other parts beside it.
fn all(story: fn(), other: fn(), size: Size) -> impl Fn() + Send + Sync + 'static {
    move || {
        let other = raddle::thread::spawn(other);
        let unchanged = (size == Size::Large).then(|| raddle::thread::spawn(unrelated::unchanged));
        story();
        other.join().unwrap();
        if let Some(unchanged) = unchanged {
            unchanged.join().unwrap();
        }
    }
}

/// Prints a line for each pair, then one for all, for programs of both sizes.
pub(crate) fn run(options: &Options) {
    compare(options, Size::Small);
    compare(options, Size::Large);
}

fn compare(options: &Options, size: Size) {
    let name = match size {
        Size::Small => "regression",
        Size::Large => "regression-large",
    };
    let names: Vec<_> = WAYS.iter().map(|(_, name)| *name).collect();
    println!(
        "{name} executions to the failure, median and 95th percentile: {}",
        names.join(" ")
    );
    let (mut ratios, mut medians) = (Vec::new(), vec![Vec::new(); WAYS.len()]);
    let wanted = raddle_stories::all().into_iter();
    for story in wanted.filter(|story| options.programs.contains(&story.name)) {
        let (before, after) = (Pair::before(&story, size), Pair::after(&story, size));
        let change = match Change::of(&before, &after, story.name) {
            Some(change) => change,
            None => {
                println!(
                    "{name} {} the change is in no line that a check sees",
                    story.name
                );
                continue;
            }
        };
        let pair = Pair {
            story,
            size,
            change,
        };
        let mut line = String::new();
        let (mut means, mut missed) = (Vec::new(), Vec::new());
        for (way, medians) in WAYS.iter().map(|(way, _)| *way).zip(&mut medians) {
            let mut found: Vec<_> = (0..options.seeds)
                .map(|seed| pair.first_failure(way, seed))
                .collect();
            found.sort_unstable();
            let at =
                |percent: u64| found[(options.seeds * percent).div_ceil(100).max(1) as usize - 1];
            line += &format!(" {}/{}", at(50), at(95));
            medians.push(at(50) as f64);
            missed.push(found.iter().filter(|&&found| found == CAP).count());
            means.push(found.iter().sum::<u64>() as f64 / found.len() as f64);
        }
        let ratio = means[1] / means[0];
        println!(
            "{name} {}{line} ratio={ratio:.2} missed={}/{}",
            pair.story.name, missed[0], missed[1]
        );
        ratios.push(ratio);
    }
    if ratios.is_empty() {
        return;
    }
    ratios.sort_by(f64::total_cmp);
    let at = |percent: usize| ratios[(ratios.len() * percent).div_ceil(100).max(1) - 1];
    let geomeans: Vec<_> = (medians.iter().zip(names))
        .map(|(medians, name)| format!("{name} {:.1}", geometric_mean(medians)))
        .collect();
    println!(
        "{name} pairs={} geomean {}; mean executions with --since against without: median {:.2} p95 {:.2}",
        ratios.len(),
        geomeans.join(" "),
        at(50),
        at(95)
    );
}
