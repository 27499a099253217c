//! Runs every example and compares what it prints with the text in `expected/`.
//!
//! `UPDATE_EXPECTED=1 cargo test --test output` writes those files anew; read the difference
//! before you keep it.

use std::path::Path;
use std::process::Command;

fn prints_as_expected(name: &str, program: &str) {
    let mut command = Command::new(program);
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(variable);
        }
    }
    let output = command.output().expect("the example was built");
    let printed = String::from_utf8(output.stdout).expect("text is printed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    // The line of `assert_ok` is the last.
    let printed = without_times(&without_folders(&format!("{printed}{errors}")));
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("expected")
        .join(name)
        .with_extension("txt");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&file, &printed).expect("the folder is writable");
    }
    let expected = std::fs::read_to_string(&file).expect("each example has its text");
    assert!(
        printed == expected,
        "{name} prints\n{printed}\nand not\n{expected}"
    );
}

/// How long a check took is different every time: `(auto, 1.5ms)` becomes `(auto, TIME)`.
fn without_times(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(", ") {
        Some((start, _)) if line.contains(" run: ") || line.starts_with("reproduced: ") => {
            format!("{start}, TIME)\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Pages are in the target folder, wherever that is.
fn without_folders(text: &str) -> String {
    let line = |line: &str| match (line.strip_prefix("  report: "), line.split_once("/raddle/")) {
        (Some(_), Some((_, page))) => format!("  report: target/raddle/{page}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

macro_rules! examples {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let program = env!(concat!("CARGO_BIN_EXE_", stringify!($name)));
            prints_as_expected(stringify!($name), program);
        }
    )*};
}
examples!(
    lost_update bank_transfer once_flag try_lock philosophers bounded_queue spin_lock singleton
    worker_pool closing
);

#[test]
fn every_example_has_its_text_and_is_run() {
    let folder = |name: &str| {
        let entries = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
        let stems = entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_owned());
        stems.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(folder("src/bin"), folder("expected"));
    let source = include_str!("output.rs");
    for name in folder("src/bin") {
        let (_, list) = source.split_once("\nexamples!(").expect("the list");
        let (list, _) = list.split_once(");").expect("its end");
        let mut names = list.split_whitespace();
        assert!(names.any(|listed| *listed == *name), "{name:?} is not run");
    }
}
