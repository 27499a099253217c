//! The file in which checks are remembered.
//!
//! The first byte says what the rest is: the whole file, or changes to one that is right. A change is in which
//! of the pages that are in use (one byte), where in it (two), how many bytes (one) and what they are; one of no
//! bytes cuts the file off there.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use raddle_runs::{News, Problem, Remembered, RequirementKey, Run, RunsFile};

const CHECK: &str = "tests::first";
/// Time limit for opening the file; it is never in use elsewhere, so opening does not wait.
const PATIENCE: Duration = Duration::from_secs(1);
/// How large redb's pages are.
const PAGE: usize = 4096;
/// A file has a few parts, each of which can be found to be damaged after the others.
const ATTEMPTS: usize = 4;

/// Opens such a file, reads it and adds to it. Whatever is wrong is told, the file stays where it is or is
/// put aside, and in the end what was added is there.
pub fn database(data: &[u8]) {
    let Some((&kind, data)) = data.split_first() else {
        return;
    };
    let bytes = match kind % 2 {
        0 => data.to_vec(),
        _ => changed(sample().to_vec(), data),
    };
    let folder = Folder::new();
    let path = folder.0.join("runs.redb");
    write(&path, &bytes);
    // A given file may be read, and is never renamed.
    let given = RunsFile::given(&path);
    look(given.checks(PATIENCE));
    if let Some(remembered) = look(given.read(CHECK, PATIENCE)) {
        use_up(&remembered);
    }
    assert!(path.exists(), "a file of somebody else's is gone");
    write(&path, &bytes);
    let file = RunsFile::new(&path);
    let mut set_aside = 0;
    for _ in 0..ATTEMPTS {
        let problems = [
            file.checks(PATIENCE).err(),
            file.read(CHECK, PATIENCE).err(),
            file.add(CHECK, &news(), PATIENCE).err(),
            file.add_failure(CHECK, "schedule", PATIENCE).err(),
        ];
        if problems.iter().all(Option::is_none) {
            break;
        }
        for problem in problems.into_iter().flatten() {
            crate::assert_told(&problem);
            if let Problem::SetAside { aside, .. } = problem {
                let aside = aside.expect("nothing is in the way of putting it aside");
                assert!(aside.exists(), "{} is gone", aside.display());
                set_aside += 1;
            }
        }
    }
    let read = file
        .read(CHECK, PATIENCE)
        .expect("there is a new file by now");
    assert!(read.failures.contains("schedule") && read.runs.contains_key(&7));
    let files = std::fs::read_dir(&folder.0).map_or(0, Iterator::count);
    assert_eq!(
        files,
        set_aside + 1,
        "every file that was put aside is kept"
    );
}

fn look<T>(found: Result<T, Problem>) -> Option<T> {
    found.inspect_err(crate::assert_told).ok()
}

/// What is done with what is read.
fn use_up(remembered: &Remembered) {
    let _ = (remembered.executions(), remembered.growth());
    for key in &remembered.covered {
        let _ = RequirementKey::parse(key).map(|key| key.to_string());
    }
}

fn changed(mut file: Vec<u8>, mut changes: &[u8]) -> Vec<u8> {
    let pages = (0..file.len()).step_by(PAGE);
    let in_use = |&page: &usize| file[page..].iter().take(PAGE).any(|&byte| byte != 0);
    let pages: Vec<usize> = pages.filter(in_use).collect();
    while let [page, low, high, length, rest @ ..] = changes {
        let page = pages[usize::from(*page) % pages.len()];
        let place = page + usize::from(u16::from_le_bytes([*low, *high])) % PAGE;
        let place = place.min(file.len());
        let (bytes, after) = rest.split_at(rest.len().min(usize::from(*length)));
        match bytes {
            [] => file.truncate(place),
            _ => file[place..]
                .iter_mut()
                .zip(bytes)
                .for_each(|(old, new)| *old = *new),
        }
        changes = after;
    }
    file
}

/// A file that is right.
pub fn sample() -> &'static [u8] {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let folder = Folder::new();
        let file = RunsFile::new(folder.0.join("runs.redb"));
        for check in [CHECK, "tests::second"] {
            file.add(check, &news(), PATIENCE).expect("a new file");
        }
        std::fs::read(file.path()).expect("it is there")
    })
}

fn news() -> News {
    let key = "sync-pair\tsrc/lib.rs\tlet a = lock.lock();\t2\t7";
    News {
        shape: 3,
        run: 7,
        so_far: Run {
            started: 1,
            executions: 20,
            classes: 5,
            requirements: 1,
        },
        classes: vec![1, 2, 3, 5, 8],
        covered: vec![key.to_owned()],
        stale: vec![(key.replace('2', "3"), 4)],
        impossible: vec![(key.replace('2', "4"), "always ordered".to_owned())],
        excluded: vec![key.replace('2', "5")],
        failures: vec!["raddle schedule 2\nmain: begin, end\n".to_owned()],
    }
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a folder of its own");
}

/// A folder that is gone in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("raddle-input-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("the temporary folder can be written");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
