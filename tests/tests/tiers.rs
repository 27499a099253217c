//! The tiers of tests: every file is in one, and every tier has a command and is run by `.ci/run`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = workspace().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The binaries of the manifest, each with whether `cargo test` runs it.
fn binaries() -> BTreeMap<String, bool> {
    let manifest = read("tests/Cargo.toml") + &read("tests/oracles/Cargo.toml");
    let tables = manifest.split("[[test]]\n").skip(1);
    let binary = |table: &str| {
        let (first, rest) = table.split_once('\n').expect("a name has a line");
        let name = first.strip_prefix("name = ").expect("the name comes first");
        let is_usual = !rest.starts_with("test = false");
        (name.trim_matches('"').to_owned(), is_usual)
    };
    tables.map(binary).collect()
}

/// The modules that a file declares.
fn modules(file: &Path) -> BTreeSet<String> {
    let text = read(file);
    let lines = text.lines().filter_map(|line| {
        let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
        Some(name.to_owned())
    });
    lines.collect()
}

/// The Rust files and the folders in a folder of tests, by the name of the module that each would be.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(workspace().join(folder)).unwrap();
    let names = entries.map(|entry| {
        let path = entry.unwrap().path();
        path.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    names.collect()
}

#[test]
fn every_file_is_a_module_of_one_binary() {
    let tests = Path::new("tests/tests");
    let (mut roots, mut declared) = (BTreeSet::new(), Vec::new());
    for (name, _) in binaries() {
        let file = tests.join(format!("{name}.rs"));
        if workspace().join(&file).exists() {
            declared.extend(modules(&file));
        }
        roots.insert(name);
    }
    let all: BTreeSet<_> = declared.iter().cloned().chain(roots).collect();
    // `support` of the real cargo's tests is shared with no other binary, and lies beside its crates.
    let elsewhere: BTreeSet<_> = ["support".to_owned()].into();
    assert_eq!(&files(tests) | &elsewhere, all);
    assert_eq!(
        declared.iter().collect::<BTreeSet<_>>().len(),
        declared.len()
    );
    for name in files(tests) {
        let folder = tests.join(&name);
        if workspace().join(&folder).is_dir() {
            let root = ["main", "mod"].map(|root| (root, folder.join(format!("{root}.rs"))));
            let (root, file) = root
                .into_iter()
                .find(|(_, it)| workspace().join(it).exists())
                .unwrap();
            let mut there = files(&folder);
            there.remove(root);
            let missing: Vec<_> = there.difference(&modules(&file)).cloned().collect();
            assert_eq!(missing, [""; 0], "{name}");
        }
    }
}

#[test]
fn every_tier_has_a_command_that_the_checks_before_a_change_run() {
    let (aliases, checks) = (read(".cargo/config.toml"), read(".ci/run"));
    let contributing = read("CONTRIBUTING.md");
    for (name, is_usual) in binaries() {
        let wanted = format!("\"--test\", \"{name}\"]");
        let alias = aliases.lines().find(|line| line.ends_with(&wanted));
        let command = match alias {
            Some(alias) => alias.split(' ').next().unwrap(),
            None if is_usual => "test",
            None => panic!("{name} has no command"),
        };
        let command = format!("cargo {command}");
        assert!(checks.contains(&command), "{command} is not run");
        assert!(
            contributing.contains(&command),
            "{command} is not documented"
        );
    }
}

#[test]
fn every_random_suite_is_in_the_table() {
    let contributing = read("CONTRIBUTING.md");
    for name in modules(Path::new("tests/tests/oracles.rs")) {
        let row = format!("| `{name}` |");
        assert!(contributing.contains(&row), "{name} has no row");
    }
}
