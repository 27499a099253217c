//! Executions to the first failure of a changed program, with what an earlier version knows and without.
//!
//! A pair of versions is a story of `tests/stories`: its twin is the earlier version, the buggy program the later one.
//! Beside it runs a part that has nothing to do with it, and that changes more; of a *large* program, also a part that
//! does not change. What `cargo raddle test --since` would pass on is made from an exploration of the earlier version, and from the texts of the lines that both use.

mod change;
mod near;
mod options;
mod pairs;
mod unrelated;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use raddle::{Checker, Metric, Metrics, Strategy};
use raddle_stories::Story;

use crate::measure::geometric_mean;
use change::Change;
use near::NearChange;
pub(crate) use options::{Options, options};

/// Maximum executions of one search.
const CAP: u64 = 5_000;
/// Executions of the earlier version.
const EARLIER: u64 = 300;
/// No time limit: the number of executions limits a check.
const NO_LIMIT: Duration = Duration::from_secs(1_000_000);

/// A way to search the later version.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Way {
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

/// All ways.
pub(crate) const WAYS: [Way; 6] = [
    Way::Auto,
    Way::Since,
    Way::Random,
    Way::Guided,
    Way::Targets,
    Way::Near,
];

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Auto => "auto",
            Way::Since => "since",
            Way::Random => "random",
            Way::Guided => "guided",
            Way::Targets => "targets",
            Way::Near => "near",
        }
    }
}

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

/// Prints a line for each pair, then one for all, for programs of each size.
pub(crate) fn run(options: &Options) {
    for &size in &options.sizes {
        compare(options, size);
    }
}

fn compare(options: &Options, size: Size) {
    let name = match size {
        Size::Small => "regression",
        Size::Large => "regression-large",
    };
    let ways: Vec<_> = options.ways.iter().map(|way| way.name()).collect();
    println!(
        "{name} executions to the failure, mean (median/95th percentile): {}",
        ways.join(" ")
    );
    let mut ratios = Vec::new();
    let mut means = vec![Vec::new(); options.ways.len()];
    let wanted = raddle_stories::all().into_iter();
    for story in wanted.filter(|story| options.programs.contains(&story.name)) {
        let (before, after) = (Pair::before(&story, size), Pair::after(&story, size));
        let Some(change) = Change::of(&before, &after, story.name) else {
            let story = story.name;
            println!("{name} {story} the change is in no line that a check sees");
            continue;
        };
        let pair = Pair {
            story,
            size,
            change,
        };
        let (mut line, mut missed) = (String::new(), Vec::new());
        let mut mean_of = Vec::new();
        for (&way, means) in options.ways.iter().zip(&mut means) {
            let seeds = options.from..options.from + options.seeds;
            let mut found: Vec<_> = seeds.map(|seed| pair.first_failure(way, seed)).collect();
            found.sort_unstable();
            let mean = found.iter().sum::<u64>() as f64 / found.len() as f64;
            let [median, p95] = [50, 95].map(|percent| quantile(&found, percent));
            line += &format!(" {mean:.1} ({median}/{p95})");
            missed.push(
                found
                    .iter()
                    .filter(|&&found| found == CAP)
                    .count()
                    .to_string(),
            );
            means.push(mean);
            mean_of.push((way, mean));
        }
        let of = |wanted: Way| mean_of.iter().find(|(way, _)| *way == wanted);
        let ratio = of(Way::Since)
            .zip(of(Way::Auto))
            .map(|(since, auto)| since.1 / auto.1);
        let shown = ratio.map_or(String::new(), |ratio| format!(" ratio={ratio:.2}"));
        println!(
            "{name} {}{line}{shown} missed={}",
            pair.story.name,
            missed.join("/")
        );
        ratios.extend(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let geomeans: Vec<_> = (means.iter().zip(ways))
        .filter(|(means, _)| !means.is_empty())
        .map(|(means, name)| format!("{name} {:.1}", geometric_mean(means)))
        .collect();
    println!("{name} geometric means of means: {}", geomeans.join(" "));
    if !ratios.is_empty() {
        println!(
            "{name} pairs={} mean executions with --since against without: geometric mean {:.2} median {:.2} p95 {:.2}",
            ratios.len(),
            geometric_mean(&ratios),
            quantile(&ratios, 50),
            quantile(&ratios, 95)
        );
    }
}

/// Returns a percentile of sorted numbers.
fn quantile<T: Copy>(sorted: &[T], percent: usize) -> T {
    sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1]
}
