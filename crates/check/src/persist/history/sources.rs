//! Translation between places and the text of their lines.

use std::collections::HashMap;

use raddle_runs::Anchor;

use crate::program::variable;

/// The files read so far; `None` for an unreadable one.
#[derive(Default)]
pub(super) struct Sources(HashMap<String, Option<Lines>>);

struct Lines(Vec<Line>);

struct Line {
    /// Number of characters before the text.
    indent: u32,
    text: String,
}

impl Lines {
    fn new(source: &str) -> Self {
        let line = |line: &str| {
            let text = line.trim_start();
            Line {
                indent: (line.chars().count() - text.chars().count()) as u32,
                text: text.trim_end().replace('\t', " "),
            }
        };
        Lines(source.lines().map(line).collect())
    }

    /// Returns the anchor of a line and column; `None` if the line does not exist.
    fn anchor(&self, file: &str, line: u32, column: u32) -> Option<Anchor> {
        let index = line.checked_sub(1)? as usize;
        let Line { indent, text } = self.0.get(index)?;
        let same = |other: &&Line| other.text == *text;
        Some(Anchor {
            file: file.to_owned(),
            text: Some(text.clone()).filter(|text| !text.is_empty())?,
            number: self.0[..index].iter().filter(same).count() as u32,
            column: column.checked_sub(*indent)?,
        })
    }

    /// Returns the line and the column of an anchor; `None` if no line has its text.
    fn find(&self, anchor: &Anchor) -> Option<(u32, u32)> {
        let lines = self.0.iter().enumerate();
        let mut same = lines.filter(|(_, line)| line.text == anchor.text);
        let (index, line) = same.nth(anchor.number as usize)?;
        Some((index as u32 + 1, anchor.column + line.indent))
    }
}

impl Sources {
    fn lines(&mut self, file: &str) -> Option<&Lines> {
        if !self.0.contains_key(file) {
            let lines = variable::source(file).map(|source| Lines::new(&source));
            self.0.insert(file.to_owned(), lines);
        }
        self.0.get(file)?.as_ref()
    }

    /// Returns the anchor of `file:line:column`.
    pub(super) fn anchor(&mut self, place: &str) -> Anchor {
        let mut parts = place.rsplitn(3, ':');
        let mut number = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
        let (column, line) = (number(), number());
        let file = parts.next().unwrap_or(place);
        let known = self.lines(file);
        let anchor = known.and_then(|lines| lines.anchor(file, line, column));
        anchor.unwrap_or_else(|| Anchor {
            file: file.to_owned(),
            text: String::new(),
            number: line,
            column,
        })
    }

    /// Returns the present place of an anchor as `file:line:column`; `None` if it is gone.
    pub(super) fn place(&mut self, anchor: &Anchor) -> Option<String> {
        let (line, column) = match anchor.text.is_empty() {
            true => (anchor.number, anchor.column),
            false => self.lines(&anchor.file)?.find(anchor)?,
        };
        Some(format!("{}:{line}:{column}", anchor.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> Sources {
        let lines = Some(Lines::new(text));
        Sources(HashMap::from([("a.rs".to_owned(), lines)]))
    }

    #[test]
    fn a_line_that_moves_is_the_same_line() {
        let mut before = sources("fn a() {\n    lock();\n    other();\n    lock();\n}\n");
        let first = before.anchor("a.rs:2:7");
        let second = before.anchor("a.rs:4:5");
        assert_eq!(
            (first.text.as_str(), first.number, first.column),
            ("lock();", 0, 3)
        );
        assert_eq!((second.number, second.column), (1, 1));
        for anchor in [&first, &second] {
            let place = before.place(anchor).unwrap();
            assert_eq!(before.anchor(&place), *anchor);
        }
        let mut after = sources("use b;\n\nfn a() {\n  if x {\n      lock();\n      lock();\n}\n");
        assert_eq!(after.place(&first).as_deref(), Some("a.rs:5:9"));
        assert_eq!(after.place(&second).as_deref(), Some("a.rs:6:7"));
        let mut gone = sources("fn a() {\n    lock();\n}\n");
        assert_eq!(gone.place(&first).as_deref(), Some("a.rs:2:7"));
        assert_eq!(gone.place(&second), None);
    }

    #[test]
    fn without_its_source_a_place_is_its_numbers() {
        let mut none = Sources::default();
        let anchor = none.anchor(r"C:\no such file.rs:7:9");
        assert_eq!(
            (anchor.text.as_str(), anchor.number, anchor.column),
            ("", 7, 9)
        );
        assert_eq!(
            none.place(&anchor).as_deref(),
            Some(r"C:\no such file.rs:7:9")
        );
    }
}
