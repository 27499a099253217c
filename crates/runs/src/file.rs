//! The database file: exclusive access, and recovery from a file that cannot be used.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use redb::{Database, DatabaseError, Error, StorageError};

use crate::aside::{self, Aside, Folder};
use crate::record::{News, Remembered};
use crate::tables::{self, Change, Content, FORMAT};

/// Delay between two attempts to open a file that is in use.
const PAUSE: Duration = Duration::from_millis(2);

/// Reason why the file could not be read or written. A check can continue without it.
#[derive(Debug)]
pub enum Problem {
    /// The file was in use until the timeout.
    Busy,
    /// The file cannot be used. It was renamed, and the next attempt creates a new one.
    SetAside {
        /// Path of the file.
        file: PathBuf,
        /// Reason why it cannot be used.
        reason: String,
        /// Path after renaming; `None` if it could not be renamed.
        aside: Option<PathBuf>,
    },
    /// The file or its folder cannot be read or written.
    Unreachable {
        /// Path of the file.
        file: PathBuf,
        /// Error message of the operating system.
        reason: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Busy => write!(f, "the file is in use"),
            Problem::SetAside {
                file,
                reason,
                aside,
            } => {
                write!(f, "{} cannot be used: {reason}", file.display())?;
                match aside {
                    Some(aside) => write!(
                        f,
                        "; it is kept as {}, and a new one is started",
                        aside.display()
                    ),
                    None => write!(f, "; remove it to start a new one"),
                }
            }
            Problem::Unreachable { file, reason } => {
                write!(f, "{} cannot be used: {reason}", file.display())
            }
        }
    }
}

impl std::error::Error for Problem {}

/// The file in which checks are remembered. It is open only during each call.
#[derive(Clone, Debug)]
pub struct RunsFile {
    path: PathBuf,
    /// True when the file may be renamed if it cannot be used.
    is_ours: bool,
}

/// Reason why the database cannot be opened, read or written.
enum Fault {
    Busy,
    Broken(String),
    System(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::DatabaseAlreadyOpen => Fault::Busy,
            Error::UpgradeRequired(version) => {
                Fault::Broken(format!("its redb format {version} is too old"))
            }
            Error::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
                match error.kind() {
                    // The file is shorter than its header says.
                    io::ErrorKind::UnexpectedEof => Fault::Broken("it is truncated".to_owned()),
                    _ => Fault::System(error.to_string()),
                }
            }
            // The error was in an earlier operation; the file itself may be intact.
            Error::PreviousIo => Fault::System("it could not be read or written".to_owned()),
            Error::Io(_) => Fault::Broken("it is not a database".to_owned()),
            error => Fault::Broken(format!("it is damaged: {error}")),
        }
    }
}

impl From<DatabaseError> for Fault {
    fn from(error: DatabaseError) -> Self {
        Error::from(error).into()
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Error::from(error).into()
    }
}

