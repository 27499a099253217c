//! The database file: data round trip, and no damage is fatal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use raddle_runs::{EXCLUDED, Merged, News, Problem, Remembered, Run, RunsFile, merge};
use redb::{Database, TableDefinition};

/// Longer than any wait in these tests, unless something hangs.
const LONG: Duration = Duration::from_secs(60);

/// A file in a temporary folder, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = format!("raddle-runs-{}-{number}", std::process::id());
        Scratch(std::env::temp_dir().join(folder))
    }

    fn file(&self) -> RunsFile {
        RunsFile::new(self.0.join("runs.redb"))
    }

    fn aside(&self) -> PathBuf {
        self.0.join("runs.redb.unreadable")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn news(run: u64, executions: u64, classes: &[u64]) -> News {
    News {
        shape: 5,
        run,
        so_far: Run {
            started: 100 + run,
            executions,
            classes: classes.len() as u64,
            requirements: 0,
        },
        classes: classes.to_vec(),
        ..News::default()
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn ruled_out(keys: &[&str]) -> Vec<(String, String)> {
    let reason = |key: String| (key, "a lock".to_owned());
    texts(keys).into_iter().map(reason).collect()
}

#[test]
fn data_round_trips() {
    let scratch = Scratch::new();
    let file = scratch.file();
    assert_eq!(file.read("a", LONG).unwrap(), Remembered::default());
    assert!(!file.path().exists(), "reading creates no file");
    file.add("a", &news(1, 10, &[3, 1]), LONG).unwrap();
    file.add("b", &news(1, 7, &[9]), LONG).unwrap();
    let more = News {
        covered: texts(&["x", "y"]),
        stale: vec![("z".to_owned(), 4)],
        ..news(2, 20, &[2, 3])
    };
    file.add("a", &more, LONG).unwrap();
    // A second batch of the same run: counts are replaced, sets are extended.
    let later = News {
        covered: texts(&["z"]),
        stale: vec![("x".to_owned(), 8), ("w".to_owned(), 8)],
        ..news(2, 28, &[])
    };
    file.add("a", &later, LONG).unwrap();
    file.add(
        "a",
        &News {
            stale: vec![("w".to_owned(), 2)],
            ..news(2, 30, &[])
        },
        LONG,
    )
    .unwrap();
    file.add_failure("a", "schedule", LONG).unwrap();
    let a = file.read("a", LONG).unwrap();
    assert_eq!((a.shape, a.executions()), (5, 40));
    assert_eq!(a.classes, [1, 2, 3]);
    assert_eq!(a.covered, texts(&["x", "y", "z"]).into_iter().collect());
    assert_eq!(a.stale, [("w".to_owned(), 10)].into_iter().collect());
    assert_eq!(a.failures, texts(&["schedule"]).into_iter().collect());
    let growth: Vec<u64> = a.growth().iter().map(|run| run.executions).collect();
    assert_eq!(growth, [10, 40]);
    assert_eq!(file.read("b", LONG).unwrap().classes, [9]);
    assert_eq!(file.checks(LONG).unwrap(), ["a", "b"]);
    file.remove_failure("a", "schedule", LONG).unwrap();
    assert!(file.read("a", LONG).unwrap().failures.is_empty());
}

#[test]
fn what_a_search_has_excluded_is_open_again_when_a_later_run_says_so() {
    let scratch = Scratch::new();
    let (file, other) = (scratch.file(), RunsFile::new(scratch.0.join("other.redb")));
    let open = |keys: &[&str]| News {
        stale: texts(keys).into_iter().map(|key| (key, 4)).collect(),
        ..news(1, 10, &[1])
    };
    file.add("a", &open(&["x", "y"]), LONG).unwrap();
    let searched = News {
        covered: texts(&["z"]),
        excluded: texts(&["x", "y", "z"]),
        ..news(2, 20, &[1, 2])
    };
    file.add("a", &searched, LONG).unwrap();
    let known = |file: &RunsFile| {
        let all = file.read("a", LONG).unwrap();
        assert!(all.impossible.values().all(|reason| reason == EXCLUDED));
        let keys = |keys: Vec<&String>| keys.into_iter().cloned().collect::<Vec<_>>();
        (
            keys(all.stale.keys().collect()),
            keys(all.impossible.keys().collect()),
        )
    };
    assert_eq!(known(&file), (vec![], texts(&["x", "y"])));
    // The program may have changed since, so the weaker statement counts, from wherever it comes.
    file.add("a", &open(&["y"]), LONG).unwrap();
    assert_eq!(known(&file), (texts(&["y"]), texts(&["x"])));
    other.add("a", &open(&["x"]), LONG).unwrap();
    merge(&file, &other, LONG).unwrap();
    assert_eq!(known(&file), (texts(&["x", "y"]), vec![]));
}

#[test]
fn another_shape_keeps_only_failing_schedules() {
    let scratch = Scratch::new();
    let file = scratch.file();
    for check in ["a", "b", "c"] {
        let all = News {
            covered: texts(&["x"]),
            stale: vec![("y".to_owned(), 4)],
            ..news(1, 10, &[1, 2])
        };
        file.add(check, &all, LONG).unwrap();
        file.add_failure(check, "schedule", LONG).unwrap();
    }
    let before = file.read("c", LONG).unwrap();
    let changed = News {
        shape: 6,
        ..news(2, 5, &[7])
    };
    file.add("b", &changed, LONG).unwrap();
    let b = file.read("b", LONG).unwrap();
    assert_eq!((b.shape, b.executions(), b.runs.len()), (6, 5, 1));
    assert_eq!(b.classes, [7]);
    assert!(b.covered.is_empty() && b.stale.is_empty());
    assert_eq!(b.failures.len(), 1);
    for other in ["a", "c"] {
        assert_eq!(file.read(other, LONG).unwrap(), before, "{other}");
    }
}

#[test]
fn batches_accumulate() {
    let scratch = Scratch::new();
    let file = scratch.file();
    for batch in 0..100u64 {
        // Each of the first 50 classes twice.
        let classes = [batch / 2, 1000 + batch];
        file.add("a", &news(1, batch, &classes), LONG).unwrap();
    }
    let all: Vec<u64> = (0..50).chain(1000..1100).collect();
    assert_eq!(file.read("a", LONG).unwrap().classes, all);
}

#[test]
fn a_merged_file_is_the_union() {
    let (one, two) = (Scratch::new(), Scratch::new());
    let (here, there) = (one.file(), two.file());
    let first = News {
        covered: texts(&["x"]),
        stale: vec![("y".to_owned(), 4), ("z".to_owned(), 3)],
        impossible: ruled_out(&["u", "v"]),
        ..news(1, 10, &[1, 2])
    };
    let second = News {
        covered: texts(&["y"]),
        stale: vec![
            ("x".to_owned(), 9),
            ("z".to_owned(), 5),
            ("u".to_owned(), 1),
        ],
        impossible: ruled_out(&["w", "y"]),
        ..news(2, 20, &[2, 3])
    };
    here.add("a", &first, LONG).unwrap();
    there.add("a", &second, LONG).unwrap();
    there.add("b", &news(3, 1, &[8]), LONG).unwrap();
    there.add_failure("a", "fails", LONG).unwrap();
    let changed = |shape| News {
        shape,
        ..news(4, 1, &[shape])
    };
    here.add("c", &changed(1), LONG).unwrap();
    there.add("c", &changed(2), LONG).unwrap();
    there.add_failure("c", "fails", LONG).unwrap();
    let merged = merge(&here, &there, LONG).unwrap();
    let expected = Merged {
        checks: texts(&["a", "b"]),
        different: texts(&["c"]),
    };
    assert_eq!(merged, expected);
    let a = here.read("a", LONG).unwrap();
    assert_eq!(a.classes, [1, 2, 3]);
    assert_eq!((a.executions(), a.runs.len()), (30, 2));
    assert_eq!(a.covered, texts(&["x", "y"]).into_iter().collect());
    let stale = [("u".to_owned(), 1), ("z".to_owned(), 5)];
    assert_eq!(a.stale, stale.into_iter().collect());
    let impossible = ruled_out(&["v", "w"]);
    assert_eq!(a.impossible, impossible.into_iter().collect());
    assert_eq!(
        a.growth().last().map(|run| run.classes),
        Some(3),
        "2 is in both"
    );
    assert_eq!(a.failures.len(), 1);
    assert_eq!(
        here.read("b", LONG).unwrap(),
        there.read("b", LONG).unwrap()
    );
    let c = here.read("c", LONG).unwrap();
    assert_eq!((c.classes, c.failures.len()), (vec![1], 1));
    // The merge is idempotent and commutative.
    merge(&here, &there, LONG).unwrap();
    assert_eq!(here.read("a", LONG).unwrap(), a);
    merge(&there, &here, LONG).unwrap();
    assert_eq!(there.read("a", LONG).unwrap(), a);
}

#[test]
fn a_file_that_is_no_database_is_set_aside() {
    let scratch = Scratch::new();
    let file = scratch.file();
    std::fs::create_dir_all(&scratch.0).unwrap();
    std::fs::write(file.path(), "not a database\n".repeat(1000)).unwrap();
    let problem = file.read("a", LONG).unwrap_err();
    let text = format!(
        "{} cannot be used: it is not a database; it is kept as {}, and a new one is started",
        file.path().display(),
        scratch.aside().display()
    );
    assert_eq!(problem.to_string(), text);
    let kept = std::fs::read_to_string(scratch.aside()).unwrap();
    assert!(kept.starts_with("not a database"));
    file.add("a", &news(1, 10, &[1]), LONG).unwrap();
    assert_eq!(file.read("a", LONG).unwrap().classes, [1]);
}

#[test]
fn other_formats_are_set_aside() {
    const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");
    for (name, reason) in [
        (
            "format",
            "it is of format 0, and this raddle reads format 1",
        ),
        ("something", "it is not a database of raddle"),
    ] {
        let scratch = Scratch::new();
        let file = scratch.file();
        std::fs::create_dir_all(&scratch.0).unwrap();
        let database = Database::create(file.path()).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction
            .open_table(ABOUT)
            .unwrap()
            .insert(name, 0)
            .unwrap();
        transaction.commit().unwrap();
        drop(database);
        match file.read("a", LONG).unwrap_err() {
            Problem::SetAside {
                reason: why, aside, ..
            } => {
                assert_eq!((why.as_str(), aside), (reason, Some(scratch.aside())));
            }
            other => panic!("{other}"),
        }
        assert!(!file.path().exists() && scratch.aside().exists());
        // A file given by the user is not renamed.
        std::fs::rename(scratch.aside(), file.path()).unwrap();
        let given = RunsFile::given(file.path());
        let target = Scratch::new();
        assert!(merge(&target.file(), &given, LONG).is_err());
        assert!(file.path().exists());
    }
}

/// A damaged file is read, or reported as a problem; after that a new file works.
#[test]
fn damage_is_never_fatal() {
    let scratch = Scratch::new();
    let file = scratch.file();
    for run in 0..3 {
        let all = News {
            covered: (0..200).map(|key| format!("key {key}")).collect(),
            ..news(run, 10, &(0..2000).collect::<Vec<_>>())
        };
        file.add("a", &all, LONG).unwrap();
        file.add_failure("a", "schedule", LONG).unwrap();
    }
    let whole = std::fs::read(file.path()).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    let mut set_aside = 0;
    // Suppresses the messages of redb's panics.
    std::panic::set_hook(Box::new(|_| {}));
    for round in 0..60 {
        let mut damaged = whole.clone();
        match round % 3 {
            0 => damaged.truncate(rng.usize(1..whole.len())),
            1 => {
                for _ in 0..rng.usize(1..2000) {
                    let at = rng.usize(..damaged.len());
                    damaged[at] = rng.u8(..);
                }
            }
            _ => {
                let start = rng.usize(..damaged.len());
                let end = (start + rng.usize(1..20_000)).min(damaged.len());
                damaged[start..end].fill(rng.u8(..));
            }
        }
        std::fs::write(file.path(), &damaged).unwrap();
        let read = file.read("a", LONG).map(|_| ());
        let written = read.and_then(|()| file.add("a", &news(9, 1, &[1]), LONG));
        if let Err(problem) = written {
            assert!(matches!(problem, Problem::SetAside { .. }), "{problem}");
            set_aside += 1;
            file.add("a", &news(1, 10, &[1]), LONG).unwrap();
            assert_eq!(file.read("a", LONG).unwrap().classes, [1]);
        }
    }
    let _ = std::panic::take_hook();
    assert!(set_aside > 20, "{set_aside}: the damage has no effect");
}

#[test]
fn busy_and_unreachable_files_are_reported() {
    let scratch = Scratch::new();
    let file = scratch.file();
    file.add("a", &news(1, 10, &[1]), LONG).unwrap();
    let open = Database::open(file.path()).unwrap();
    let problem = file.read("a", Duration::from_millis(20)).unwrap_err();
    assert!(matches!(problem, Problem::Busy), "{problem}");
    drop(open);
    assert_eq!(file.read("a", LONG).unwrap().classes, [1]);
    // A folder that not even root can write to.
    let nowhere = RunsFile::new("/dev/null/runs.redb");
    let problem = nowhere.add("a", &news(1, 10, &[1]), LONG).unwrap_err();
    assert!(matches!(problem, Problem::Unreachable { .. }), "{problem}");
}

#[test]
fn concurrent_writers_take_turns() {
    let scratch = Scratch::new();
    let file = &scratch.file();
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            scope.spawn(move || {
                for batch in 0..5 {
                    let class = worker * 100 + batch;
                    file.add("a", &news(worker, batch, &[class]), LONG).unwrap();
                }
            });
        }
    });
    let all: Vec<u64> = (0..4)
        .flat_map(|w| (0..5).map(move |b| w * 100 + b))
        .collect();
    assert_eq!(file.read("a", LONG).unwrap().classes, all);
}

