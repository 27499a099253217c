//! The lines that differ from a revision of git.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::commands::error::Error;

/// Returns the lines that differ from a revision, by file as checks name it; all lines of files that git does not know yet.
pub fn changed_lines(root: &Path, revision: &str) -> Result<BTreeSet<(String, u32)>, Error> {
    let git = |arguments: &[&str]| {
        git(root, arguments).map_err(|problem| Error::NoDiff {
            revision: revision.to_owned(),
            problem,
        })
    };
    let mut lines = lines_of_diff(&git(&[
        "diff",
        "--unified=0",
        "--no-color",
        "--no-ext-diff",
        "--relative",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        revision,
        "--",
    ])?);
    let unknown = git(&["ls-files", "--others", "--exclude-standard"])?;
    for file in unknown.lines().filter(|name| name.ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let count = text.lines().count() as u32;
        lines.extend((1..=count).map(|line| (file.to_owned(), line)));
    }
    Ok(lines)
}

/// Runs git, whatever its configuration is, and returns its output; an error is the first line of what it reports.
fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.lines().next().unwrap_or_default().to_owned())
}

/// Returns the lines that a diff without context adds or changes.
fn lines_of_diff(diff: &str) -> BTreeSet<(String, u32)> {
    let mut lines = BTreeSet::new();
    let mut file = None;
    for line in diff.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            file = name.strip_prefix("b/").map(str::to_owned);
        }
        let Some(hunk) = line.strip_prefix("@@ ") else {
            continue;
        };
        let new = hunk.split(' ').find_map(|word| word.strip_prefix('+'));
        let (Some(new), Some(file)) = (new, &file) else {
            continue;
        };
        let (start, count) = new.split_once(',').unwrap_or((new, "1"));
        if let (Ok(start), Ok(count)) = (start.parse::<u32>(), count.parse::<u32>()) {
            lines.extend((start..start + count).map(|line| (file.clone(), line)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_those_of_the_new_version() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3 +3,2 @@ fn\n-x\n+y\n+z\n\
                    @@ -9,2 +10,0 @@\n-a\n-b\n--- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
        let lines: Vec<_> = lines_of_diff(diff).into_iter().collect();
        assert_eq!(
            lines,
            [("src/a.rs".to_owned(), 3), ("src/a.rs".to_owned(), 4)]
        );
    }
}
