//! Changed orderings as a patch of the sources.

use std::collections::BTreeMap;
use std::path::Path;

use crate::run::mutant::Mutant;
use crate::source::difference::unified;

/// Names of orderings in sources.
const ORDERINGS: [&str; 5] = ["SeqCst", "AcqRel", "Acquire", "Release", "Relaxed"];
/// A patch, and the changes that are not in it because the source does not name the ordering at the call.
pub struct Patch<'a> {
    pub text: String,
    pub by_hand: Vec<&'a Mutant>,
}

/// Returns the patch that makes these changes.
pub fn patch<'a>(root: &Path, changes: &[&'a Mutant]) -> Patch<'a> {
    let mut by_file: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for change in changes {
        by_file.entry(&change.file).or_default().push(change);
    }
    let mut patch = Patch {
        text: String::new(),
        by_hand: Vec::new(),
    };
    for (file, changes) in by_file {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let (changed, by_hand) = apply(&source, &changes);
        patch.by_hand.extend(by_hand);
        let shown = Path::new(file)
            .strip_prefix(root)
            .unwrap_or(Path::new(file));
        patch.text += &unified(&shown.display().to_string(), &source, &changed);
    }
    patch
}

/// Makes the changes in a source; returns those that could not be made.
fn apply<'a>(source: &str, changes: &[&'a Mutant]) -> (String, Vec<&'a Mutant>) {
    let (mut edits, mut by_hand) = (Vec::new(), Vec::new());
    for change in changes {
        match edit(source, change) {
            Some(edit) => edits.push(edit),
            None => by_hand.push(*change),
        }
    }
    // From the end, so that positions stay right.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = source.to_owned();
    for (range, new) in edits {
        text.replace_range(range, &new);
    }
    (text, by_hand)
}

/// Returns the range of the source that a change replaces, and the new text.
fn edit(source: &str, change: &Mutant) -> Option<(std::ops::Range<usize>, String)> {
    let start = offset(source, change.line, change.column)?;
    let arguments = arguments(source, start)?;
    if change.change == "omit" {
        let after = &source[arguments.end + 1..];
        let length = usize::from(after.starts_with(';'));
        return Some((start..arguments.end + 1 + length, String::new()));
    }
    let (number, new) = match change.change.strip_prefix("failure=") {
        Some(new) => (1, new),
        None => (0, change.change.as_str()),
    };
    let found = orderings(source, arguments);
    // One for each ordering of the operation: a function that computes one names others.
    let expected = change.operation.split_once(' ')?.1.split(", ").count();
    let range = found.get(number).filter(|_| found.len() == expected)?;
    Some((range.clone(), new.to_owned()))
}

/// Returns the offset of a position, whose column counts characters from 1.
fn offset(source: &str, line: u32, column: u32) -> Option<usize> {
    let before = source.split_inclusive('\n').take(line as usize - 1);
    let start: usize = before.map(str::len).sum();
    let rest = &source[start..];
    let (within, _) = rest.char_indices().nth(column as usize - 1)?;
    Some(start + within)
}

/// Returns the range between the parentheses of the call at an offset.
fn arguments(source: &str, start: usize) -> Option<std::ops::Range<usize>> {
    let rest = &source[start..];
    let open = start + rest.find('(')?;
    let mut depth = 0_u32;
    for (at, character) in source[open..].char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + 1..open + at);
        }
    }
    None
}

/// Returns the ranges of the names of orderings.
fn orderings(source: &str, within: std::ops::Range<usize>) -> Vec<std::ops::Range<usize>> {
    let text = &source[within.clone()];
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split(|character| !is_word(character)) {
        if ORDERINGS.contains(&word) {
            let start = within.start + at;
            found.push(start..start + word.len());
        }
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(line: u32, column: u32, operation: &str, change: &str) -> Mutant {
        Mutant {
            file: "src/lib.rs".to_owned(),
            line,
            column,
            operation: operation.to_owned(),
            change: change.to_owned(),
        }
    }

    const SOURCE: &str = "use std::sync::atomic::Ordering::*;\n\
        fn f() {\n    \
            X.store(g(1), Ordering::SeqCst);\n    \
            X.compare_exchange(\n        0,\n        1,\n        SeqCst,\n        Acquire,\n    );\n    \
            fence(SeqCst);\n    \
            X.load(if a { SeqCst } else { Acquire });\n    \
            X.load(ordering);\n}\n";

    #[test]
    fn orderings_are_replaced_where_they_are_named() {
        let changes = [
            change(3, 7, "store SeqCst", "Relaxed"),
            change(4, 7, "compare-exchange SeqCst, Acquire", "AcqRel"),
            change(4, 7, "compare-exchange SeqCst, Acquire", "failure=Relaxed"),
            change(10, 5, "fence SeqCst", "omit"),
            change(11, 7, "load SeqCst", "Relaxed"),
            change(12, 7, "load SeqCst", "Relaxed"),
        ];
        let (text, by_hand) = apply(SOURCE, &changes.iter().collect::<Vec<_>>());
        assert!(text.contains("X.store(g(1), Ordering::Relaxed);"), "{text}");
        assert!(
            text.contains("        AcqRel,\n        Relaxed,\n"),
            "{text}"
        );
        assert!(!text.contains("fence"), "{text}");
        let lines: Vec<_> = by_hand.iter().map(|change| change.line).collect();
        assert_eq!(lines, [11, 12]);
    }

    #[test]
    fn a_patch_has_the_changed_lines_with_their_surroundings() {
        let changes = [change(3, 7, "store SeqCst", "Relaxed")];
        let (text, _) = apply(SOURCE, &changes.iter().collect::<Vec<_>>());
        let expected = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,6 +1,6 @@\n use std::sync::atomic::Ordering::*;\n fn \
            f() {\n-    X.store(g(1), Ordering::SeqCst);\n+    X.store(g(1), Ordering::Relaxed);\n     \
            X.compare_exchange(\n         0,\n         1,\n";
        assert_eq!(unified("src/lib.rs", SOURCE, &text), expected);
        assert_eq!(unified("src/lib.rs", SOURCE, SOURCE), "");
    }
}
