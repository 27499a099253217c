//! Checks that know of an earlier version of their program prefer what is near the change, and leave nothing out.

use std::path::PathBuf;
use std::sync::Mutex;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{Checker, Metric, Metrics, Report, Strategy, thread};

/// A file for `RADDLE_SINCE`, removed on drop.
struct Since(PathBuf);

impl Since {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("raddle-since-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Since(path)
    }

    fn of(&self, check: Checker) -> Checker {
        check.set_option("since", self.0.to_str().unwrap())
    }
}

impl Drop for Since {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Every line of the stories is near a change, and nothing is known of the version before.
fn near_all() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/stories/src/programs");
    let mut text = String::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        text += &format!("near\ttests/stories/src/programs/{name}\t1\t9999\n");
    }
    text
}

/// A search that ends has run the same classes, whatever it has preferred: "every behaviour" is as true as without.
#[test]
fn every_behaviour_is_the_same_near_a_change() {
    let since = Since::new("classes", &near_all());
    for story in raddle_stories::all()
        .into_iter()
        .filter(|it| it.facts.threads == 2)
    {
        let check = || Checker::new().max_executions(20_000).shorten(false);
        let without = check().run(story.correct);
        if !without.exhausted {
            continue;
        }
        let with = since.of(check()).run(story.correct);
        assert!(with.exhausted && with.failures.is_empty(), "{}", story.name);
        assert_eq!(with.classes(), without.classes(), "{}", story.name);
    }
}

/// A file that is missing, or that says nothing, changes nothing: not even the executions.
#[test]
fn without_an_earlier_version_a_check_does_what_it_always_does() {
    let nothing = Since::new("nothing", "");
    let missing = Since(PathBuf::from("no such folder/no such file"));
    let record = |check: Checker| {
        let classes = Mutex::new(Vec::new());
        let story = raddle_stories::all()
            .into_iter()
            .find(|it| it.name == "bank")
            .unwrap();
        raddle::__private::run_observed(
            check.max_executions(40).shorten(false),
            story.correct,
            &mut |execution| classes.lock().unwrap().push(execution.fingerprint()),
        );
        classes.into_inner().unwrap()
    };
    let plain = record(Checker::new());
    assert_eq!(record(nothing.of(Checker::new())), plain);
    assert_eq!(record(missing.of(Checker::new())), plain);
}

/// Returns the final value of a counter to which two threads have added one, not atomically.
fn two_counters() -> usize {
    let shared = Arc::new([0, 0, 0, 0].map(AtomicUsize::new));
    let threads = [0, 1].map(|number| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let [common, own @ ..] = &*shared;
            for _ in 0..20 {
                own[number].store(1, SeqCst);
            }
            let seen = common.load(SeqCst); // near
            common.store(seen + 1, SeqCst); // near
        })
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
    shared[0].load(SeqCst)
}

/// Of three samplers that prefer the change, two make it much more likely that threads meet at the marked lines than a
/// random walk over the twenty steps before them does. The numbers are what 400 executions of each are expected to
/// differ by at least; both are far from chance.
#[test]
fn threads_meet_near_the_change() {
    let source = include_str!("near_change.rs");
    let mut near = String::new();
    for (number, line) in (1..).zip(source.lines()) {
        if line.ends_with("// near") {
            near += &format!("near\ttests/tests/near_change.rs\t{number}\t{number}\n");
        }
    }
    let since = Since::new("meet", &near);
    let lost = |check: Checker| {
        let lost = std::sync::atomic::AtomicU32::new(0);
        let check = check
            .max_executions(400)
            .strategy(Strategy::Auto)
            .shorten(false);
        check.run(|| {
            lost.fetch_add(
                u32::from(two_counters() == 1),
                std::sync::atomic::Ordering::Relaxed,
            );
        });
        lost.into_inner()
    };
    let (without, with) = (lost(Checker::new()), lost(since.of(Checker::new())));
    assert!(
        with >= without + without / 4,
        "{with} with, {without} without"
    );
}

/// The requirements of a story that are new, every third of those that it covers, and an earlier version that covered
/// the others.
fn new_requirements(all: &Report) -> (Vec<String>, Since) {
    let (mut text, mut new) = (String::new(), Vec::new());
    for (number, key) in all.coverage().covered_keys().enumerate() {
        match number % 3 {
            0 => new.push(key),
            _ => {
                let (metric, places) = key.split_once(' ').unwrap();
                text += &format!("covered\t{metric}\t{}\n", places.replace(" -> ", "\t"));
            }
        }
    }
    (new, Since::new("new", &text))
}

/// The guided search covers what is new before what was covered on the earlier version.
#[test]
fn guided_search_covers_new_requirements_first() {
    let metrics = Metrics::SYNC_PAIR_DEF_USE | Metric::Adjacent;
    let check = |executions: u64| {
        Checker::new()
            .strategy(Strategy::Coverage { metric: metrics })
            .coverage(metrics)
            .max_executions(executions)
            .shorten(false)
    };
    let (mut with, mut without, mut possible) = (0, 0, 0);
    for name in ["bank", "piper", "alarm_clock", "merge_sort", "two_stage"] {
        let story = raddle_stories::all()
            .into_iter()
            .find(|it| it.name == name)
            .unwrap();
        let (new, since) = new_requirements(&check(600).run(story.correct));
        let count = |check: Checker| {
            let runs = (0..20).map(|seed| check.clone().seed(seed).run(story.correct));
            let covered = runs.map(|report| {
                let covered: Vec<String> = report.coverage().covered_keys().collect();
                new.iter().filter(|key| covered.contains(key)).count()
            });
            covered.sum::<usize>()
        };
        with += count(since.of(check(2)));
        without += count(check(2));
        possible += 20 * new.len();
    }
    assert!(
        with > without,
        "{with} with, {without} without, of {possible}"
    );
}
