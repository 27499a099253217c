//! The name of a search in a queue.

use std::fmt;

/// The name of a search: the test whose process runs it, and the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchName {
    pub binary: String,
    pub test: String,
    pub check: String,
    /// The number of the check among those of its name.
    pub number: u32,
}

/// The name in place of a binary's for the search of a program, whose check has the name of its file.
const PROGRAM: &str = "program";

impl SearchName {
    /// Returns the name of the binary and the test of this program.
    pub fn of_program(program: &str) -> (&str, &str) {
        (PROGRAM, program)
    }

    /// True for a search of this program.
    pub fn is_of_program(&self, program: &str) -> bool {
        (self.binary.as_str(), self.test.as_str()) == Self::of_program(program)
    }

    /// The word in place of a binary's name for changes of operations.
    pub const MUTANTS: &str = "mutants";

    /// Returns the name of the search whose items are changes of operations.
    pub fn of_mutants() -> Self {
        SearchName {
            binary: Self::MUTANTS.to_owned(),
            test: "all".to_owned(),
            check: "all".to_owned(),
            number: 1,
        }
    }

    /// Returns the command of the front end.
    pub fn command(&self) -> &'static str {
        match self.binary.as_str() {
            PROGRAM => "cargo raddle run --queue",
            Self::MUTANTS => "cargo raddle mutants --queue",
            _ => "cargo raddle test --queue",
        }
    }

    /// Returns the name as text for the queue.
    pub fn to_text(&self) -> String {
        let plain = |text: &str| text.replace(['\t', '\n'], " ");
        let SearchName {
            binary,
            test,
            check,
            number,
        } = self;
        let (binary, test, check) = (plain(binary), plain(test), plain(check));
        format!("{binary}\t{test}\t{check}\t{number}")
    }

    /// Parses a text of the queue.
    pub fn of_text(text: &str) -> Option<Self> {
        let mut parts = text.split('\t').map(str::to_owned);
        let name = SearchName {
            binary: parts.next()?,
            test: parts.next()?,
            check: parts.next()?,
            number: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(name)
    }
}

impl fmt::Display for SearchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SearchName {
            binary,
            test,
            check,
            number,
        } = self;
        write!(f, "{binary} {test}")?;
        if check != test {
            write!(f, ", {check}")?;
        }
        match number {
            1 => Ok(()),
            number => write!(f, ", check {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let name = SearchName {
            binary: "suite".to_owned(),
            test: "a::b".to_owned(),
            check: "own name".to_owned(),
            number: 2,
        };
        assert_eq!(SearchName::of_text(&name.to_text()), Some(name.clone()));
        assert_eq!(name.to_string(), "suite a::b, own name, check 2");
        for bad in ["", "a", "a\tb\tc", "a\tb\tc\td", "a\tb\tc\t1\t"] {
            assert_eq!(SearchName::of_text(bad), None, "{bad:?}");
        }
    }
}
