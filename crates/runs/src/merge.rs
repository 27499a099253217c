//! One file of several, perhaps from other machines.

use std::time::Duration;

use crate::file::{Problem, RunsFile};

/// What came of adding a file to another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// Checks of which all was added.
    pub checks: Vec<String>,
    /// Checks that look different there: only their failing schedules were added.
    pub different: Vec<String>,
}

/// Adds to a file what another one remembers. What is there already is not added again, so it does not
/// matter how often, or in which order files are added. Waits at most so long for others.
pub fn merge(into: &RunsFile, from: &RunsFile, patience: Duration) -> Result<Merged, Problem> {
    if !from.path().exists() {
        return Err(Problem::Unreachable {
            file: from.path().to_owned(),
            reason: "there is no such file".to_owned(),
        });
    }
    let mut merged = Merged::default();
    for check in from.checks(patience)? {
        let remembered = from.read(&check, patience)?;
        let whole = into.change(patience, |change| change.absorb(&check, &remembered))?;
        match whole {
            true => merged.checks.push(check),
            false => merged.different.push(check),
        }
    }
    Ok(merged)
}
