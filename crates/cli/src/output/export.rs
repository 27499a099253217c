//! Exports the execution of a replay for other programs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use raddle_report::Trace;
use serde_json::Value;

use crate::output::error::Error;
use crate::run::leftovers;

/// The temporary file for the events of a replayed test, removed on drop.
pub struct Recording {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Recording {
    /// Creates the file in raddle's directory, which need not exist.
    pub fn new(directory: &Path) -> Result<Self, Error> {
        let path = leftovers::replay_file(directory);
        let file = leftovers::create_locked(&path).map_err(Error::cannot_write(&path))?;
        Ok(Recording { path, _file: file })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the execution of the last replayed check.
    fn trace(&self) -> Option<Trace> {
        serde_json::from_value(self.last("replayed", "trace")?).ok()
    }

    /// Returns the data of the last event of a kind.
    pub fn last(&self, kind: &str, field: &str) -> Option<Value> {
        let text = fs::read_to_string(&self.path).ok()?;
        let events = text
            .lines()
            .rev()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut events = events.filter(|event: &Value| event["event"] == kind);
        events.next()?.get_mut(field).map(Value::take)
    }

    /// Writes the requested files.
    pub fn export(&self, graphviz: Option<&Path>, std_trace: Option<&Path>) -> Result<(), Error> {
        let trace = self.trace().ok_or(Error::NothingToExport)?;
        if let Some(path) = graphviz {
            write(path, &trace.graphviz())?;
        }
        if let Some(path) = std_trace {
            let exported = trace.std_trace();
            write(path, &exported.events)?;
            let mut places = path.as_os_str().to_owned();
            places.push(".places");
            write(Path::new(&places), &exported.places)?;
        }
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // The next command removes a file that is left.
        let _ = fs::remove_file(&self.path);
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::cannot_write(path))
}
