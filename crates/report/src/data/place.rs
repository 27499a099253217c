//! Places in the program's source.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in the user's source.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// As the compiler calls the file.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1.
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
    /// The file without its folders.
    pub(crate) fn file_name(&self) -> &str {
        let name = self.file.rsplit(['/', '\\']).next();
        name.unwrap_or(&self.file)
    }
}

/// A place in the source, to the column.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct CodePlace {
    /// As the compiler calls the file.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1.
    pub column: u32,
}

impl CodePlace {
    /// Reads `file:line:column`.
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
