//! Marked states that none of the tests has reached.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::run::outcome::{TestOutcome, TestVerdict};
use crate::source::find_states;
use crate::toolchain::binaries::TestBinary;

/// Folders that have no sources of a package.
const WITHOUT_SOURCES: [&str; 2] = ["target", ".git"];

/// A place: file, line and column.
type Place = (String, u64, u64);

/// A state that no execution of these tests has reached.
#[derive(Debug, PartialEq, Eq)]
pub struct UnreachedState {
    pub name: String,
    /// File, line and column.
    pub place: String,
    /// True when some execution came to its place, where its condition was false.
    pub was_false: bool,
}

/// Returns the states that no check has reached, by place. Those whose place no execution came to are found in the sources
/// of the packages under test, below this root; without one, or if not all tests have run, they are left out.
pub fn unreached(
    root: Option<&Path>,
    binaries: &[TestBinary],
    outcomes: &[TestOutcome],
) -> Vec<UnreachedState> {
    let mut states: BTreeMap<(Place, String), Option<u64>> = BTreeMap::new();
    let have_run = |outcome: &TestOutcome| {
        matches!(outcome.verdict, TestVerdict::Passed | TestVerdict::Failed)
    };
    if let Some(root) = root.filter(|_| outcomes.iter().all(have_run)) {
        let folders: BTreeSet<&Path> = (binaries.iter())
            .filter(|binary| binary.runtime.is_none())
            .filter_map(|binary| binary.manifest.parent())
            .collect();
        for folder in folders {
            in_sources(root, folder, &mut |file, text| {
                for state in find_states(text) {
                    let place = (file.to_owned(), state.line.into(), state.column.into());
                    states.insert((place, state.name), None);
                }
            });
        }
    }
    let by_place: BTreeMap<Place, String> = states.keys().cloned().collect();
    for state in outcomes.iter().flat_map(|outcome| &outcome.reached) {
        let number = |of: &Value| of.as_u64().unwrap_or_default();
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        let place = &state["place"];
        let place = (
            text(&place["file"]),
            number(&place["line"]),
            number(&place["column"]),
        );
        // The compiler's text of a condition has other spaces than the source.
        let name = by_place.get(&place).cloned();
        let name = name.unwrap_or_else(|| text(&state["name"]));
        *states.entry((place, name)).or_default().get_or_insert(0) += number(&state["held"]);
    }
    let missed = states
        .into_iter()
        .filter(|(_, held)| held.unwrap_or(0) == 0);
    let state =
        |(((file, line, column), name), held): ((Place, String), Option<u64>)| UnreachedState {
            name,
            place: format!("{file}:{line}:{column}"),
            was_false: held.is_some(),
        };
    missed.map(state).collect()
}

/// Passes the sources below a folder, with their paths in the workspace. What cannot be read is left out.
fn in_sources(root: &Path, folder: &Path, pass: &mut impl FnMut(&str, &str)) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            let name = entry.file_name();
            let is_package = path.join("Cargo.toml").exists();
            if !is_package && WITHOUT_SOURCES.iter().all(|it| name != *it) {
                in_sources(root, &path, pass);
            }
        } else if path.extension().is_some_and(|it| it == "rs")
            && let Ok(file) = path.strip_prefix(root)
            && let Ok(text) = fs::read_to_string(&path)
        {
            pass(&file.to_string_lossy(), &text);
        }
    }
}
