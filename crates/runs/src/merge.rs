//! Merging of files, for instance from several machines.

use std::time::Duration;

use crate::file::{Problem, RunsFile};

/// Result of a merge.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// Checks that were merged completely.
    pub checks: Vec<String>,
    /// Checks of another shape, of which only the failing schedules were merged.
    pub different: Vec<String>,
}

/// Adds the content of one file to another. The operation is idempotent, and the order of several
/// merges does not matter. Waits for other users of either file up to the timeout.
pub fn merge(into: &RunsFile, from: &RunsFile, timeout: Duration) -> Result<Merged, Problem> {
    if !from.path().exists() {
        return Err(Problem::Unreachable {
            file: from.path().to_owned(),
            reason: "there is no such file".to_owned(),
        });
    }
    let mut merged = Merged::default();
    for check in from.checks(timeout)? {
        let remembered = from.read(&check, timeout)?;
        let whole = into.change(timeout, |change| change.merge(&check, &remembered))?;
        match whole {
            true => merged.checks.push(check),
            false => merged.different.push(check),
        }
    }
    for (version, recorded) in from.versions(timeout)? {
        let tests = from.tests(&version, timeout)?;
        into.change(timeout, |change| {
            change.merge_version(&version, recorded, &tests)
        })?;
    }
    Ok(merged)
}