#[test]
fn files_set_aside_earlier_are_kept() {
    let scratch = Scratch::new();
    let file = scratch.file();
    std::fs::create_dir_all(&scratch.0).unwrap();
    for text in ["first", "second", "third"] {
        std::fs::write(file.path(), text).unwrap();
        assert!(matches!(file.checks(LONG), Err(Problem::SetAside { .. })));
    }
    for (name, text) in [("", "first"), ("-2", "second"), ("-3", "third")] {
        let kept = scratch.0.join(format!("runs.redb.unreadable{name}"));
        assert_eq!(std::fs::read_to_string(kept).unwrap(), text);
    }
}

#[test]
fn counts_saturate() {
    let all = Remembered {
        runs: [1, 2]
            .map(|run| (run, news(run, u64::MAX, &[]).so_far))
            .into(),
        ..Remembered::default()
    };
    assert_eq!(all.executions(), u64::MAX);
    let executions: Vec<u64> = all.growth().iter().map(|run| run.executions).collect();
    assert_eq!(executions, [u64::MAX, u64::MAX]);
}

#[test]
fn versions_are_kept_until_there_are_many() {
    let scratch = Scratch::new();
    let file = scratch.file();
    assert_eq!(file.versions(LONG).unwrap(), []);
    assert!(file.tests("none", LONG).unwrap().is_empty());
    let tests = |text: &str| BTreeMap::from([("queue push".to_owned(), text.to_owned())]);
    for number in 0..40_u64 {
        let text = format!("record {number}");
        file.add_version(&format!("{number:03}"), number, &tests(&text), LONG)
            .unwrap();
    }
    let versions = file.versions(LONG).unwrap();
    assert_eq!(versions.len(), 32);
    assert_eq!(versions[0], ("008".to_owned(), 8));
    assert!(file.tests("007", LONG).unwrap().is_empty());
    assert_eq!(file.tests("008", LONG).unwrap(), tests("record 8"));
    // Another run of a version adds its tests.
    let other = BTreeMap::from([("queue pop".to_owned(), "new".to_owned())]);
    file.add_version("008", 50, &other, LONG).unwrap();
    assert_eq!(file.tests("008", LONG).unwrap().len(), 2);
}

#[test]
fn of_two_records_of_a_version_the_later_is_kept() {
    let scratches = [Scratch::new(), Scratch::new()];
    let [here, there] = scratches.each_ref().map(Scratch::file);
    let tests = |all: &[(&str, &str)]| {
        let owned = |&(test, text): &(&str, &str)| (test.to_owned(), text.to_owned());
        all.iter().map(owned).collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (
        tests(&[("a", "old"), ("b", "old")]),
        tests(&[("a", "new"), ("c", "new")]),
    );
    here.add_version("x", 1, &old, LONG).unwrap();
    there.add_version("x", 2, &new, LONG).unwrap();
    let both = tests(&[("a", "new"), ("b", "old"), ("c", "new")]);
    for _ in 0..2 {
        merge(&here, &there, LONG).unwrap();
        assert_eq!(here.tests("x", LONG).unwrap(), both);
    }
    merge(&there, &here, LONG).unwrap();
    assert_eq!(there.tests("x", LONG).unwrap(), both);
}
