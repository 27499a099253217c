//! What is known of a change, in the words of `RADDLE_SINCE`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use raddle::Checker;
use raddle_report::Covered;
use raddle_runs::lines;

use super::{EARLIER, NO_LIMIT, metrics};

/// A range of lines of a file.
pub(super) type Lines = (String, u32, u32);

/// A change between two versions.
pub(super) struct Change {
    file: PathBuf,
    near: Vec<Lines>,
}

/// A line, by its file and number.
type Line = (String, u32);

impl Change {
    /// Explores both versions; `None` if they use the same lines.
    pub(super) fn of(
        before: &(dyn Fn() + Sync),
        after: &(dyn Fn() + Sync),
        name: &str,
    ) -> Option<Self> {
        let explore = |body: &(dyn Fn() + Sync), executions: u64| {
            Checker::new()
                .coverage(metrics())
                .max_executions(executions)
                .max_time(NO_LIMIT)
                .shorten(false)
                .keep_going(true)
                .run(body)
        };
        let earlier = explore(before, EARLIER);
        assert!(earlier.failures.is_empty(), "the twin of {name} fails");
        // A diff shows all new lines; here the lines that some executions use stand for them.
        let later = explore(after, EARLIER);
        let lines_of = |report: &raddle::Report| {
            let places = report.coverage().places();
            let lines = places.keys().map(|place| (place.file.clone(), place.line));
            lines.collect::<BTreeSet<Line>>()
        };
        let (old, new) = (lines_of(&earlier), lines_of(&later));
        let map = Map::of(&old, &new);
        let is_of_story = |(file, _): &&Line| file.contains("stories");
        let is_seen = old
            .symmetric_difference(&new)
            .any(|line| is_of_story(&line));
        if !is_seen {
            return None;
        }
        let near = map.near();
        let mut text = String::new();
        for (file, first, last) in &near {
            let _ = writeln!(text, "near\t{file}\t{first}\t{last}");
        }
        for (goal, covered) in earlier.coverage().goals() {
            let kind = match covered {
                Covered::Yes => "covered",
                Covered::NotTried => "feasible",
                _ => continue,
            };
            let place = |place: &raddle_report::CodePlace| {
                let (file, line) = map.line(&(place.file.clone(), place.line))?;
                Some(format!("{file}:{line}:{}", place.column))
            };
            let Some(first) = place(&goal.first) else {
                continue;
            };
            let second = match goal.second.as_ref().map(place) {
                Some(None) => continue,
                Some(Some(second)) => format!("\t{second}"),
                None => String::new(),
            };
            let _ = writeln!(text, "{kind}\t{}\t{first}{second}", goal.metric);
        }
        let file = format!("raddle-bench-{}-{name}", std::process::id());
        let file = std::env::temp_dir().join(file);
        std::fs::write(&file, text).expect("the folder for temporary files is writable");
        Some(Change { file, near })
    }

    /// Returns the path of the file for `RADDLE_SINCE`.
    pub(super) fn file(&self) -> &str {
        self.file.to_str().expect("the path is ours")
    }

    /// Returns the lines near the change.
    pub(super) fn near(&self) -> &[Lines] {
        &self.near
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The lines of two versions that correspond.
struct Map {
    lines: BTreeMap<Line, Line>,
    /// Lines of the later version without a partner.
    changed: BTreeSet<Line>,
    sources: BTreeMap<String, String>,
}

impl Map {
    fn of(old: &BTreeSet<Line>, new: &BTreeSet<Line>) -> Self {
        let files: BTreeSet<_> = old
            .iter()
            .chain(new)
            .map(|(file, _)| file.clone())
            .collect();
        let read = |file: String| {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            (file, text)
        };
        let sources: BTreeMap<_, _> = files.into_iter().map(read).collect();
        let text = |(file, line): &Line| {
            let line = sources[file].lines().nth(*line as usize - 1);
            line.unwrap_or_default().trim().to_owned()
        };
        let mut lines: BTreeMap<_, _> = (old.intersection(new))
            .map(|line| (line.clone(), line.clone()))
            .collect();
        let gone: Vec<_> = old.difference(new).collect();
        let added: Vec<_> = new.difference(old).collect();
        let mut changed: BTreeSet<Line> = added.iter().map(|&line| line.clone()).collect();
        let same = |one: &&Line, other: &&Line| one.0 == other.0 && text(one) == text(other);
        for (one, other) in lines::common(&gone, &added, same) {
            lines.insert(gone[one].clone(), added[other].clone());
            changed.remove(added[other]);
        }
        if !changed.iter().any(|(file, _)| file.contains("stories")) {
            // Something was only removed: what is left of the place is unknown here, a diff would show it.
            let of_story = new.iter().filter(|(file, _)| file.contains("stories"));
            changed.extend(of_story.cloned());
        }
        Map {
            lines,
            changed,
            sources,
        }
    }

    /// Returns the partner of a line.
    fn line(&self, line: &Line) -> Option<&Line> {
        self.lines.get(line)
    }

    /// Returns the items around the changed lines, and the functions that they call.
    fn near(&self) -> Vec<Lines> {
        let of_file = |(file, source): (&String, &String)| {
            let changed = self.changed.iter().filter(|(name, _)| name == file);
            let changed: Vec<_> = changed.map(|&(_, line)| (line, line)).collect();
            let mut items = lines::items(source, &changed);
            // All of an item is new here; `cargo raddle` takes the lines of a diff.
            let called = lines::definitions(source, &lines::calls(source, &items));
            items.extend(called.into_iter().map(|(_, lines)| lines));
            let file = file.clone();
            items
                .into_iter()
                .map(move |(first, last)| (file.clone(), first, last))
        };
        self.sources.iter().flat_map(of_file).collect()
    }
}
