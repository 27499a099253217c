//! Requirements as the file has them: places by what stands there, not by the number of the line.
//!
//! A line that moves because something was added above it is the same line. So a place is the file, the
//! text of its line, which of several equal lines it is, and the column counted from where the text
//! begins. If the source could not be read, the text is empty and the number is the line's.

use std::fmt;

/// Between the parts of a key; no part has it.
const SEPARATOR: char = '\t';

/// A place in the source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Anchor {
    /// As the compiler calls the file.
    pub file: String,
    /// The text of the line without the blanks around it; empty if that is not known.
    pub text: String,
    /// How many lines before it have the same text; the number of the line if that is not known.
    pub number: u32,
    /// The column, from the beginning of the text, or of the line if that is not known.
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
    /// The metric's name.
    pub metric: String,
    /// The place, or the first of two.
    pub first: Anchor,
    /// The second, if there are two.
    pub second: Option<Anchor>,
}

impl RequirementKey {
    /// The text that is kept.
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

    /// Reads it back; `None` if it is none.
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
    fn keys_can_be_read_back() {
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
    fn tabs_in_the_source_do_no_harm() {
        let key = RequirementKey {
            metric: "blocked".to_owned(),
            first: anchor("a\tb", 0),
            second: None,
        };
        let read = RequirementKey::parse(&key.to_key()).unwrap();
        assert_eq!(read.first.text, "a b");
    }
}
