//! Lines of two versions of a program that correspond to each other.
//!
//! The versions are compared by a diff of git without context. A line that the diff does not mention is the same line,
//! in a renamed file too. Of those that it removes, one corresponds to an added line with the same text, whatever its
//! indentation: in the same hunk, in the order of the longest common subsequence; elsewhere, also in another file, if
//! no other removed and no other added line has this text, or if the lines beside both correspond. So a moved function
//! keeps its places. A line whose text has changed is a new line.
//!
//! A statement that was moved keeps its places, too, but it is a change at both ends: the order of two locks matters. Only
//! a whole item may move without one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Maximum number of pairs of lines that are compared in a hunk.
const MOST_PAIRS: usize = 1 << 20;

/// The lines of two versions that correspond.
#[derive(Clone, Debug, Default)]
pub struct LineMap {
    /// By name in the earlier version.
    files: BTreeMap<String, FileMap>,
    /// Removed lines that correspond to added ones, by file and line in the earlier version.
    moved: HashMap<(String, u32), Moved>,
    /// Ranges of lines in the later version that no line of the earlier one corresponds to, or beside which lines
    /// are gone, by file.
    changed: BTreeMap<String, Vec<(u32, u32)>>,
}

/// A file that differs.
#[derive(Clone, Debug, Default)]
struct FileMap {
    /// Name in the later version; `None` if the file is gone.
    name: Option<String>,
    hunks: Vec<Hunk>,
}

#[derive(Clone, Copy, Debug)]
struct Hunk {
    old: Range,
    new: Range,
}

/// Lines of a hunk. An empty range has the number of the line before it, as in a diff.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u32,
    count: u32,
}

/// The later place of a line.
#[derive(Clone, Debug, PartialEq)]
struct Moved {
    file: String,
    line: u32,
    /// Number of columns by which its text is further to the right.
    shift: i64,
}

/// A removed or an added line.
#[derive(Clone, Debug)]
struct Line {
    file: usize,
    number: u32,
    indent: i64,
    text: String,
    /// Index of the line that it corresponds to.
    partner: Option<usize>,
    /// True when it was moved, and not with the item that it is in.
    is_displaced: bool,
}

impl Line {
    fn is_changed(&self) -> bool {
        self.partner.is_none() || self.is_displaced
    }

    /// The text with its indentation, as far as it matters whether there is one.
    fn begins_item(&self) -> bool {
        match self.indent {
            0 => begins_item(&self.text),
            _ => begins_item(&format!(" {}", self.text)),
        }
    }
}

impl LineMap {
    /// Reads the output of `git diff --unified=0 --find-renames` with the usual prefixes.
    pub fn from_diff(diff: &str) -> Self {
        Reader::default().read(diff)
    }

    /// Returns the later place of `file:line:column`; `None` if its line is gone.
    pub fn place(&self, place: &str) -> Option<String> {
        let mut parts = place.rsplitn(3, ':');
        let column: i64 = parts.next()?.parse().ok()?;
        let line: u32 = parts.next()?.parse().ok()?;
        let file = parts.next()?;
        let Some(map) = self.files.get(file) else {
            return Some(place.to_owned());
        };
        if let Some(moved) = self.moved.get(&(file.to_owned(), line)) {
            let column = (column + moved.shift).max(1);
            return Some(format!("{}:{}:{column}", moved.file, moved.line));
        }
        let mut shift = 0;
        for hunk in &map.hunks {
            if hunk.old.contains(line) {
                return None;
            }
            if hunk.old.end() <= line {
                shift += i64::from(hunk.new.count) - i64::from(hunk.old.count);
            }
        }
        let (file, line) = (map.name.as_deref()?, i64::from(line) + shift);
        Some(format!("{file}:{line}:{column}"))
    }

    /// True when a place of the earlier version is gone, or now in one of these ranges of lines of files.
    pub fn is_affected(&self, place: &str, near: &[(String, u32, u32)]) -> bool {
        let Some(place) = self.place(place) else {
            return true;
        };
        let mut parts = place.rsplitn(3, ':');
        let line = parts.nth(1).and_then(|line| line.parse::<u32>().ok());
        let file = parts.next().unwrap_or_default();
        near.iter().any(|(name, first, last)| {
            name == file && line.is_some_and(|line| (*first..=*last).contains(&line))
        })
    }

