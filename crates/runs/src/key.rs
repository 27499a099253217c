//! Keys of requirements. A place is identified by its text, not by its line number.
//!
//! A line keeps its identity when lines are inserted above it. A place therefore consists of the
//! file, the text of the line, its index among equal lines, and the column relative to the text. If
//! the source cannot be read, the text is empty and the index is the line number.

use std::fmt;

/// Separator between the parts of a key; no part contains it.
const SEPARATOR: char = '\t';

/// A place in the source, identified by its text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Anchor {
    /// Path of the file, as the compiler prints it.
    pub file: String,
    /// Text of the line, trimmed; empty if it is not known.
    pub text: String,
    /// Number of earlier lines with the same text; the line number if the text is not known.
    pub number: u32,
    /// Column relative to the start of the text; relative to the line if the text is not known.
    pub column: u32,
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Anchor {
            file, text, number, ..
        } = self;
        match text.is_empty() {
            true => write!(f, "{file}:{number}"),
            false => write!(f, "{file} `{text}`"),
        }
    }
}

/// A requirement: a metric and one or two places.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequirementKey {
    /// Name of the metric.
    pub metric: String,
    /// The only place, or the first of two.
    pub first: Anchor,
    /// The second place, if there are two.
    pub second: Option<Anchor>,
}

impl RequirementKey {
    /// Returns the key that is stored.
    pub fn to_key(&self) -> String {
        let mut key = self.metric.clone();
        for anchor in [Some(&self.first), self.second.as_ref()]
            .into_iter()
            .flatten()
        {
            let Anchor { file, text, .. } = anchor;
            let (number, column) = (anchor.number.to_string(), anchor.column.to_string());
            for part in [file, text, &number, &column] {
                key.push(SEPARATOR);
                key.extend(part.chars().map(|c| if c == SEPARATOR { ' ' } else { c }));
            }
        }
        key
    }

    /// Parses a key.
    pub fn parse(key: &str) -> Option<Self> {
        let mut parts = key.split(SEPARATOR);
        let metric = parts.next()?.to_owned();
        let anchors: Vec<&str> = parts.collect();
        let anchor = |parts: &[&str]| {
            let &[file, text, number, column] = parts else {
                return None;
            };
            Some(Anchor {
                file: file.to_owned(),
                text: text.to_owned(),
                number: number.parse().ok()?,
                column: column.parse().ok()?,
            })
        };
        let (first, second) = match anchors.len() {
            4 => (anchor(&anchors)?, None),
            8 => (anchor(&anchors[..4])?, Some(anchor(&anchors[4..])?)),
            _ => return None,
        };
        Some(RequirementKey {
            metric,
            first,
            second,
        })
    }
}

impl fmt::Display for RequirementKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric, self.first)?;
        match &self.second {
            Some(second) => write!(f, " -> {second}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchor(text: &str, number: u32) -> Anchor {
        Anchor {
            file: "src/a b.rs".to_owned(),
            text: text.to_owned(),
            number,
            column: 7,
        }
    }

    #[test]
    fn keys_round_trip() {
        let pair = RequirementKey {
            metric: "sync-pair".to_owned(),
            first: anchor("let a = lock.lock();", 2),
            second: Some(anchor("", 17)),
        };
        let single = RequirementKey {
            metric: "blocked".to_owned(),
            second: None,
            ..pair.clone()
        };
        for key in [&pair, &single] {
            assert_eq!(RequirementKey::parse(&key.to_key()).as_ref(), Some(key));
        }
        assert_eq!(
            pair.to_string(),
            "sync-pair src/a b.rs `let a = lock.lock();` -> src/a b.rs:17"
        );
        for wrong in [
            "",
            "blocked",
            "blocked\ta\tb\tc\t1",
            "blocked\ta\tb\t1\t1\tx",
        ] {
            assert_eq!(RequirementKey::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tabs_in_the_source_become_blanks() {
        let key = RequirementKey {
            metric: "blocked".to_owned(),
            first: anchor("a\tb", 0),
            second: None,
        };
        let read = RequirementKey::parse(&key.to_key()).unwrap();
        assert_eq!(read.first.text, "a b");
    }
}
