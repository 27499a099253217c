//! Behaviour that all commands share.

use std::env;
use std::fs;

use crate::support::{Workspace, finish, script_directory};

#[test]
fn cargo_is_found_in_the_path_without_the_variable() {
    let workspace = Workspace::new("cargo_is_looked_for_in_the_path");
    workspace.build(&["one"]);
    let mut path = script_directory().as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let finished = finish(
        workspace
            .command(&["test"])
            .env_remove("CARGO")
            .env("PATH", path),
    );
    assert_eq!(finished.code, Some(0));
    assert!(workspace.calls().starts_with("cargo test --no-run "));
}

#[test]
fn a_cargo_that_cannot_be_started_is_named() {
    let workspace = Workspace::new("a_cargo_that_cannot_be_started");
    for arguments in [["test", "counter"], ["replay", "counter"]] {
        let finished = finish(workspace.command(&arguments).env("CARGO", "/no/such/cargo"));
        assert_eq!(finished.code, Some(2));
        assert_eq!(
            finished.stderr,
            "error: cannot run `/no/such/cargo`: No such file or directory (os error 2)\n  \
             help: set the environment variable CARGO to the cargo to use\n"
        );
    }
}

#[test]
fn the_subcommand_name_of_cargo_is_ignored() {
    let workspace = Workspace::new("the_word_that_cargo_adds");
    workspace.build(&["counter"]);
    assert_eq!(workspace.run(&["raddle", "test", "counter"]).code, Some(0));
    assert!(workspace.calls().contains("\nlist counter --list "));
}

#[test]
fn bad_usage_exits_with_2_and_runs_nothing() {
    let workspace = Workspace::new("bad_usage");
    for arguments in [&[][..], &["tset"], &["test", "--bugdet", "1s"], &["replay"]] {
        let finished = workspace.run(arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}");
        assert!(
            finished.stderr.contains("Usage: cargo raddle"),
            "{arguments:?}: {finished:?}"
        );
    }
    assert_eq!(workspace.calls(), "");
}

#[test]
fn help_and_version_exit_with_0() {
    let workspace = Workspace::new("help_and_version");
    for arguments in [&["--help"][..], &["test", "--help"], &["replay", "--help"]] {
        let finished = workspace.run(arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}");
        assert!(
            finished.stdout.contains("Usage: cargo raddle"),
            "{arguments:?}: {finished:?}"
        );
    }
    let version = workspace.run(&["--version"]);
    assert_eq!(version.code, Some(0));
    assert_eq!(
        version.stdout,
        concat!("cargo-raddle ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn there_are_completions_for_every_shell() {
    let workspace = Workspace::new("completions");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let finished = workspace.run(&["completions", shell]);
        assert_eq!(finished.code, Some(0), "{shell}");
        assert!(finished.stdout.contains("max-executions"), "{shell}");
    }
    assert_eq!(workspace.run(&["completions", "cmd"]).code, Some(2));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let workspace = Workspace::new("manual");
    let directory = workspace.directory.join("share/man1");
    let finished = workspace.run(&["manual", "share/man1"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout, "share/man1/cargo-raddle.1\n");
    let help = workspace.run(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.map_while(|line| line.split_whitespace().next());
    let mut expected: Vec<String> = commands
        .filter(|command| *command != "help")
        .map(|command| format!("cargo-raddle-{command}.1"))
        .chain(["cargo-raddle.1".to_owned()])
        .collect();
    expected.sort();
    let pages = fs::read_dir(&directory).expect("the pages are there");
    let mut pages: Vec<String> = pages
        .map(|page| {
            page.expect("a page")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    pages.sort();
    assert_eq!(pages, expected);
    let page = fs::read_to_string(directory.join("cargo-raddle-test.1")).expect("a page");
    for part in ["max\\-executions", "RADDLE_MAX_TIME", "Exit code: 0"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
}