    /// Returns the ranges of lines of the later version that are new, or beside which lines are gone, by file.
    pub fn changed(&self) -> impl Iterator<Item = (&str, &[(u32, u32)])> {
        let files = self.changed.iter();
        files.map(|(file, ranges)| (file.as_str(), ranges.as_slice()))
    }

    /// Returns the names of all files that differ, in both versions.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let old = self.files.keys().map(String::as_str);
        let new = self.files.values().filter_map(|file| file.name.as_deref());
        old.chain(new)
            .chain(self.changed.keys().map(String::as_str))
    }
}

impl Range {
    fn numbers(self) -> std::ops::Range<u32> {
        self.start..self.start + self.count
    }

    fn contains(self, line: u32) -> bool {
        self.numbers().contains(&line)
    }

    /// The first line after the range.
    fn end(self) -> u32 {
        match self.count {
            0 => self.start + 1,
            count => self.start + count,
        }
    }
}

/// Reads a diff.
#[derive(Default)]
struct Reader {
    map: LineMap,
    /// Names in the earlier and the later version.
    files: Vec<[Option<String>; 2]>,
    removed: Vec<Line>,
    added: Vec<Line>,
}

impl Reader {
    fn read(mut self, diff: &str) -> LineMap {
        // What git says of a last line without an end is no line of the file.
        let mut lines = diff.lines().filter(|line| !line.starts_with('\\'));
        while let Some(line) = lines.next() {
            if line.starts_with("diff --git ") {
                self.remember_names();
                self.files.push([None, None]);
            } else if let Some(name) = line.strip_prefix("rename from ") {
                self.name(0, Some(name));
            } else if let Some(name) = line.strip_prefix("rename to ") {
                self.name(1, Some(name));
            } else if let Some(name) = line.strip_prefix("--- ") {
                self.name(0, name.strip_prefix("a/"));
            } else if let Some(name) = line.strip_prefix("+++ ") {
                self.name(1, name.strip_prefix("b/"));
            } else if let Some(hunk) = line.strip_prefix("@@ ").and_then(Hunk::parse) {
                let (removed, added) = (self.removed.len(), self.added.len());
                self.lines(0, hunk.old, &mut lines);
                self.lines(1, hunk.new, &mut lines);
                self.pair_within(removed, added);
                if let Some([Some(old), new]) = self.files.last().cloned() {
                    let map = self.map.files.entry(old).or_default();
                    map.name = new;
                    map.hunks.push(hunk);
                }
            } else {
                self.remember_names();
            }
        }
        self.remember_names();
        self.pair_moved();
        self.conclude()
    }

    /// Sets a name of the present file. git ends names with spaces with a tab.
    fn name(&mut self, version: usize, name: Option<&str>) {
        if let Some(file) = self.files.last_mut() {
            file[version] = name.map(|name| name.trim_end_matches('\t').to_owned());
        }
    }

    /// Adds the present file, which may differ in its name only.
    fn remember_names(&mut self) {
        if let Some([Some(old), new]) = self.files.last() {
            let map = self.map.files.entry(old.clone()).or_default();
            map.name.clone_from(new);
        }
    }

