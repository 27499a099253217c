//! Differences of two versions of a file, in the unified format.

use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// A run of lines that differ: from `old` to `old_end` they become those from `new` to `new_end`.
struct Change {
    old: usize,
    old_end: usize,
    new: usize,
    new_end: usize,
}

/// Returns the difference, or nothing if there is none.
pub fn unified(file: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let changes = changes(&old, &new);
    let mut text = String::new();
    let mut rest = &changes[..];
    while let [first, ..] = rest {
        let near = |pair: &[Change]| pair[1].old - pair[0].old_end <= 2 * CONTEXT;
        let length = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
        let (hunk, others) = rest.split_at(length);
        rest = others;
        let last = &hunk[length - 1];
        let before = first.old.min(CONTEXT);
        let after = (old.len() - last.old_end).min(CONTEXT);
        if text.is_empty() {
            let _ = writeln!(text, "--- a/{file}\n+++ b/{file}");
        }
        let lines = |start: usize, end: usize| {
            let count = end + after - (start - before);
            // A side without lines is after the line with this number.
            format!("{},{count}", start - before + usize::from(count > 0))
        };
        let (old_lines, new_lines) = (
            lines(first.old, last.old_end),
            lines(first.new, last.new_end),
        );
        let _ = writeln!(text, "@@ -{old_lines} +{new_lines} @@");
        let mut at = first.old - before;
        for change in hunk {
            let same = old[at..change.old].iter().map(|line| (' ', line));
            let gone = old[change.old..change.old_end]
                .iter()
                .map(|line| ('-', line));
            let added = new[change.new..change.new_end]
                .iter()
                .map(|line| ('+', line));
            for (sign, line) in same.chain(gone).chain(added) {
                let _ = writeln!(text, "{sign}{line}");
            }
            at = change.old_end;
        }
        for line in &old[at..at + after] {
            let _ = writeln!(text, " {line}");
        }
    }
    text
}

/// Returns the runs of lines that differ, by the longest common subsequence of the lines between the first and the last
/// difference, which are few.
fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = pairs.take_while(|(a, b)| a == b).count();
    let old = &old_rest[..old_rest.len() - end];
    let new = &new_rest[..new_rest.len() - end];
    // The length of the longest common subsequence from here on.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for at in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            common[at][other] = match old[at] == new[other] {
                true => common[at + 1][other + 1] + 1,
                false => common[at + 1][other].max(common[at][other + 1]),
            };
        }
    }
    let mut changes: Vec<Change> = Vec::new();
    let (mut at, mut other) = (0, 0);
    while at < old.len() || other < new.len() {
        if at < old.len() && other < new.len() && old[at] == new[other] {
            (at, other) = (at + 1, other + 1);
            continue;
        }
        let (old_line, new_line) = (start + at, start + other);
        let takes_old =
            other == new.len() || at < old.len() && common[at + 1][other] >= common[at][other + 1];
        match takes_old {
            true => at += 1,
            false => other += 1,
        }
        match changes.last_mut() {
            Some(last) if (last.old_end, last.new_end) == (old_line, new_line) => {
                (last.old_end, last.new_end) = (start + at, start + other);
            }
            _ => changes.push(Change {
                old: old_line,
                old_end: start + at,
                new: new_line,
                new_end: start + other,
            }),
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_its_context() {
        let old = "1\n2\n3\n4\n5\n6\n";
        let expected = "--- a/f\n+++ b/f\n@@ -1,6 +1,5 @@\n 1\n 2\n-3\n-4\n+x\n 5\n 6\n";
        assert_eq!(unified("f", old, "1\n2\nx\n5\n6\n"), expected);
        assert_eq!(unified("f", old, old), "");
        assert_eq!(
            unified("f", "", "a\n"),
            "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n"
        );
        // Lines that have changed places.
        let expected = "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-a\n b\n+a\n c\n d\n";
        assert_eq!(unified("f", "a\nb\nc\nd\n", "b\na\nc\nd\n"), expected);
    }

    #[test]
    fn distant_changes_are_apart() {
        let old: Vec<String> = (0..20).map(|line| line.to_string()).collect();
        let mut new = old.clone();
        new[2] = "x".to_owned();
        new[16] = "y".to_owned();
        let text = unified("f", &old.join("\n"), &new.join("\n"));
        assert_eq!(text.matches("@@ -").count(), 2);
        assert!(
            text.contains("@@ -14,7 +14,7 @@\n 13\n 14\n 15\n-16\n+y\n"),
            "{text}"
        );
    }
}
