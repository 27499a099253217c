//! Fresh crates, and cargo run in them.
//!
//! Each test copies a fixture into a folder of its own. What they build they share, so that the
//! dependencies are compiled once; cargo lets one build at a time use it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fresh crate, or a workspace of several.
pub struct Newcomer {
    folder: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a folder of the workspace")
}

pub fn builds() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

impl Newcomer {
    /// Copies the fixture, for the test of this name.
    pub fn new(test: &str, fixture: &str) -> Self {
        let folder = builds().join("newcomer").join(test);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        let from = workspace().join("tests/newcomer").join(fixture);
        copy(&from, &folder, test);
        // The versions that the workspace is tested with.
        fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        let newcomer = Newcomer { folder };
        let manifest = newcomer.read("Cargo.toml");
        if !manifest.contains("[workspace]") {
            // The folder may be below our own workspace, of which it is no part.
            newcomer.write("Cargo.toml", &format!("{manifest}\n[workspace]\n"));
        }
        newcomer
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap()
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    pub fn exists(&self, file: &str) -> bool {
        self.folder.join(file).exists()
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Edits a file as a person would: this becomes that.
    pub fn replace(&self, file: &str, this: &str, that: &str) {
        let text = self.read(file);
        assert_eq!(text.matches(this).count(), 1, "{this} in {text}");
        self.write(file, &text.replace(this, that));
    }

    /// Runs cargo; what our own environment says about builds and checks does not come through.
    pub fn cargo(&self, arguments: &str) -> Finished {
        let mut command = self.command(env!("CARGO"));
        let mut words = arguments.split_whitespace();
        command.args(words.next()).arg("--offline").args(words);
        finish(&mut command)
    }

    /// Runs a line that was printed for people to paste.
    pub fn shell(&self, line: &str) -> Finished {
        finish(self.command("sh").args(["-c", line]))
    }

    pub fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let changes_builds = ["RADDLE_", "RUST_", "CARGO_BUILD_", "CARGO_PROFILE_"]
                .iter()
                .any(|start| text.starts_with(start));
            if changes_builds || text.contains("RUSTFLAGS") || text == "RUSTDOCFLAGS" {
                command.env_remove(&name);
            }
        }
        let cargo = Path::new(env!("CARGO")).parent().expect("cargo is a file");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [cargo.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&path));
        command
            .current_dir(&self.folder)
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("CARGO", env!("CARGO"))
            .env("CARGO_TARGET_DIR", builds().join("newcomer-target"))
            // Others use the same builds, and have the same bugs.
            .env("RADDLE_DIR", self.folder.join("raddle"))
            .env("CARGO_NET_OFFLINE", "true")
            // Less to write and to keep.
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_TERM_COLOR", "never");
        command
    }
}

/// Copies a folder, puts in where raddle is, and gives packages a version of their own: cargo tells
/// what it has built by name, version and place *below* the workspace, so that two copies of a
/// package would be the same to it.
fn copy(from: &Path, to: &Path, test: &str) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to, test);
        } else {
            let raddle = workspace().join("crates/raddle");
            let version = format!("version = \"0.1.0+{}\"", test.replace('_', "-"));
            let text = fs::read_to_string(entry.path()).unwrap();
            let text = text
                .replace("RADDLE_PATH", raddle.to_str().unwrap())
                .replace("version = \"0.1.0\"", &version);
            fs::write(to, text).unwrap();
        }
    }
}

pub fn finish(command: &mut Command) -> Finished {
    let output = command.output().expect("the program can be started");
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Finished {
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(
            self.stdout.contains(text) || self.stderr.contains(text),
            "`{text}` is not in\n{}{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn does_not_say(&self, text: &str) -> &Self {
        assert!(
            !self.stdout.contains(text) && !self.stderr.contains(text),
            "`{text}` is in\n{}{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// What to type to see the failure again.
    #[track_caller]
    pub fn replay_line(&self) -> String {
        let line = self
            .stdout
            .lines()
            .find_map(|line| line.trim().strip_prefix("replay: "));
        line.unwrap_or_else(|| panic!("no line to replay in\n{}", self.stdout))
            .to_owned()
    }

    /// The story of the failure, as it is printed: from its headline to where its page is.
    #[track_caller]
    pub fn story(&self) -> String {
        let lines = self
            .stdout
            .lines()
            .skip_while(|line| !line.contains(" after "));
        let mut story = String::new();
        for line in lines {
            // These crates are not built where a user's are.
            match line.split_once("  report: ") {
                Some((before, page)) => {
                    let (_, page) = page.rsplit_once("raddle/").expect("it is in that folder");
                    story += &format!("{before}  report: target/raddle/{page}\n");
                    break;
                }
                None => story += &format!("{line}\n"),
            }
        }
        story
    }

    /// The packages that a build with `--message-format json` consists of, new or built before.
    pub fn packages(&self) -> BTreeSet<&str> {
        let artifacts = self
            .stdout
            .lines()
            .filter(|line| line.contains(r#""reason":"compiler-artifact""#));
        artifacts.map(package).collect()
    }
}

/// The package in a message of cargo: `"package_id":"path+file:///somewhere/name#0.1.0"`, or with
/// `name@` before the version if the folder is called something else.
fn package(message: &str) -> &str {
    let id = text_after(message, r#""package_id":""#);
    let (source, name) = id.rsplit_once('#').expect("an id has a version");
    match name.split_once('@') {
        Some((name, _version)) => name,
        None => source.rsplit('/').next().expect("a source is a path"),
    }
}

pub fn text_after<'a>(message: &'a str, start: &str) -> &'a str {
    let (_, rest) = message.split_once(start).expect(start);
    rest.split('"').next().expect("a string ends")
}

/// The command line, built from this workspace.
pub fn cargo_raddle() -> PathBuf {
    let mut build = Command::new(env!("CARGO"));
    let target = builds()
        .parent()
        .expect("cargo's folder for tests is in the target folder");
    build
        .args([
            "build",
            "--offline",
            "--package",
            "cargo-raddle",
            "--message-format",
            "json",
        ])
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", target);
    // Those of this package: a build script that reads them would run again, and what it builds be built again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            build.env_remove(&*name);
        }
    }
    let build = finish(&mut build).exits(0);
    text_after(&build.stdout, r#""executable":""#).into()
}

/// Runs `cargo raddle` with these words in the newcomer's crate.
pub fn command_line(newcomer: &Newcomer) -> impl Fn(&str) -> Finished {
    let program = cargo_raddle();
    move |words| {
        let mut command = newcomer.command(&program);
        finish(command.arg("raddle").args(words.split_whitespace()))
    }
}
