//! The code of tests in the sources of a workspace, by the usual layout of crates and by attributes.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{ImplItem, Item};

use super::syntax::is_of_tests;
use super::text::Source;

/// Folders of tests.
const FOLDERS: [&str; 3] = ["tests", "examples", "benches"];
/// Names of files whose modules are in the folder that they are in.
const ROOTS: [&str; 3] = ["lib", "main", "mod"];

/// The code of tests below a directory. Files are parsed when they are asked for.
pub struct CodeOfTests {
    root: PathBuf,
    files: HashMap<PathBuf, File>,
}

/// The code of tests in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct File {
    /// True for a file with `#![cfg(test)]`.
    is_whole: bool,
    lines: Vec<RangeInclusive<u32>>,
    /// Modules that are in files of their own, for tests only.
    modules: Vec<String>,
}

impl CodeOfTests {
    pub fn new(root: &Path) -> Self {
        CodeOfTests {
            root: root.to_owned(),
            files: HashMap::new(),
        }
    }

    /// True when a line of a file is code of tests.
    pub fn contains(&mut self, file: &str, line: u32) -> bool {
        let is_here = |lines: &RangeInclusive<u32>| lines.contains(&line);
        self.is_all_of(file) || self.file(Path::new(file)).lines.iter().any(is_here)
    }

    /// True when all of a file is code of tests.
    pub fn is_all_of(&mut self, file: &str) -> bool {
        let file = Path::new(file);
        let within = file.strip_prefix(&self.root).unwrap_or(file);
        let mut folders = within.components();
        folders.any(|it| FOLDERS.iter().any(|name| it.as_os_str() == *name))
            || self.is_module_of_tests(file)
    }

    /// True when a file, or a module that it is in, is declared for tests only.
    fn is_module_of_tests(&mut self, file: &Path) -> bool {
        if self.file(file).is_whole {
            return true;
        }
        let stem = file.file_stem().and_then(|it| it.to_str());
        let (Some(stem), Some(folder)) = (stem, file.parent()) else {
            return false;
        };
        let (name, folder) = match stem {
            // The root of a package.
            "lib" | "main" => return false,
            "mod" => match (
                folder.file_name().and_then(|it| it.to_str()),
                folder.parent(),
            ) {
                (Some(name), Some(above)) => (name, above),
                _ => return false,
            },
            _ => (stem, folder),
        };
        let beside = ROOTS.map(|it| folder.join(it).with_extension("rs"));
        let above = folder.with_extension("rs");
        let mut parents = beside.into_iter().chain([above]);
        parents.any(|parent| {
            parent != file
                && self.root.join(&parent).exists()
                && (self.file(&parent).modules.iter().any(|it| it == name)
                    || self.is_module_of_tests(&parent))
        })
    }

    fn file(&mut self, file: &Path) -> &File {
        let path = self.root.join(file);
        self.files.entry(file.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            File::of(&text).unwrap_or_default()
        })
    }
}

impl File {
    /// Returns the code of tests in a source; `None` if it is no Rust.
    fn of(text: &str) -> Option<Self> {
        let (source, file) = Source::parse(text)?;
        let mut finder = Finder {
            source,
            found: File {
                is_whole: is_of_tests(&file.attrs),
                ..File::default()
            },
        };
        finder.visit_file(&file);
        Some(finder.found)
    }
}

struct Finder<'a> {
    source: Source<'a>,
    found: File,
}

impl Finder<'_> {
    fn add(&mut self, piece: &impl syn::spanned::Spanned) {
        let range = self.source.range(piece);
        let line = |byte| self.source.position(byte).0;
        self.found.lines.push(line(range.start)..=line(range.end));
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(it) => &it.attrs,
            Item::Mod(it) => &it.attrs,
            Item::Impl(it) => &it.attrs,
            Item::Trait(it) => &it.attrs,
            Item::Macro(it) => &it.attrs,
            Item::Static(it) => &it.attrs,
            Item::Const(it) => &it.attrs,
            _ => return,
        };
        if !is_of_tests(attributes) {
            return visit::visit_item(self, item);
        }
        match item {
            Item::Mod(it) if it.content.is_none() => self.found.modules.push(it.ident.to_string()),
            _ => self.add(item),
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(it) if is_of_tests(&it.attrs) => self.add(it),
            _ => visit::visit_impl_item(self, item),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LIB: &str = "\
#[cfg(test)]
use std::thread;
#[cfg(test)]
mod checks;
mod deque;
fn push() {
    store();
}
#[cfg(all(test, loom))]
mod inner {
    fn f() {}
}
impl Deque {
    fn pop() {}
    #[cfg(test)]
    fn len() {
        load();
    }
}
#[cfg(any(test, feature = \"check\"))]
fn shown() {}
#[cfg(not(test))]
fn hidden() {}
#[raddle::test]
async fn pops() {}
";

    #[test]
    fn lines_of_tests_are_those_of_items_for_tests_only() {
        let file = File::of(LIB).unwrap();
        assert_eq!(file.lines, [9..=12, 15..=18, 24..=25]);
        assert_eq!(file.modules, ["checks"]);
        assert!(!file.is_whole);
        assert!(File::of("#![cfg(test)]\nfn f() {}").unwrap().is_whole);
        assert_eq!(File::of("fn ("), None);
    }

    #[test]
    fn files_of_tests_are_those_that_are_declared_for_tests() {
        let root = std::env::temp_dir().join(format!("code-of-tests-{}", std::process::id()));
        let files = [
            ("src/lib.rs", LIB),
            ("src/checks.rs", "mod stress;\n"),
            ("src/checks/stress.rs", "fn f() {}\n"),
            ("src/deque.rs", "#[cfg(test)]\nmod model;\nmod ring;\n"),
            ("src/deque/model/mod.rs", "fn f() {}\n"),
            ("src/deque/ring.rs", "fn f() {}\n"),
            ("src/deque/checks.rs", "fn f() {}\n"),
            ("tests/all.rs", "fn f() {}\n"),
        ];
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut code = CodeOfTests::new(&root);
        let of_tests = files.map(|(name, _)| name).into_iter();
        let of_tests: Vec<_> = of_tests.filter(|name| code.is_all_of(name)).collect();
        let expected = [
            "src/checks.rs",
            "src/checks/stress.rs",
            "src/deque/model/mod.rs",
            "tests/all.rs",
        ];
        assert_eq!(of_tests, expected);
        // As a line before it says `#[cfg(test)]`, all of this was once taken for tests.
        assert!(!code.contains("src/lib.rs", 7) && code.contains("src/lib.rs", 17));
        fs::remove_dir_all(root).unwrap();
    }
}
