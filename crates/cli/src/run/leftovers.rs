//! Removes temporary files that killed commands and tests have left.
//!
//! A running command holds a lock on its files, and the system releases it when the process ends in any way. Commands that
//! start at the same time look for leftovers while others create their files, so files get their names when they are locked.
//! Tests write a file under a temporary name and rename it at once, so a temporary file that is older than
//! [`MAX_AGE`] is abandoned.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Prefix of the directories of running commands.
const RUNNING_PREFIX: &str = "running-";
/// Prefix of such directories before they are locked.
const STARTING_PREFIX: &str = "starting-";
/// Prefix of the files of replays.
const REPLAY_PREFIX: &str = "replay-";
/// Extension of files before their renaming.
const TEMPORARY_EXTENSION: &str = "new";
/// Age of a temporary file that no process can still be writing; writing takes milliseconds.
const MAX_AGE: Duration = Duration::from_secs(60);
/// File in the directory of a command, locked while it runs.
const LOCK_FILE: &str = "lock";

/// A temporary directory of this process, removed on drop.
pub struct RunDirectory {
    path: PathBuf,
    _lock: File,
}

impl RunDirectory {
    /// Creates the directory in raddle's, which need not exist, and removes leftovers there.
    pub fn new(raddle: &Path) -> io::Result<Self> {
        clear(raddle);
        let name = format!("{}-{:08x}", std::process::id(), random());
        let new = raddle.join(format!("{STARTING_PREFIX}{name}"));
        fs::create_dir_all(&new)?;
        let lock = locked(&new.join(LOCK_FILE))?;
        let path = raddle.join(format!("{RUNNING_PREFIX}{name}"));
        fs::rename(&new, &path)?;
        Ok(RunDirectory { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // The next command removes remaining files.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Returns the file for a replay by this process, after removing leftovers in raddle's directory.
pub fn replay_file(raddle: &Path) -> PathBuf {
    clear(raddle);
    raddle.join(format!("{REPLAY_PREFIX}{}.events", std::process::id()))
}

/// Creates a file, with its directory, and locks it while the result is open.
pub fn create_locked(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let name = format!(
        "{}-{:08x}.{TEMPORARY_EXTENSION}",
        std::process::id(),
        random()
    );
    let new = path.with_file_name(name);
    let file = locked(&new)?;
    fs::rename(&new, path)?;
    Ok(file)
}

/// Creates a file that no other command looks for, and locks it.
fn locked(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    // On a file system without locks, other commands cannot lock the file either and keep it.
    let _ = file.try_lock();
    Ok(file)
}

/// Returns a number that no other command draws: process numbers are used again.
fn random() -> u32 {
    RandomState::new().build_hasher().finish() as u32
}

/// Removes the leftovers in raddle's directory.
pub fn clear(raddle: &Path) {
    clear_at(raddle, SystemTime::now());
}

fn clear_at(raddle: &Path, now: SystemTime) {
    for path in entries(raddle) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(RUNNING_PREFIX) && path.is_dir() {
            if is_unlocked(&path.join(LOCK_FILE)) {
                let _ = fs::remove_dir_all(&path);
            }
        } else if name.starts_with(STARTING_PREFIX) && path.is_dir() {
            if is_abandoned(&path, now) {
                let _ = fs::remove_dir_all(&path);
            }
        } else if name.starts_with(REPLAY_PREFIX) && path.is_file() && is_unlocked(&path) {
            let _ = fs::remove_file(&path);
        } else {
            clear_temporary(&path, 2, now);
        }
    }
}

/// Removes abandoned temporary files next to schedules and, one level deeper, pages.
fn clear_temporary(path: &Path, depth: usize, now: SystemTime) {
    if path.is_dir() {
        if depth > 0 {
            entries(path).for_each(|path| clear_temporary(&path, depth - 1, now));
        }
    } else if path
        .extension()
        .is_some_and(|extension| extension == TEMPORARY_EXTENSION)
        && is_abandoned(path, now)
    {
        let _ = fs::remove_file(path);
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// True when no process holds a lock on the file. False if that cannot be determined.
fn is_unlocked(file: &Path) -> bool {
    File::open(file).is_ok_and(|file| file.try_lock().is_ok())
}

fn is_abandoned(file: &Path, now: SystemTime) -> bool {
    let modified = fs::metadata(file).and_then(|metadata| metadata.modified());
    let age = modified.map(|modified| now.duration_since(modified));
    age.is_ok_and(|age| age.is_ok_and(|age| age > MAX_AGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that started while another one looked for leftovers once lost its directory.
    #[test]
    fn commands_that_start_at_the_same_time_keep_their_files() {
        let name = format!("raddle-starting-{}", std::process::id());
        let raddle = &std::env::temp_dir().join(name);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let own = RunDirectory::new(raddle).unwrap();
                        let replay = raddle.join(format!("{REPLAY_PREFIX}{}", random()));
                        let file = create_locked(&replay).unwrap();
                        clear(raddle);
                        assert!(own.path().join(LOCK_FILE).exists() && replay.exists());
                        drop(file);
                    }
                });
            }
        });
        clear(raddle);
        assert_eq!(entries(raddle).count(), 0);
        fs::remove_dir_all(raddle).unwrap();
    }

    #[test]
    fn only_leftovers_are_removed() {
        let raddle = std::env::temp_dir().join(format!("raddle-leftovers-{}", std::process::id()));
        let own = RunDirectory::new(&raddle).unwrap();
        let write = |name: &str| {
            let path = raddle.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(&path).unwrap()
        };
        write("running-1/lock");
        write("running-1/0.events");
        write("starting-2-0/lock");
        write("replay-1.events");
        let locked = write("replay-2.events");
        locked.try_lock().unwrap();
        write("queue/tests.a.schedule");
        let now = SystemTime::now();
        write("queue/tests.a.77-0.new").set_modified(now).unwrap();
        let old = now - 2 * MAX_AGE;
        for name in ["queue/tests.a.78-0.new", "queue/tests.a/index.78-1.new"] {
            write(name).set_modified(old).unwrap();
        }
        write("queue/tests.b.schedule").set_modified(old).unwrap();
        clear_at(&raddle, now);
        let there = |name: &&str| raddle.join(name).exists();
        let gone = ["running-1", "replay-1.events", "queue/tests.a.78-0.new"];
        assert!(!gone.iter().any(there));
        assert!(!there(&"queue/tests.a/index.78-1.new"));
        let kept = [
            "replay-2.events",
            "queue/tests.a.schedule",
            "queue/tests.a.77-0.new",
            "starting-2-0/lock",
        ];
        assert!(kept.iter().all(there));
        assert!(there(&"queue/tests.b.schedule") && own.path().is_dir());
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
        // A command that was killed at its start.
        clear_at(&raddle, now + 2 * MAX_AGE);
        assert!(!there(&"starting-2-0"));
        fs::remove_dir_all(raddle).unwrap();
    }
}