impl RunsFile {
    /// Returns the file with this path, without opening it. It is renamed if it turns out to be
    /// unusable.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        RunsFile {
            path: path.into(),
            is_ours: true,
        }
    }

    /// Returns the user's file with this path. It is never renamed.
    pub fn given(path: impl Into<PathBuf>) -> Self {
        RunsFile {
            path: path.into(),
            is_ours: false,
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of all checks, sorted. Waits for other users of the file up to the
    /// timeout.
    pub fn checks(&self, timeout: Duration) -> Result<Vec<String>, Problem> {
        match self.path.exists() {
            true => self.with(timeout, tables::checks),
            false => Ok(Vec::new()),
        }
    }

    /// Reads the record of a check, which is empty if there is no file. Waits for other users of
    /// the file up to the timeout.
    pub fn read(&self, check: &str, timeout: Duration) -> Result<Remembered, Problem> {
        match self.path.exists() {
            true => self.with(timeout, |database| tables::read(database, check)),
            false => Ok(Remembered::default()),
        }
    }

    /// Adds the results of a run. Waits for other users of the file up to the timeout.
    pub fn add(&self, check: &str, news: &News, timeout: Duration) -> Result<(), Problem> {
        self.change(timeout, |change| change.add(check, news))
    }

    /// Adds a failing schedule. Waits for other users of the file up to the timeout.
    pub fn add_failure(
        &self,
        check: &str,
        schedule: &str,
        timeout: Duration,
    ) -> Result<(), Problem> {
        self.change(timeout, |change| change.add_failure(check, schedule))
    }

    /// Removes a schedule that no longer fails. Waits for other users of the file up to the
    /// timeout.
    pub fn remove_failure(
        &self,
        check: &str,
        schedule: &str,
        timeout: Duration,
    ) -> Result<(), Problem> {
        self.change(timeout, |change| change.remove_failure(check, schedule))
    }

    /// Returns the recorded versions of the program, and when they were recorded, in milliseconds since 1970. Waits
    /// for other users of the file up to the timeout.
    pub fn versions(&self, timeout: Duration) -> Result<Vec<(String, u64)>, Problem> {
        match self.path.exists() {
            true => self.with(timeout, tables::versions),
            false => Ok(Vec::new()),
        }
    }

    /// Returns what is known of the tests of a version, by their names. Waits for other users of the file up to the
    /// timeout.
    pub fn tests(
        &self,
        version: &str,
        timeout: Duration,
    ) -> Result<BTreeMap<String, String>, Problem> {
        match self.path.exists() {
            true => self.with(timeout, |database| tables::tests(database, version)),
            false => Ok(BTreeMap::new()),
        }
    }

    /// Adds what is known of tests of a version; the oldest of many versions are removed. Waits for other users of
    /// the file up to the timeout.
    pub fn add_version(
        &self,
        version: &str,
        recorded: u64,
        tests: &BTreeMap<String, String>,
        timeout: Duration,
    ) -> Result<(), Problem> {
        self.change(timeout, |change| {
            change.add_version(version, recorded, tests)
        })
    }

    pub(crate) fn change<T>(
        &self,
        timeout: Duration,
        make: impl Fn(&Change) -> Result<T, Error>,
    ) -> Result<T, Problem> {
        self.with(timeout, |database| {
            let change = Change::begin(database)?;
            let made = make(&change)?;
            change.commit()?;
            Ok(made)
        })
    }

    /// Opens the database and calls `work` with it, waiting while the file is in use.
    pub(crate) fn with<T>(
        &self,
        timeout: Duration,
        work: impl Fn(&Database) -> Result<T, Error>,
    ) -> Result<T, Problem> {
        let unreachable = |reason| Problem::Unreachable {
            file: self.path.clone(),
            reason,
        };
        let start = Instant::now();
        loop {
            let opened = self.open().map_err(|error| unreachable(error.to_string()));
            let (file, identity) = opened?;
            // redb may panic on damage that it does not detect.
            let done = catch_unwind(AssertUnwindSafe(|| use_database(file, &work)));
            let panicked = |_| Err(Fault::Broken("it is damaged".to_owned()));
            match done.unwrap_or_else(panicked) {
                Ok(done) => return Ok(done),
                Err(Fault::Busy) => {}
                Err(Fault::Broken(reason)) if self.is_ours => {
                    if let Some(problem) = self.set_aside(&identity, reason) {
                        return Err(problem);
                    }
                }
                Err(Fault::Broken(reason) | Fault::System(reason)) => {
                    return Err(unreachable(reason));
                }
            }
            if start.elapsed() >= timeout {
                return Err(Problem::Busy);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Opens the file, or creates it, and returns its identity.
    fn open(&self) -> io::Result<(File, Identity)> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&self.path)?;
        let identity = identity(&file.metadata()?);
        Ok((file, identity))
    }

    /// Renames an unusable file; `None` if another process has done so, or does.
    #[cold]
    fn set_aside(&self, unusable: &Identity, reason: String) -> Option<Problem> {
        let aside = match aside::set_aside(self, unusable) {
            Aside::Moved(name) => Some(name),
            Aside::Stays => None,
            Aside::NotOurs => return None,
        };
        Some(Problem::SetAside {
            file: self.path.clone(),
            reason,
            aside,
        })
    }

    /// Returns a new name that no file has, so that files renamed earlier are kept.
    fn aside(&self) -> PathBuf {
        let named = |number: u32| {
            let mut aside = self.path.as_os_str().to_owned();
            aside.push(".unreadable");
            if number > 1 {
                aside.push(format!("-{number}"));
            }
            PathBuf::from(aside)
        };
        let mut names = (1..).map(named);
        names.find(|aside| !aside.exists()).unwrap_or_default()
    }
}

impl Folder for RunsFile {
    type Identity = Identity;
    type Turn = File;
    type Name = PathBuf;

    fn current(&self) -> Option<Identity> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        Some(identity(&metadata))
    }

    fn take_turn(&self) -> Option<File> {
        let file = File::open(&self.path).ok()?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            // On a file system without locks no process can hold one.
            _ => Some(file),
        }
    }

    fn move_away(&self) -> Option<PathBuf> {
        let aside = self.aside();
        std::fs::rename(&self.path, &aside).ok().map(|()| aside)
    }
}

/// Device and inode, which are independent of the name.
#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Time of creation, the best approximation of an identity without inodes.
#[cfg(not(unix))]
type Identity = Option<std::time::SystemTime>;

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Identity {
    metadata.created().ok()
}

/// Calls `work` with the database in a file, if the format is right.
fn use_database<T>(file: File, work: impl Fn(&Database) -> Result<T, Error>) -> Result<T, Fault> {
    let database = Database::builder().create_file(file)?;
    match tables::content(&database)? {
        Content::Empty | Content::Format(FORMAT) => Ok(work(&database)?),
        Content::Format(format) => Err(Fault::Broken(format!(
            "it is of format {format}, and this raddle reads format {FORMAT}"
        ))),
        Content::Foreign => Err(Fault::Broken("it is not a database of raddle".to_owned())),
    }
}
