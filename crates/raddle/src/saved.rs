//! Failing schedules on disk, beside the test binary's build.

use std::io;
use std::path::{Path, PathBuf};

use raddle_engine::Schedule;

/// Schedules up to this length are printed instead of the file's name.
const MAX_PRINTED: usize = 200;

/// What to type to see the failure again, and what went wrong with saving it.
pub(crate) struct Saved {
    pub(crate) replay: String,
    pub(crate) problem: Option<String>,
}

/// Saves a failing schedule and says how to replay it.
pub(crate) fn save(schedule: &Schedule, name: Option<&str>) -> Saved {
    let line = schedule.one_line();
    let test = name.map(|name| format!(" {name}")).unwrap_or_default();
    let command = |value: &str| format!("RADDLE_REPLAY='{value}' cargo test{test}");
    let written = match (name, folder()) {
        (Some(name), Some(folder)) => write(&folder, name, schedule),
        _ => {
            return Saved {
                replay: command(&line),
                problem: None,
            };
        }
    };
    match written {
        Ok(path) if line.len() > MAX_PRINTED => Saved {
            replay: command(&path.display().to_string()),
            problem: None,
        },
        Ok(_) => Saved {
            replay: command(&line),
            problem: None,
        },
        Err((path, error)) => Saved {
            replay: command(&line),
            problem: Some(format!(
                "the schedule could not be saved as {path:?}: {error}"
            )),
        },
    }
}

fn write(folder: &Path, name: &str, schedule: &Schedule) -> Result<PathBuf, (PathBuf, io::Error)> {
    let path = folder.join(format!("{}.schedule", name.replace("::", ".")));
    let write = || {
        std::fs::create_dir_all(folder)?;
        std::fs::write(&path, schedule.to_string())
    };
    write().map_err(|error| (path.clone(), error))?;
    Ok(path)
}

/// `raddle` in cargo's target folder, found from the running binary; cargo marks it with a tag.
fn folder() -> Option<PathBuf> {
    let binary = std::env::current_exe().ok()?;
    let target = binary
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())?;
    Some(target.join("raddle"))
}