    /// Reads the removed or the added lines of a hunk.
    fn lines<'a>(
        &mut self,
        version: usize,
        range: Range,
        lines: &mut impl Iterator<Item = &'a str>,
    ) {
        let Some(file) = self.files.len().checked_sub(1) else {
            return;
        };
        let list = match version {
            0 => &mut self.removed,
            _ => &mut self.added,
        };
        for number in range.start..range.start + range.count {
            let text = lines
                .next()
                .and_then(|line| line.get(1..))
                .unwrap_or_default();
            let trimmed = text.trim();
            list.push(Line {
                file,
                number,
                indent: text.chars().count() as i64 - text.trim_start().chars().count() as i64,
                text: trimmed.to_owned(),
                partner: None,
                is_displaced: false,
            });
        }
    }

    /// Pairs the lines of a hunk that begin at these indices by their longest common subsequence.
    fn pair_within(&mut self, removed: usize, added: usize) {
        let (old, new) = (&self.removed[removed..], &self.added[added..]);
        if old.len() * new.len() > MOST_PAIRS {
            return;
        }
        for (one, other) in common(old, new, |one, other| one.text == other.text) {
            self.pair(removed + one, added + other);
        }
    }

    fn pair(&mut self, removed: usize, added: usize) {
        self.removed[removed].partner = Some(added);
        self.added[added].partner = Some(removed);
    }

    /// Pairs lines that were moved: those that only one removed and one added line has, then their neighbours.
    fn pair_moved(&mut self) {
        let unique = |lines: &[Line]| {
            let mut known: HashMap<String, Option<usize>> = HashMap::new();
            let free = lines
                .iter()
                .enumerate()
                .filter(|(_, line)| line.partner.is_none());
            for (index, line) in free.filter(|(_, line)| !line.text.is_empty()) {
                let only = known.entry(line.text.clone()).or_insert(Some(index));
                *only = only.filter(|&only| only == index);
            }
            known
        };
        let free: HashSet<usize> = (self.removed.iter().enumerate())
            .filter_map(|(index, line)| line.partner.is_none().then_some(index))
            .collect();
        let (old, new) = (unique(&self.removed), unique(&self.added));
        let mut anchors: Vec<(usize, usize)> = (old.iter())
            .filter_map(|(text, &one)| Some((one?, (*new.get(text)?)?)))
            .collect();
        anchors.sort_unstable();
        for &(one, other) in &anchors {
            self.pair(one, other);
        }
        for (one, other) in anchors {
            for step in [1, -1] {
                self.pair_neighbours(one, other, step);
            }
        }
        let were_free = |(index, line): (usize, &Line)| {
            line.partner
                .filter(|_| free.contains(&index))
                .map(|it| (index, it))
        };
        let moved: Vec<_> = self
            .removed
            .iter()
            .enumerate()
            .filter_map(were_free)
            .collect();
        self.mark_displaced(&moved);
    }

    /// Marks moved lines, given in the order of the removed ones, that were not moved with the whole of an item.
    fn mark_displaced(&mut self, moved: &[(usize, usize)]) {
        let follows = |before: &(usize, usize), after: &(usize, usize)| {
            let is_next =
                |one: &Line, other: &Line| one.file == other.file && one.number + 1 == other.number;
            is_next(&self.removed[before.0], &self.removed[after.0])
                && is_next(&self.added[before.1], &self.added[after.1])
        };
        let mut displaced = Vec::new();
        for run in moved.chunk_by(follows) {
            let is_code = |&&(one, _): &&(usize, usize)| {
                let text = &self.removed[one].text;
                !text.is_empty() && !text.starts_with("#[") && !text.starts_with("//")
            };
            // What comes before the first item, and runs without an item: a bracket alone is no statement.
            let of_no_item = run
                .iter()
                .filter(is_code)
                .take_while(|(one, _)| !self.removed[*one].begins_item());
            let says_something = |&&(one, _): &&(usize, usize)| {
                self.removed[one].text.contains(char::is_alphanumeric)
            };
            displaced.extend(of_no_item.filter(says_something).copied());
        }
        for (one, other) in displaced {
            self.removed[one].is_displaced = true;
            self.added[other].is_displaced = true;
        }
    }

    /// Pairs the lines after, or before, two that correspond, as far as their texts are equal.
    fn pair_neighbours(&mut self, mut one: usize, mut other: usize, step: isize) {
        let next = |lines: &[Line], index: usize| {
            let next = index.checked_add_signed(step)?;
            let (line, neighbour) = (&lines[index], lines.get(next)?);
            let number = line.number.checked_add_signed(step as i32)?;
            let follows = neighbour.file == line.file && neighbour.number == number;
            (follows && neighbour.partner.is_none()).then_some(next)
        };
        while let (Some(old), Some(new)) = (next(&self.removed, one), next(&self.added, other)) {
            if self.removed[old].text != self.added[new].text {
                return;
            }
            self.pair(old, new);
            (one, other) = (old, new);
        }
    }

    fn conclude(mut self) -> LineMap {
        for line in &self.removed {
            let Some(partner) = line.partner.map(|index| &self.added[index]) else {
                continue;
            };
            let (old, new) = (&self.files[line.file][0], &self.files[partner.file][1]);
            if let (Some(old), Some(new)) = (old, new) {
                let moved = Moved {
                    file: new.clone(),
                    line: partner.number,
                    shift: partner.indent - line.indent,
                };
                self.map.moved.insert((old.clone(), line.number), moved);
            }
        }
        let mut changed: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
        let mut add = |file: &Option<String>, first: u32, last: u32| {
            let Some(file) = file else { return };
            let ranges = changed.entry(file.clone()).or_default();
            match ranges.last_mut() {
                Some(before) if before.1 + 1 == first => before.1 = last,
                _ => ranges.push((first, last)),
            }
        };
        for line in self.added.iter().filter(|line| line.is_changed()) {
            add(&self.files[line.file][1], line.number, line.number);
        }
        // Where lines are only gone, the lines beside them are what is left of the change.
        let changed_of = |lines: &[Line], version: usize| {
            let changed = lines
                .iter()
                .filter(|line| line.is_changed() && !line.text.is_empty());
            let place =
                |line: &Line| Some((self.files[line.file][version].as_deref()?, line.number));
            changed.filter_map(place).collect::<HashSet<_>>()
        };
        let (gone, new) = (changed_of(&self.removed, 0), changed_of(&self.added, 1));
        for (old, map) in &self.map.files {
            let Some(name) = &map.name else { continue };
            for &Hunk {
                old: before,
                new: after,
            } in &map.hunks
            {
                let is_gone = before.numbers().any(|line| gone.contains(&(&**old, line)));
                let is_new = after.numbers().any(|line| new.contains(&(&**name, line)));
                if is_gone && !is_new {
                    add(
                        &map.name,
                        after.start.max(1),
                        after.start + after.count.max(2) - 1,
                    );
                }
            }
        }
        for ranges in changed.values_mut() {
            ranges.sort_unstable();
        }
        self.map.changed = changed;
        self.map
    }
}

