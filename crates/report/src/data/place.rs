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

/// Parts of paths of files that are not the user's: Rust's standard library, packages that cargo has
/// downloaded, and headers and libraries of the system.
const FOREIGN: [&str; 8] = [
    "/rustlib/src/rust/",
    "/registry/src/",
    "/git/checkouts/",
    "/usr/include/",
    "/usr/lib/",
    "/usr/src/",
    "/lib/gcc/",
    "/sysdeps/",
];

impl Place {
    /// True when the file is one of the standard library, a dependency or the system.
    pub(crate) fn is_foreign(&self) -> bool {
        let file = self.file.replace('\\', "/");
        file.starts_with("/rustc/") || FOREIGN.iter().any(|part| file.contains(part))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_std_and_of_dependencies_are_foreign() {
        for (file, is_foreign) in [
            ("src/lib.rs", false),
            ("/home/me/project/src/registry.rs", false),
            ("/home/me/usr/queue.c", false),
            ("../queue/src/lib.rs", false),
            (
                "/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/std/src/sync/mpmc/mod.rs",
                true,
            ),
            (
                "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/cell.rs",
                true,
            ),
            (
                "/home/me/.cargo/registry/src/example-6f17d22bba15001f/spin-0.9.8/src/mutex.rs",
                true,
            ),
            (
                r"C:\Users\me\.cargo\registry\src\example-6f17d22bba15001f\spin-0.9.8\src\lib.rs",
                true,
            ),
            (
                "/home/me/.cargo/git/checkouts/queue-1a2b/3c4d/src/lib.rs",
                true,
            ),
            ("/usr/include/c++/12/bits/shared_ptr_base.h", true),
            ("../sysdeps/x86_64/multiarch/memmove.S", true),
        ] {
            let place = Place {
                file: file.to_owned(),
                line: 1,
                column: 1,
            };
            assert_eq!(place.is_foreign(), is_foreign, "{file}");
        }
    }
}
