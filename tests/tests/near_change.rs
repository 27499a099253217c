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

/// Returns what is near a change: the lines of this file that end in this comment.
fn near_lines(comment: &str) -> String {
    let mut near = String::new();
    for (number, line) in (1..).zip(include_str!("near_change.rs").lines()) {
        if line.ends_with(comment) {
            near += &format!("near\ttests/tests/near_change.rs\t{number}\t{number}\n");
        }
    }
    near
}

/// Walks near the change make it much more likely that threads meet at the marked lines than a random walk over the twenty
/// steps before them does. The numbers are what 400 executions of each are expected to differ by at least; both are far
/// from chance.
#[test]
fn threads_meet_near_the_change() {
    let since = Since::new("meet", &near_lines("// near"));
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

/// True when a reader has read the first of two stores, and not the second. Only the writer is marked.
fn is_half_written() -> bool {
    let shared = Arc::new([0, 0, 0, 0].map(AtomicUsize::new));
    let mine = Arc::clone(&shared);
    let writer = thread::spawn(move || {
        for _ in 0..20 {
            mine[2].store(1, SeqCst);
        }
        mine[0].store(1, SeqCst); // marked
        mine[1].store(1, SeqCst); // marked
    });
    for _ in 0..20 {
        shared[3].store(1, SeqCst);
    }
    let read = [0, 1].map(|at| shared[at].load(SeqCst));
    writer.join().unwrap();
    read == [1, 0]
}

/// Unchanged code that reads what changed code writes is near the change, too: a wide walk draws one of few orders of four
/// operations, and a random walk one of forty steps.
#[test]
fn readers_of_what_changed_code_writes_are_near() {
    let since = Since::new("readers", &near_lines("// marked"));
    let half_written = |check: Checker| {
        let count = std::sync::atomic::AtomicU32::new(0);
        let check = check
            .max_executions(400)
            .strategy(Strategy::Auto)
            .shorten(false);
        check.run(|| {
            let is_it = u32::from(is_half_written());
            count.fetch_add(is_it, std::sync::atomic::Ordering::Relaxed);
        });
        count.into_inner()
    };
    let without = half_written(Checker::new());
    let with = half_written(since.of(Checker::new()));
    assert!(with >= 2 * without, "{with} with, {without} without");
}

/// Locks of other threads that change as well, and lines of unchanged code around what loses an update.
fn lost_update_beside_others() {
    let shared = Arc::new([0, 0, 0, 0].map(AtomicUsize::new));
    let threads = [0, 1, 2, 3].map(|number| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            let [count, log, own @ ..] = &*shared;
            for _ in 0..20 {
                own[number % 2].fetch_add(1, SeqCst);
            }
            if number < 2 {
                let seen = count.load(SeqCst); // changed
                count.store(seen + 1, SeqCst); // changed
            } else {
                for _ in 0..3 {
                    log.fetch_add(1, SeqCst); // changed
                }
            }
            for _ in 0..20 {
                own[number % 2].fetch_add(1, SeqCst);
            }
        })
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
    assert_eq!(shared[0].load(SeqCst), 2, "an update is lost");
}

/// The two orders that lose an update are among the first few near the change. Another change costs no execution, as its
/// threads share nothing with these; and that what is not near the change repeats itself gives the search no turns.
#[test]
fn another_change_and_unchanged_code_cost_few_executions() {
    let since = Since::new("others", &near_lines("// changed"));
    let executions = |check: &Checker| {
        let found = (0..20).map(|seed| {
            let check = check.clone().seed(seed).max_executions(2_000);
            let report = check.shorten(false).run(lost_update_beside_others);
            assert_eq!(report.failures.len(), 1);
            report.executions
        });
        found.sum::<u64>()
    };
    let without = executions(&Checker::new());
    let with = executions(&since.of(Checker::new()));
    assert!(2 * with <= without, "{with} with, {without} without");
    assert!(with <= 20 * 6, "{with} executions for 20 failures");
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
