//! The streams of a sampling check that is shared.
//!
//! A stream is a check of its own with the same strategy, a seed of its own and a limit of executions: the first stream
//! has the seed of the shared check. So the executions of the shared check depend on its seed and its limit of
//! executions only, and not on the processes that run the streams. No stream is cut by the clock. One that is not run
//! to its end, because the process is to end, is dropped with its results and is left to another process.
//!
//! The streams of a strategy that is guided by coverage, and those of `Auto`, come in *generations*, each of which begins
//! when the last stream of the one before has ended. A stream begins with what the streams of all earlier generations have
//! learned, and with nothing of its own generation, whose streams end in any order. So what it begins with depends on its
//! number only.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use raddle_engine::coverage::Requirement;
use raddle_engine::strategy::Lesson;
use raddle_engine::{Exploration, World};
use raddle_report::exchange::{Part, PartResults};

use crate::driver::phases;
use crate::driver::shared_search::results::{
    EXECUTIONS, FINGERPRINTS, STREAM_FINGERPRINTS, results, sums_fingerprints,
};
use crate::driver::shared_search::{coverage, lessons};
use crate::driver::worker::Worker;
use crate::driver::workers::Job;
use crate::persist::events;
use crate::runtime::deadline::Deadline;
use crate::runtime::{Places, watchdog};
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;
use crate::settings::samplers;

/// Fewest and most executions of a stream. Samplers learn the shape of the program from the first executions of a
/// stream, and workers wait for the ends of streams when the time is over.
const FEWEST: u64 = 64;
const MOST: u64 = 256;
/// Number of streams that a check has before its streams become longer than the shortest.
const STREAMS: u64 = 64;
/// Number of streams of the first generation, if streams learn from earlier ones. Each later generation has as many streams as all
/// before it: so there are few ends of generations, at which workers wait for each other.
const FIRST_GENERATION: u64 = 8;
/// Number of generations of `Auto`. Those but the last hand on what they have learned, which is 64 streams at most: more
/// would help little, and the queue would have to keep it.
const GENERATIONS: u32 = 5;
/// Number of different classes after which a part hands back its rest, so that a commit stays small.
const MOST_CLASSES: usize = 1 << 13;

/// A range of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Streams {
    first: u64,
    end: u64,
    generation: u32,
}

impl Streams {
    /// Returns all streams of a check, or those of the first generation.
    pub(super) fn all(checker: &Checker) -> Self {
        Self::of_generation(checker, 0).expect("a check has a stream")
    }

    /// Returns the streams of a generation, if there are any.
    fn of_generation(checker: &Checker, generation: u32) -> Option<Self> {
        let all = runs(checker).div_ceil(length(checker));
        let last = generations(checker) - 1;
        let end = |generation: u32| {
            let factor = 1_u64.checked_shl(generation);
            let end = factor.and_then(|factor| factor.checked_mul(FIRST_GENERATION));
            let end = end.filter(|_| generation < last);
            end.map_or(all, |end| end.min(all))
        };
        let streams = Streams {
            first: generation.checked_sub(1).map_or(0, end),
            end: end(generation),
            generation,
        };
        (streams.first < streams.end).then_some(streams)
    }

    pub(super) fn to_text(self) -> String {
        let range = format!("{} {} {}", Part::STREAMS, self.first, self.end);
        match self.generation {
            0 => range,
            generation => format!("{range} {generation}"),
        }
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let is_range = words.next() == Some(Part::STREAMS);
        let (first, end) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let generation = words.next().map_or(Some(0), |word| word.parse().ok())?;
        let is_whole = is_range && words.next().is_none() && first < end;
        is_whole.then_some(Streams {
            first,
            end,
            generation,
        })
    }

