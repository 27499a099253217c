//! Errors of written files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub enum Error {
    CannotWrite {
        path: PathBuf,
        cause: io::Error,
    },
    /// The replayed test has run no check.
    NothingToExport,
}

impl Error {
    /// Returns a function for `map_err` that adds the path.
    pub fn cannot_write(path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::CannotWrite {
            path: path.to_owned(),
            cause,
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotWrite { path, cause } => write!(
                f,
                "cannot write {}: {cause}\n  help: give another file or directory",
                path.display(),
            ),
            Self::NothingToExport => f.write_str(
                "nothing was exported: the test ran no check on the schedule\n  \
                 help: see its output above",
            ),
        }
    }
}
