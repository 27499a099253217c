//! Source locations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A source location. `Display` writes the file and the line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Path of the file, as the compiler prints it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl From<CodePlace> for Place {
    fn from(CodePlace { file, line, column }: CodePlace) -> Self {
        Place { file, line, column }
    }
}

impl Place {
    /// Returns the file's name without its folders.
    pub(crate) fn file_name(&self) -> &str {
        let name = self.file.rsplit(['/', '\\']).next();
        name.unwrap_or(&self.file)
    }
}

/// A source location with its column, as part of a key. `Display` writes file, line and column.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct CodePlace {
    /// Path of the file, as the compiler prints it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl CodePlace {
    /// Parses `file:line:column`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(3, ':');
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        let (column, line) = (number()?, number()?);
        let file = parts.next()?.to_owned();
        Some(CodePlace { file, line, column })
    }
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
