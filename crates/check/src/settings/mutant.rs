//! Changed operations of the program under test, as `cargo raddle mutants` and `cargo raddle orderings` try them.

use std::fmt;
use std::str::FromStr;

use raddle_engine::{Change, ChangedSite, Operation};

/// The value that asks for a list of changes.
const LIST: &str = "list";

/// What a check does about changed operations.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum Mutant {
    /// The program runs as it is.
    #[default]
    None,
    /// It runs as it is, and the changes that could be made are listed among the events.
    List,
    /// It runs with these changes.
    Changed(Vec<ChangedSite<String>>),
}

impl Mutant {
    /// Returns the changes, each with its place as text.
    pub(crate) fn changes(&self) -> &[ChangedSite<String>] {
        match self {
            Mutant::Changed(changes) => changes,
            Mutant::None | Mutant::List => &[],
        }
    }
}

impl FromStr for Mutant {
    type Err = String;

    /// Reads `list`, or changes with `;` between them, each `FILE:LINE:COLUMN OPERATION CHANGE`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == LIST {
            return Ok(Mutant::List);
        }
        let change = |text: &str| {
            let mut words = text.trim().rsplitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some(change), Some(label), Some(site)) => Ok(ChangedSite {
                    site: site.to_owned(),
                    label: label.to_owned(),
                    change: change.parse()?,
                }),
                _ => Err(format!("`{text}` is not FILE:LINE:COLUMN OPERATION CHANGE")),
            }
        };
        let changes: Result<_, String> = text.split(';').map(change).collect();
        changes.map(Mutant::Changed)
    }
}

/// A change that could be made, for lists.
pub(crate) struct PossibleChange<'a> {
    pub(crate) place: &'a str,
    pub(crate) operation: &'a Operation,
    pub(crate) change: Change,
}

/// The text that [`Mutant`] reads.
impl fmt::Display for PossibleChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.place,
            self.operation.label(),
            self.change
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read() {
        assert_eq!("list".parse(), Ok(Mutant::List));
        let two: Mutant =
            r"src/a b.rs:7:9 store Relaxed; C:\x.rs:1:2 compare-exchange failure=Acquire"
                .parse()
                .unwrap();
        let texts: Vec<_> = (two.changes().iter())
            .map(|it| (it.site.as_str(), it.label.as_str(), it.change.to_string()))
            .collect();
        let expected = [
            ("src/a b.rs:7:9", "store", "Relaxed".to_owned()),
            (
                r"C:\x.rs:1:2",
                "compare-exchange",
                "failure=Acquire".to_owned(),
            ),
        ];
        assert_eq!(texts, expected);
        for bad in [
            "",
            "a.rs:1:2",
            "a.rs:1:2 store",
            "a.rs:1:2 store Weak",
            "a.rs:1:2 store Relaxed;",
        ] {
            assert!(bad.parse::<Mutant>().is_err(), "{bad}");
        }
    }
}
