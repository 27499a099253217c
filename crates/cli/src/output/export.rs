//! What happened in a replay, for other programs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use raddle_report::Trace;
use serde_json::Value;

use crate::commands::error::Error;
use crate::run::leftovers;

/// Where a test writes down what its checks do, while it is replayed.
pub struct Recording {
    file: PathBuf,
    /// Locked, so that others know that it is somebody's.
    _open: File,
}

impl Recording {
    /// In this folder, which need not exist.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let file = folder.join(format!("replay-{}.events", std::process::id()));
        leftovers::clear(folder);
        let open = fs::create_dir_all(folder)
            .and_then(|()| File::create(&file))
            .map_err(|cause| cannot_write(&file, cause))?;
        let _ = open.try_lock();
        Ok(Recording { file, _open: open })
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What happened in the check that was replayed last.
    fn trace(&self) -> Option<Trace> {
        let text = fs::read_to_string(&self.file).ok()?;
        let events = text
            .lines()
            .rev()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut replays = events.filter(|event: &Value| event["event"] == "replayed");
        let trace = replays.next()?.get_mut("trace")?.take();
        serde_json::from_value(trace).ok()
    }

    /// Writes what was asked for.
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
        // What is left there is in nobody's way.
        let _ = fs::remove_file(&self.file);
    }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|cause| cannot_write(path, cause))
}

fn cannot_write(path: &Path, cause: io::Error) -> Error {
    Error::CannotWrite {
        path: path.to_owned(),
        cause,
    }
}
