//! The architecture page names layers, tests and functions; all of them exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use super::layers::CRATES;
use super::sources::workspace;

fn page() -> String {
    fs::read_to_string(workspace().join("docs/src/architecture.md")).unwrap()
}

/// The lines from a heading to the next one.
fn section<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let rest = page.lines().skip_while(|line| *line != heading).skip(1);
    let lines: Vec<&str> = rest.take_while(|line| !line.starts_with("## ")).collect();
    assert!(!lines.is_empty(), "the page has no `{heading}`");
    lines
}

/// The words of a text that are set as code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The code in the last column of the tables of a section.
fn last_column<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let rows = section(page, heading).into_iter().filter_map(|line| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        cells.rsplit_once(" | ").map(|(_, last)| last)
    });
    rows.flat_map(code).collect()
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.extension() {
            _ if path.is_dir() && !path.ends_with("target") => rust_files(&path, files),
            Some(extension) if extension == "rs" => files.push(path),
            _ => {}
        }
    }
}

/// The names of all functions with the attribute `#[test]`.
fn tests() -> BTreeSet<String> {
    let mut files = Vec::new();
    for folder in ["crates", "tests/tests"] {
        rust_files(&workspace().join(folder), &mut files);
    }
    let mut names = BTreeSet::new();
    for file in files {
        let mut is_test = false;
        for line in fs::read_to_string(file).unwrap().lines().map(str::trim) {
            if let Some(function) = line.strip_prefix("fn ") {
                // The tests of the queue, which a macro runs on servers of each kind.
                is_test |= function.ends_with("(kind: Kind) {");
                if let (true, Some((name, _))) = (is_test, function.split_once('(')) {
                    names.insert(name.to_owned());
                }
                is_test = false;
            }
            is_test = line == "#[test]" || is_test && line.starts_with(['#', '/']);
        }
    }
    names
}

/// The names that a file declares as functions, types, traits or constants, at any depth.
fn declared(tokens: TokenStream, names: &mut BTreeSet<String>) {
    const KEYWORDS: [&str; 6] = ["fn", "struct", "enum", "trait", "type", "const"];
    let mut after_keyword = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => declared(group.stream(), names),
            TokenTree::Ident(ident) => {
                let ident = ident.to_string();
                if after_keyword {
                    names.insert(ident.clone());
                }
                after_keyword = KEYWORDS.contains(&ident.as_str());
                continue;
            }
            _ => {}
        }
        after_keyword = false;
    }
}

/// The file of `crate::module::item` and the name of the item.
fn resolve(path: &str) -> Option<(PathBuf, &str)> {
    let (module, item) = path.rsplit_once("::")?;
    let (folder, module) = module.split_once("::").unwrap_or((module, ""));
    let file = workspace()
        .join("crates")
        .join(folder)
        .join("src")
        .join(module.replace("::", "/"));
    let candidates = [file.with_extension("rs"), file.join("mod.rs")];
    let file = candidates.into_iter().find(|file| file.exists())?;
    Some((file, item))
}

#[test]
fn invariants_name_tests_that_exist() {
    let (page, tests) = (page(), tests());
    let named = last_column(&page, "## Invariants");
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(tests.contains(name), "no test is called `{name}`");
    }
}

#[test]
fn rules_name_functions_that_exist() {
    let page = page();
    let named = last_column(&page, "## Rules and where they are");
    assert!(named.len() > 15, "{named:?}");
    for path in named {
        let (file, item) = resolve(path).unwrap_or_else(|| panic!("no module has `{path}`"));
        let mut names = BTreeSet::new();
        declared(
            fs::read_to_string(&file).unwrap().parse().unwrap(),
            &mut names,
        );
        assert!(
            names.contains(item),
            "{} has no `{item}`: it has {names:?}",
            file.display()
        );
    }
}

/// The folder of a package in `crates`.
fn folder(package: &str) -> &str {
    match package {
        "cargo-raddle" => "cli",
        _ => package.strip_prefix("raddle-").unwrap_or(package),
    }
}

#[test]
fn layers_are_listed_top_to_bottom_and_completely() {
    let page = page();
    let text = section(&page, "## Crates and layers").join(" ");
    let mut listed = 0;
    for bullet in text.split("- `").skip(1) {
        let (package, rest) = bullet.split_once('`').unwrap();
        let Some((_, layers)) = rest.split_once("Layers: ") else {
            continue;
        };
        let layers = layers.split('.').next().unwrap();
        let named: Vec<&str> = code(layers).collect();
        let folder = folder(package);
        let (_, order) = CRATES.iter().find(|(name, _)| *name == folder).unwrap();
        let folders = |name: &&str| {
            let src = workspace().join("crates").join(folder).join("src");
            src.join(name).is_dir()
        };
        let all: BTreeSet<&str> = order
            .iter()
            .map(|(name, _)| *name)
            .filter(folders)
            .collect();
        let named_folders: BTreeSet<&str> = named.iter().copied().filter(folders).collect();
        assert_eq!(named_folders, all, "folders of {package}");
        for (position, upper) in named.iter().enumerate() {
            let uses = order.iter().find(|(name, _)| name == upper);
            let (_, uses) = uses.unwrap_or_else(|| panic!("{package} has no layer `{upper}`"));
            let above = &named[..position];
            assert!(
                !uses.iter().any(|used| above.contains(used)),
                "{package}: `{upper}` uses a layer that the page lists above it"
            );
        }
        listed += 1;
    }
    assert_eq!(listed, 6, "crates with layers");
}
