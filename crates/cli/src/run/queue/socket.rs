//! The socket between this command and the process of a test.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use raddle_queue::Token;

/// Name of the socket in its directory.
const NAME: &str = "s";
/// Interval of looks at a connection that is expected.
const INTERVAL: Duration = Duration::from_millis(2);

/// Maximum length of the path of a socket; systems allow 103 bytes or a few more.
const LONGEST: usize = 100;

/// A socket in a directory that only this user can read.
pub struct Socket {
    directory: PathBuf,
    path: PathBuf,
    listener: UnixListener,
}

impl Socket {
    /// Creates a socket in this directory, or in that for temporary files if its path would be too long.
    pub fn new(parent: &Path) -> io::Result<Self> {
        let name = format!("raddle-{}", Token::random());
        let near = parent.join(&name);
        let directory = match near.join(NAME).as_os_str().len() > LONGEST {
            true => std::env::temp_dir().join(name),
            false => near,
        };
        DirBuilder::new().mode(0o700).create(&directory)?;
        let path = directory.join(NAME);
        let bound = UnixListener::bind(&path).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        match bound {
            Ok(listener) => Ok(Socket {
                directory,
                path,
                listener,
            }),
            Err(error) => {
                let _ = fs::remove_dir_all(&directory);
                Err(error)
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for a connection; `None` once `is_over` is true.
    pub fn accept(&self, mut is_over: impl FnMut() -> bool) -> io::Result<Option<UnixStream>> {
        loop {
            // Before the look, so that a connection of an ended process is not missed.
            let over = is_over();
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    return Ok(Some(stream));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if over {
                return Ok(None);
            }
            thread::sleep(INTERVAL);
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
