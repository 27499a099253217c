//! The file: opening it in turn with others, and putting it aside if it cannot be used.

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

/// How long to wait between two attempts to open a file that somebody else has open.
const PAUSE: Duration = Duration::from_millis(2);

/// Why something could not be read or written. None of these is a reason to stop.
#[derive(Debug)]
pub enum Problem {
    /// Somebody else had the file open all the time.
    Busy,
    /// The file cannot be used. It was put aside, and the next attempt starts a new one.
    SetAside {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// Where it is now; `None` if it could not be moved and is still there.
        aside: Option<PathBuf>,
    },
    /// The file or its folder cannot be read or written.
    Unreachable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        reason: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Busy => write!(f, "somebody else has the file open"),
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

/// The file in which checks are remembered. It is opened for each call, and closed after it.
#[derive(Clone, Debug)]
pub struct RunsFile {
    path: PathBuf,
    /// Whether it may be moved out of the way.
    is_ours: bool,
}

/// Why a file is of no use, or that it is not the file's fault.
enum Fault {
    Busy,
    Broken(String),
    System(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::DatabaseAlreadyOpen => Fault::Busy,
            Error::UpgradeRequired(version) => Fault::Broken(format!(
                "it is of version {version} of redb, and this one reads newer ones only"
            )),
            Error::Io(error) if error.kind() != io::ErrorKind::InvalidData => {
                match error.kind() {
                    // The file is shorter than it says.
                    io::ErrorKind::UnexpectedEof => Fault::Broken("it is not complete".to_owned()),
                    _ => Fault::System(error.to_string()),
                }
            }
            // Something could not be read or written before; the file itself may be as good as ever.
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
    /// The file with this name; nothing is read or written yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        RunsFile {
            path: path.into(),
            is_ours: true,
        }
    }

    /// A file of somebody else's: it stays where it is, whatever is wrong with it.
    pub fn given(path: impl Into<PathBuf>) -> Self {
        RunsFile {
            path: path.into(),
            is_ours: false,
        }
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all checks, in order. Waits at most so long for others.
    pub fn checks(&self, patience: Duration) -> Result<Vec<String>, Problem> {
        match self.path.exists() {
            true => self.with(patience, tables::checks),
            false => Ok(Vec::new()),
        }
    }

    /// What is remembered of a check; nothing if there is no file. Waits at most so long for others.
    pub fn read(&self, check: &str, patience: Duration) -> Result<Remembered, Problem> {
        match self.path.exists() {
            true => self.with(patience, |database| tables::read(database, check)),
            false => Ok(Remembered::default()),
        }
    }

    /// Adds what a run has found out. Waits at most so long for others.
    pub fn add(&self, check: &str, news: &News, patience: Duration) -> Result<(), Problem> {
        self.change(patience, |change| change.add(check, news))
    }

    /// Adds a schedule that failed. Waits at most so long for others.
    pub fn add_failure(
        &self,
        check: &str,
        schedule: &str,
        patience: Duration,
    ) -> Result<(), Problem> {
        self.change(patience, |change| change.add_failure(check, schedule))
    }

    /// Forgets a schedule that does not fail any more. Waits at most so long for others.
    pub fn remove_failure(
        &self,
        check: &str,
        schedule: &str,
        patience: Duration,
    ) -> Result<(), Problem> {
        self.change(patience, |change| change.remove_failure(check, schedule))
    }

    pub(crate) fn change<T>(
        &self,
        patience: Duration,
        make: impl Fn(&Change) -> Result<T, Error>,
    ) -> Result<T, Problem> {
        self.with(patience, |database| {
            let change = Change::begin(database)?;
            let made = make(&change)?;
            change.commit()?;
            Ok(made)
        })
    }

    /// Does something with the open file.
    pub(crate) fn with<T>(
        &self,
        patience: Duration,
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
            // What redb does not notice to be damaged, it may stumble over.
            let done = catch_unwind(AssertUnwindSafe(|| read_and(file, &work)));
            let stumbled = |_| Err(Fault::Broken("it is damaged".to_owned()));
            match done.unwrap_or_else(stumbled) {
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
            if start.elapsed() >= patience {
                return Err(Problem::Busy);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The file, new if there is none, and which one it is.
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

    /// Puts the file aside; nothing if somebody else has, or is about to.
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

    /// A name for a file that is put aside: what was put aside before stays too.
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
            // Where files cannot be locked, nobody can.
            _ => Some(file),
        }
    }

    fn move_away(&self) -> Option<PathBuf> {
        let aside = self.aside();
        std::fs::rename(&self.path, &aside).ok().map(|()| aside)
    }
}

/// Tells files apart, whatever they are called.
#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// As near as can be had: when it was made.
#[cfg(not(unix))]
type Identity = Option<std::time::SystemTime>;

#[cfg(not(unix))]
fn identity(metadata: &Metadata) -> Identity {
    metadata.created().ok()
}

/// Does something with the database in a file.
fn read_and<T>(file: File, work: impl Fn(&Database) -> Result<T, Error>) -> Result<T, Fault> {
    let database = Database::builder().create_file(file)?;
    match tables::content(&database)? {
        Content::Nothing | Content::Format(FORMAT) => Ok(work(&database)?),
        Content::Format(format) => Err(Fault::Broken(format!(
            "it is of format {format}, and this raddle reads format {FORMAT}"
        ))),
        Content::Other => Err(Fault::Broken("it is not one of raddle's".to_owned())),
    }
}
