//! Files of commands and tests that were killed, which had no time to clear up.
//!
//! What a command keeps while it runs is locked: the system unlocks it when the process is gone, however it
//! went. Files that tests replace are written under another name first and renamed at once; one that has had
//! that name for a minute is nobody's any more.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The start of the names of folders that commands have while they run.
const RUNNING: &str = "running-";
/// The start of the names of files that replays write.
const REPLAY: &str = "replay-";
/// The end of the names of files that are about to be renamed.
const NEW: &str = "new";
/// So old is none that is still written.
const OLD: Duration = Duration::from_secs(60);
/// In a running command's folder: locked as long as it runs.
const LOCK: &str = "lock";

/// A folder for this process alone, which is gone when this is.
pub struct OwnFolder {
    path: PathBuf,
    _lock: File,
}

impl OwnFolder {
    /// In raddle's folder, which need not exist.
    pub fn new(raddle: &Path) -> io::Result<Self> {
        clear(raddle);
        let path = raddle.join(format!("{RUNNING}{}", std::process::id()));
        fs::create_dir_all(&path)?;
        let lock = File::create(path.join(LOCK))?;
        // Where files cannot be locked, others leave the folder alone as well.
        let _ = lock.try_lock();
        Ok(OwnFolder { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        // What is left there is in nobody's way.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed processes have left in raddle's folder.
pub fn clear(raddle: &Path) {
    for path in entries(raddle) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(RUNNING) && path.is_dir() {
            if is_free(&path.join(LOCK)) {
                let _ = fs::remove_dir_all(&path);
            }
        } else if name.starts_with(REPLAY) && path.is_file() && is_free(&path) {
            let _ = fs::remove_file(&path);
        } else {
            clear_new(&path, 2);
        }
    }
}

/// Removes files that were never renamed: beside a test's schedule, and a page's.
fn clear_new(path: &Path, depth: usize) {
    if path.is_dir() {
        if depth > 0 {
            entries(path).for_each(|path| clear_new(&path, depth - 1));
        }
    } else if path.extension().is_some_and(|it| it == NEW) && is_old(path) {
        let _ = fs::remove_file(path);
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Whether nobody has locked the file. One that cannot be asked is somebody's.
fn is_free(file: &Path) -> bool {
    File::open(file).is_ok_and(|file| file.try_lock().is_ok())
}

fn is_old(file: &Path) -> bool {
    let changed = fs::metadata(file).and_then(|about| about.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > OLD))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_nobody_has_any_more_is_cleared_and_nothing_else() {
        let raddle = std::env::temp_dir().join(format!("raddle-leftovers-{}", std::process::id()));
        let own = OwnFolder::new(&raddle).unwrap();
        let write = |name: &str| {
            let path = raddle.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(&path).unwrap()
        };
        write("running-1/lock");
        write("running-1/0.events");
        write("replay-1.events");
        let locked = write("replay-2.events");
        locked.try_lock().unwrap();
        write("queue/tests.a.schedule");
        write("queue/tests.a.77-0.new");
        let old = SystemTime::now() - 2 * OLD;
        for name in ["queue/tests.a.78-0.new", "queue/tests.a/index.78-1.new"] {
            write(name).set_modified(old).unwrap();
        }
        write("queue/tests.b.schedule").set_modified(old).unwrap();
        clear(&raddle);
        let there = |name: &&str| raddle.join(name).exists();
        let gone = ["running-1", "replay-1.events", "queue/tests.a.78-0.new"];
        assert!(!gone.iter().any(there));
        assert!(!there(&"queue/tests.a/index.78-1.new"));
        let kept = [
            "replay-2.events",
            "queue/tests.a.schedule",
            "queue/tests.a.77-0.new",
        ];
        assert!(kept.iter().all(there));
        assert!(there(&"queue/tests.b.schedule") && own.path().is_dir());
        let path = own.path().to_owned();
        drop(own);
        assert!(!path.exists());
        fs::remove_dir_all(raddle).unwrap();
    }
}