    /// Splits the range into at most this number of ranges, none of them empty.
    fn split(self, pieces: usize) -> Vec<Self> {
        let count = self.end - self.first;
        let pieces = (pieces as u64).clamp(1, count.max(1));
        let start = |piece: u64| self.first + count / pieces * piece + (count % pieces).min(piece);
        let all = (0..pieces).map(|piece| Streams {
            first: start(piece),
            end: start(piece + 1),
            generation: self.generation,
        });
        all.filter(|one| one.first < one.end).collect()
    }
}

/// Returns the maximum number of generations. There is one if streams learn nothing from each other.
fn generations(checker: &Checker) -> u32 {
    match checker.strategy {
        Strategy::Coverage { .. } => u32::MAX,
        Strategy::Auto => GENERATIONS,
        _ => 1,
    }
}

/// Returns the number of executions of all streams; `u64::MAX` if it is not limited.
fn runs(checker: &Checker) -> u64 {
    match (phases::max_runs(checker), &checker.strategy) {
        (u64::MAX, _) => u64::MAX,
        // The exhaustive search has had the other half.
        (runs, Strategy::Auto) => runs / 2,
        (runs, _) => runs,
    }
}

/// Returns the number of executions of each stream but the last.
fn length(checker: &Checker) -> u64 {
    match runs(checker) {
        // Only the time is limited, and the executions may be slow.
        u64::MAX => FEWEST,
        runs => (runs / STREAMS).clamp(FEWEST, MOST),
    }
}

/// Returns the settings of one stream.
fn settings(checker: &Checker, stream: u64) -> Checker {
    let (runs, length) = (runs(checker), length(checker));
    Checker {
        seed: samplers::seed(checker.seed, stream as usize),
        max_executions: Some((runs - stream * length).min(length)),
        max_time: None,
        ..checker.clone()
    }
}

/// Runs streams of a part until its time is over, and at least one.
pub(super) fn explore(
    worker: &Worker<'_, '_>,
    job: Job<'_>,
    part: &Part,
    streams: Streams,
) -> PartResults {
    let until = Instant::now() + Duration::from_millis(part.milliseconds);
    let mut left = streams;
    let mut all = PartResults::default();
    let mut classes = BTreeSet::new();
    let mut known = part.known.clone();
    let lessons = Lessons::of_part(part, &worker.context.places());
    while left.first < left.end {
        let checker = settings(job.checker, left.first);
        let job = Job {
            checker: &checker,
            deadline: Deadline::new(Instant::now(), None),
            ..job
        };
        let Some(results) = run(worker, job, &known, &lessons, left) else {
            all.is_last = true;
            break;
        };
        left.first += 1;
        classes.extend(&results.classes);
        known.extend(results.failures.iter().map(|it| it.headline.clone()));
        add(&mut all, results);
        if all.is_over || classes.len() >= MOST_CLASSES || Instant::now() >= until {
            break;
        }
    }
    all.classes = classes.into_iter().collect();
    if !all.is_over {
        let next = Streams::of_generation(job.checker, streams.generation + 1);
        all.next = next.map(Streams::to_text);
        let left = left.split(part.pieces);
        all.items = left.into_iter().map(Streams::to_text).collect();
    }
    all
}

/// What streams of earlier generations have learned.
struct Lessons {
    covered: Vec<Requirement>,
    of_samplers: Vec<Lesson>,
}

impl Lessons {
    fn of_part(part: &Part, places: &Places) -> Self {
        let facts = part.lessons.iter();
        let facts = facts.filter_map(|fact| fact.strip_prefix(Part::LESSON));
        let covered = facts.clone().filter_map(|it| coverage::of_fact(it, places));
        Lessons {
            covered: covered.map(|(requirement, _)| requirement).collect(),
            of_samplers: facts.flat_map(lessons::of_fact).collect(),
        }
    }

    /// Makes a strategy begin with them.
    fn teach(&self, world: &mut World) {
        if let Some(guided) = world.guided() {
            self.covered.iter().for_each(|&one| guided.cover(one));
            if !self.covered.is_empty() {
                guided.has_tried();
            }
        }
        let strategy = world.strategy_mut();
        let lessons = self.of_samplers.iter();
        lessons.for_each(|lesson| strategy.recall(lesson));
    }
}