impl Hunk {
    /// Reads what is between the marks of a hunk: `-3 +3,2`.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut range = |sign: char| {
            let word = words.next()?.strip_prefix(sign)?;
            let (start, count) = word.split_once(',').unwrap_or((word, "1"));
            Some(Range {
                start: start.parse().ok()?,
                count: count.parse().ok()?,
            })
        };
        Some(Hunk {
            old: range('-')?,
            new: range('+')?,
        })
    }
}

/// Returns the pairs of indices of a longest common subsequence.
pub fn common<T>(one: &[T], other: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<(usize, usize)> {
    let width = other.len() + 1;
    // Lengths of longest common subsequences of the rests, by the indices at which these begin.
    let mut lengths = vec![0u32; (one.len() + 1) * width];
    for i in (0..one.len()).rev() {
        for j in (0..other.len()).rev() {
            lengths[i * width + j] = match same(&one[i], &other[j]) {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < one.len() && j < other.len() {
        if same(&one[i], &other[j]) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Returns the ranges of lines of the items of Rust or functions of C around these lines: from the line that begins
/// the item, as far as a look at single lines shows, to the line before the next one.
pub fn items(source: &str, lines: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut starts: Vec<u32> = (1..)
        .zip(source.lines())
        .filter_map(|(number, line)| begins_item(line).then_some(number))
        .collect();
    let last = source.lines().count() as u32;
    starts.insert(0, 1);
    starts.push(last + 1);
    let of_item = |pair: &[u32]| (pair[0], pair[1].saturating_sub(1));
    let touches = |&(first, end): &(u32, u32)| {
        first <= end && lines.iter().any(|&(from, to)| from <= end && first <= to)
    };
    starts.windows(2).map(of_item).filter(touches).collect()
}

/// Returns the names that these lines call, as far as a look at the text before each bracket shows.
pub fn calls(source: &str, lines: &[(u32, u32)]) -> BTreeSet<String> {
    const NO_CALLS: [&str; 7] = ["if", "while", "match", "for", "return", "in", "fn"];
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    for (number, line) in (1..).zip(source.lines()) {
        if !lines
            .iter()
            .any(|(first, last)| (first..=last).contains(&&number))
        {
            continue;
        }
        for (at, _) in line.match_indices('(') {
            let before = &line[..at];
            let name = before.trim_end_matches(is_of_name).len();
            let is_definition = before[..name].trim_end().ends_with("fn");
            let name = &before[name..];
            if !name.is_empty() && !is_definition && !NO_CALLS.contains(&name) {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// Returns the name and the ranges of lines of each function of Rust with one of these names.
pub fn definitions(source: &str, names: &BTreeSet<String>) -> Vec<(String, (u32, u32))> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(source.lines()) {
        let Some((_, rest)) = line.split_once("fn ").filter(|_| begins_item(line)) else {
            continue;
        };
        let name = rest.split(['(', '<']).next().unwrap_or_default().trim();
        if names.contains(name) {
            let items = items(source, &[(number, number)]);
            found.extend(items.into_iter().map(|it| (name.to_owned(), it)));
        }
    }
    found
}

fn begins_item(line: &str) -> bool {
    const WORDS: [&str; 8] = [
        "fn", "impl", "struct", "enum", "const", "static", "mod", "trait",
    ];
    const BEFORE: [&str; 5] = ["pub", "async", "unsafe", "extern", "const"];
    let mut words = line.split_whitespace();
    let mut word = words.next();
    while let Some(text) = word {
        let bare = text.split(['(', '<', '!']).next().unwrap_or_default();
        if WORDS.contains(&bare) {
            return true;
        }
        if !BEFORE.contains(&bare) && !text.starts_with('"') {
            break;
        }
        word = words.next();
    }
    // In C, a function begins in the first column and ends in a bracket.
    let is_in_first_column = line.starts_with(|c: char| c.is_alphabetic() || c == '_');
    is_in_first_column && line.contains('(') && !line.trim_end().ends_with([';', ','])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beside_a_change_keep_their_places() {
        let diff = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
                    @@ -3 +3,2 @@ fn x\n-old\n+new\n+newer\n@@ -9,2 +10,0 @@\n-gone\n-gone too\n\
                    @@ -20,0 +20 @@\n+--- a/no file\n";
        let map = LineMap::from_diff(diff);
        let place = |line: u32| map.place(&format!("src/a.rs:{line}:5"));
        let at = |line: u32| Some(format!("src/a.rs:{line}:5"));
        assert_eq!(place(2), at(2));
        assert_eq!(place(3), None);
        assert_eq!(place(4), at(5));
        assert_eq!(place(8), at(9));
        assert_eq!(place(9), None);
        assert_eq!(place(10), None);
        assert_eq!(place(11), at(10));
        assert_eq!(place(20), at(19));
        assert_eq!(place(21), at(21));
        assert_eq!(map.place("src/b.rs:3:1").as_deref(), Some("src/b.rs:3:1"));
        let changed: Vec<_> = map.changed().collect();
        assert_eq!(changed, [("src/a.rs", &[(3, 4), (10, 11), (20, 20)][..])]);
        assert_eq!(map.files().next(), Some("src/a.rs"));
    }

    #[test]
    fn a_statement_that_moves_is_a_change() {
        // Two locks change places: lines that are the same, and a deadlock with code that takes them as before.
        let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -3 +2,0 @@\n-    let a = one.lock();\n\
                    @@ -4,0 +4 @@\n+    let a = one.lock();\n";
        let map = LineMap::from_diff(diff);
        assert_eq!(map.place("a.rs:3:17").as_deref(), Some("a.rs:4:17"));
        assert_eq!(map.place("a.rs:4:17").as_deref(), Some("a.rs:3:17"));
        let changed: Vec<_> = map.changed().collect();
        assert_eq!(changed, [("a.rs", &[(2, 3), (4, 4)][..])]);

        // A block without its lock: what is left is the same, with another indentation.
        let unlocked = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -2,3 +2 @@\n-    {\n\
                        -        let _g = x.lock();\n-        y.store();\n+    y.store();\n@@ -5 +2,0 @@\n-    }\n";
        let map = LineMap::from_diff(unlocked);
        assert_eq!(map.place("a.rs:4:11").as_deref(), Some("a.rs:2:7"));
        let changed: Vec<_> = map.changed().collect();
        assert_eq!(changed, [("a.rs", &[(2, 3), (2, 3)][..])]);
    }

    #[test]
    fn a_last_line_without_an_end_is_read() {
        let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -2,2 +2,2 @@\n-  x.lock();\n-}\n\
                    \\ No newline at end of file\n+\tx.lock();\n+} // end\n\\ No newline at end of file\n\
                    diff --git a/b.rs b/b.rs\n--- a/b.rs\n+++ b/b.rs\n@@ -7 +6,0 @@\n-y\n";
        let map = LineMap::from_diff(diff);
        assert_eq!(map.place("a.rs:2:5").as_deref(), Some("a.rs:2:4"));
        assert_eq!(map.place("b.rs:8:1").as_deref(), Some("b.rs:7:1"));
        let changed: Vec<_> = map.changed().collect();
        assert_eq!(changed, [("a.rs", &[(3, 3)][..]), ("b.rs", &[(6, 7)][..])]);
    }

    #[test]
    fn moved_and_indented_lines_are_the_same_lines() {
        // A function moves to another file; its two equal lines go with the lines beside them.
        let diff = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -5,5 +4,0 @@\n\
                    -fn moved() {\n-    a.lock();\n-    b.lock();\n-    a.lock();\n-}\n\
                    diff --git a/src/b.rs b/src/b.rs\n--- a/src/b.rs\n+++ b/src/b.rs\n@@ -0,0 +1,7 @@\n\
                    +mod inner {\n+    fn moved() {\n+        a.lock();\n+        b.lock();\n+        a.lock();\n\
                    +        a.lock();\n+    }\n";
        let map = LineMap::from_diff(diff);
        assert_eq!(map.place("src/a.rs:5:1").as_deref(), Some("src/b.rs:2:5"));
        assert_eq!(map.place("src/a.rs:6:7").as_deref(), Some("src/b.rs:3:11"));
        assert_eq!(map.place("src/a.rs:7:7").as_deref(), Some("src/b.rs:4:11"));
        assert_eq!(map.place("src/a.rs:8:7").as_deref(), Some("src/b.rs:5:11"));
        let changed: Vec<_> = map.changed().collect();
        // The bracket is nowhere else, so it is the same, too.
        assert_eq!(changed, [("src/b.rs", &[(1, 1), (6, 6)][..])]);

        let indented = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -2,2 +2,4 @@\n\
                        -    x.load();\n-    x.load();\n+    if y {\n+        x.load();\n+        x.load();\n+    }\n";
        let map = LineMap::from_diff(indented);
        assert_eq!(map.place("a.rs:2:7").as_deref(), Some("a.rs:3:11"));
        assert_eq!(map.place("a.rs:3:7").as_deref(), Some("a.rs:4:11"));
    }

    #[test]
    fn renamed_and_removed_files_are_followed() {
        let diff = "diff --git a/old name.rs b/new name.rs\nsimilarity index 100%\nrename from old name.rs\n\
                    rename to new name.rs\ndiff --git a/gone.rs b/gone.rs\ndeleted file mode 100644\n\
                    --- a/gone.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-fn only_here() {}\n";
        let map = LineMap::from_diff(diff);
        let place = map.place("old name.rs:7:3");
        assert_eq!(place.as_deref(), Some("new name.rs:7:3"));
        assert_eq!(map.place("gone.rs:1:4"), None);
        assert_eq!(map.changed().count(), 0);
        let files: Vec<_> = map.files().collect();
        assert_eq!(files, ["gone.rs", "old name.rs", "new name.rs"]);
    }

    #[test]
    fn called_functions_are_found() {
        let source = "fn a() {\n    if (x) { self.b().c(1); d!(e); }\n}\nimpl X {\n    pub fn b(&self) {\n        f();\n    }\n\
                      }\nfn c<T>(t: T) {}\nfn f() {}\n";
        let names = calls(source, &[(1, 3)]);
        assert_eq!(names, ["b", "c"].map(str::to_owned).into());
        let found = definitions(source, &names);
        let expected = [("b", (5, 8)), ("c", (9, 9))].map(|(name, lines)| (name.to_owned(), lines));
        assert_eq!(found, expected);
    }

    /// The items of the lines, in a source with a line for each kind of beginning.
    #[test]
    fn items_around_lines_are_found() {
        let source = "use a;\n\npub(crate) async fn a() {\n    x();\n}\nimpl<T> B<T> {\n    const fn c() {\n        y();\n\
                      \n    }\n}\nint main(void) {\n    z();\n}\n";
        assert_eq!(items(source, &[(4, 4)]), [(3, 5)]);
        assert_eq!(items(source, &[(8, 8)]), [(7, 11)]);
        assert_eq!(items(source, &[(13, 13)]), [(12, 14)]);
        assert_eq!(items(source, &[(1, 1), (5, 6)]), [(1, 2), (3, 5), (6, 6)]);
        assert_eq!(items(source, &[]), []);
        assert_eq!(items("", &[(1, 1)]), []);
    }
}