/// Returns what the stream of this number has learned, as facts.
fn learned(world: &mut World, stream: u64, places: &Places) -> Vec<String> {
    let guided = world.guided();
    let mut facts = guided.map_or(Vec::new(), |guided| {
        coverage::covered(guided.coverage(), places)
    });
    facts.extend(lessons::to_facts(world.strategy().lessons(), stream == 0));
    facts
}

/// Runs the first of these streams; `None` if the process is to end before the stream does.
fn run(
    worker: &Worker<'_, '_>,
    job: Job<'_>,
    known: &[String],
    lessons: &Lessons,
    streams: Streams,
) -> Option<PartResults> {
    let Job {
        checker,
        body,
        place,
        ..
    } = job;
    let places = worker.context.places();
    let sampler = phases::sampler(checker, checker.seed, 0, &places);
    let name = match (&checker.strategy, checker.strategy.sampler()) {
        (_, Some(sampler)) => sampler.name(),
        (Strategy::Coverage { .. }, _) => "coverage",
        _ => "auto",
    };
    let budget = phases::whole_budget(checker, job.deadline);
    let mut exploration = Exploration::new(sampler, checker.limits());
    // Keeps the fingerprints of the classes.
    exploration.remember(&[]);
    lessons.teach(exploration.world());
    let context = checker.context(exploration, job.fatal.clone());
    context.share_places(&places);
    let fingerprints = AtomicU64::new(0);
    let sum = super::summing(&fingerprints);
    let mut own = Worker::new(checker, context, job.fatal, job.deadline);
    own.observer = sums_fingerprints().then_some(&sum as _);
    own.known_elsewhere = known.to_vec();
    let watch = watchdog::watch(&own.context, checker.watchdog, job.deadline);
    let is_over = own.explore(body, place, &budget, name);
    drop(watch);
    if !is_over {
        own.confirm(body, place, name);
    }
    if own.report.failures.is_empty() || checker.keep_going {
        own.confirm_early_frees(body, place);
    }
    if events::is_interrupted() && !own.is_over {
        return None;
    }
    let mut results = results(&own, &places, 0, own.is_over);
    results.classes = own.context.with_exploration(|e| e.take_new_classes());
    // The last generation has no successor.
    if streams.generation < generations(checker) - 1 {
        let learned =
            |exploration: &mut Exploration| learned(exploration.world(), streams.first, &places);
        for fact in own.context.with_exploration(learned) {
            let fact = format!("{}{fact}", Part::LESSON);
            results.facts.insert(fact, streams.generation.to_string());
        }
    }
    if sums_fingerprints() {
        let sum = fingerprints.load(Relaxed);
        results.sums.insert(FINGERPRINTS.to_owned(), sum);
        results.sums.insert(STREAM_FINGERPRINTS.to_owned(), sum);
    }
    Some(results)
}

/// Adds the results of a stream to those of earlier ones.
fn add(all: &mut PartResults, stream: PartResults) {
    let before = all.sums.get(EXECUTIONS).copied().unwrap_or(0);
    for (name, sum) in stream.sums {
        *all.sums.entry(name).or_default() += sum;
    }
    for (fact, detail) in stream.facts {
        all.facts.entry(fact).or_insert(detail);
    }
    for mut failure in stream.failures {
        failure.execution += before;
        all.failures.push(failure);
    }
    all.is_over |= stream.is_over;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(first: u64, end: u64, generation: u32) -> Streams {
        Streams {
            first,
            end,
            generation,
        }
    }

    #[test]
    fn generations_have_the_streams_of_the_check_in_order() {
        let metric = raddle_engine::coverage::Metrics::USUAL;
        let guided = || Checker::new().strategy(Strategy::Coverage { metric });
        for executions in [1, 64, 64 * 8, 64 * 8 + 1, 5_000, 1_000_000] {
            let checker = guided().max_executions(executions);
            let all = executions.div_ceil(length(&checker));
            let generations = (0..).map_while(|it| Streams::of_generation(&checker, it));
            let mut next = 0;
            for (number, streams) in generations.enumerate() {
                assert_eq!((streams.first, streams.generation), (next, number as u32));
                // As many as before, unless these are the last.
                let size = if number == 0 { FIRST_GENERATION } else { next };
                assert_eq!(streams.end, (next + size).min(all));
                next = streams.end;
            }
            assert_eq!(next, all);
        }
        // A time without a limit of executions has more generations than fit into a number of streams.
        let timed = guided().max_time(Duration::from_secs(1));
        let last = (0..)
            .map_while(|it| Streams::of_generation(&timed, it))
            .last()
            .unwrap();
        assert_eq!(last.end, u64::MAX.div_ceil(FEWEST));
        let alike = random().max_executions(5_000);
        assert_eq!(Streams::of_generation(&alike, 1), None);
        // 50,000 executions in streams of 256: the last generation of `Auto` has all that are left.
        let auto = Checker::new().max_executions(100_000);
        let generations = (0..).map_while(|it| Streams::of_generation(&auto, it));
        let ends: Vec<u64> = generations.map(|streams| streams.end).collect();
        assert_eq!(ends, [8, 16, 32, 64, 196]);
    }

    fn random() -> Checker {
        Checker::new().strategy(Strategy::Random)
    }

    #[test]
    fn the_executions_of_all_streams_are_those_of_the_check() {
        for runs in [
            1, 63, 64, 65, 1_000, 4_096, 5_000, 16_384, 99_999, 1_000_003,
        ] {
            let checker = random().max_executions(runs);
            let Streams { first, end, .. } = Streams::all(&checker);
            let stream = |number| settings(&checker, number).max_executions.unwrap();
            assert_eq!((first..end).map(stream).sum::<u64>(), runs);
            assert!((first..end).all(|number| (1..=MOST).contains(&stream(number))));
        }
        let auto = Checker::new().max_executions(1_001);
        let Streams { first, end, .. } = Streams::all(&auto);
        let stream = |number| settings(&auto, number).max_executions.unwrap();
        assert_eq!((first..end).map(stream).sum::<u64>(), 500);
        // The first stream is the beginning of the check by one process.
        let checker = random().seed(7).max_executions(50);
        assert_eq!(Streams::all(&checker), streams(0, 1, 0));
        let first = settings(&checker, 0);
        assert_eq!((first.seed, first.max_executions), (7, Some(50)));
    }

    #[test]
    fn seeds_of_streams_differ() {
        let checker = random().max_time(Duration::from_secs(1));
        let seeds: BTreeSet<u64> = (0..10_000).map(|it| settings(&checker, it).seed).collect();
        assert_eq!(seeds.len(), 10_000);
    }

    #[test]
    fn a_range_is_split_into_ranges_that_make_it_up() {
        for (first, end) in [(0, 1), (3, 10), (5, 5), (0, u64::MAX / FEWEST)] {
            for pieces in [0, 1, 2, 4, 100] {
                let split = streams(first, end, pieces as u32).split(pieces);
                assert!(split.len() <= pieces.max(1));
                let mut next = first;
                for piece in &split {
                    assert_eq!(piece.first, next);
                    assert!(piece.first < piece.end);
                    next = piece.end;
                    assert_eq!(Streams::of_text(&piece.to_text()), Some(*piece));
                }
                assert_eq!(next, end);
            }
        }
        for bad in [
            "",
            "streams",
            "streams 1",
            "streams 2 2",
            "streams 1 2 x",
            "streams 1 2 3 4",
            "stream 1 2",
            "root",
        ] {
            assert_eq!(Streams::of_text(bad), None, "{bad}");
        }
    }
}
