//! The tutorial, followed word for word: files are written as it says, commands are typed, and what is
//! printed is what it shows.
//!
//! What to do is marked in the page: `<!-- file: NAME -->` before a block that is a whole file,
//! `<!-- append: NAME -->` before what is added to one, `<!-- change: NAME -->` before two blocks, of
//! which the first becomes the second, `<!-- run: CODE -->` before a command and what it prints, of
//! which lines of dots may leave out a part. `UPDATE_EXPECTED=1 cargo test-cargo tutorial` writes down
//! anew what is printed, as a whole; read the difference before you keep it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{builds, finish, text_after, workspace};

/// What stands in the page for the folder in which it is followed.
const HOME: &str = "/home/you";

/// A folder outside of any workspace, as a newcomer has it: raddle beside what is made.
struct Desk {
    folder: PathBuf,
    /// Where the crate is, once it is made.
    bank: PathBuf,
    command_line: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let name = format!("raddle-tutorial-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(workspace(), folder.join("raddle")).unwrap();
        Desk {
            bank: folder.join("bank"),
            folder,
            command_line: command_line(),
        }
    }

    /// Types a command: in the crate, if it is there. Both streams, in the order of the streams.
    fn run(&self, line: &str) -> (Option<i32>, String) {
        let is_there = self.bank.exists();
        let mut command = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("RADDLE_") || text.starts_with("RUST_") || text.contains("CARGO") {
                command.env_remove(&name);
            }
        }
        let cargo = Path::new(env!("CARGO")).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = [self.command_line.parent().unwrap(), cargo].map(Path::to_owned);
        let path = own.into_iter().chain(std::env::split_paths(&path));
        command
            .args(["-c", line])
            .current_dir(if is_there { &self.bank } else { &self.folder })
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_TERM_COLOR", "never");
        let finished = finish(&mut command);
        if !is_there && self.bank.exists() {
            self.share_builds();
        }
        let text = self.as_shown(&format!("{}{}", finished.stderr, finished.stdout));
        (finished.code, text)
    }

    /// What is built is shared with other tests, and the versions are those of the workspace.
    fn share_builds(&self) {
        let target = builds().join("newcomer-target");
        fs::create_dir_all(&target).unwrap();
        std::os::unix::fs::symlink(target, self.bank.join("target")).unwrap();
        let lock = workspace().join("Cargo.lock");
        fs::copy(lock, self.bank.join("Cargo.lock")).unwrap();
        // What an earlier run has left is none of our business.
        let _ = fs::remove_dir_all(self.bank.join("target/raddle/bank"));
    }

    /// What people see, without what is different on each machine.
    fn as_shown(&self, text: &str) -> String {
        let target = builds().join("newcomer-target");
        let target = fs::canonicalize(&target).unwrap_or(target);
        let text = text
            .replace(target.to_str().unwrap(), &format!("{HOME}/bank/target"))
            .replace(self.folder.to_str().unwrap(), HOME);
        let is_noise = |line: &&str| {
            let line = line.trim_start();
            let words = [
                "Compiling ",
                "Finished ",
                "Blocking ",
                "Locking ",
                "Adding ",
            ];
            words.iter().any(|word| line.starts_with(word)) || line.starts_with("Creating ")
        };
        let lines: Vec<_> = text.lines().filter(|line| !is_noise(line)).collect();
        lines.join("\n").trim_matches('\n').to_owned()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The command line, built from this workspace.
fn command_line() -> PathBuf {
    let mut build = Command::new(env!("CARGO"));
    let target = builds().parent().unwrap();
    build
        .args(["build", "--offline", "--package", "cargo-raddle"])
        .args(["--message-format", "json"])
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

/// Without times, which are never the same: `1.2ms` is `_`.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| {
        let word = word.trim_matches(['(', ')', ',']);
        let digits = word.trim_end_matches(['n', 'µ', 'm', 's']);
        digits.len() < word.len() && digits.parse::<f64>().is_ok()
    };
    let line = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let mut kept = Vec::new();
        for (index, &word) in words.iter().enumerate() {
            let next = words.get(index + 1).copied().unwrap_or_default();
            let number = word.trim_start_matches('(');
            let in_seconds = next.starts_with("s)") && number.parse::<f64>().is_ok();
            kept.push(if is_time(word) || in_seconds {
                "_"
            } else {
                word
            });
        }
        kept.join(" ")
    };
    let lines: Vec<_> = text.lines().map(line).collect();
    lines.join("\n")
}

/// Whether a text is what a page shows, in which lines of dots leave out a part.
fn is_shown(shown: &str, text: &str) -> bool {
    let [shown, text] = [shown, text].map(|it| in_order(&timeless(it)));
    let mut rest = text.as_str();
    let parts: Vec<_> = shown.split("\n...\n").collect();
    for (index, part) in parts.iter().enumerate() {
        let part = part.trim_start_matches("...\n").trim_end_matches("\n...");
        match rest.find(part) {
            Some(0) => rest = &rest[part.len()..],
            Some(at) if index > 0 || shown.starts_with("...\n") => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.trim().is_empty() || shown.ends_with("\n...")
}

/// Tests that run at once come to their ends in any order.
fn in_order(text: &str) -> String {
    let is_result = |line: &str| line.starts_with("  ok  ");
    let lines: Vec<_> = text.lines().collect();
    let groups = lines.chunk_by(|one, other| is_result(one) && is_result(other));
    let sorted = groups.map(|group| {
        let mut group = group.to_vec();
        group.sort_unstable();
        group.join("\n")
    });
    sorted.collect::<Vec<_>>().join("\n")
}

/// A block of the page: where its content begins and ends.
fn block(page: &str, from: usize) -> (usize, usize) {
    let fence = page[from..].find("```").expect("a block") + from;
    let start = page[fence..].find('\n').expect("a line") + fence + 1;
    let end = page[start..].find("```").expect("the end of a block") + start;
    (start, end)
}

#[test]
fn the_tutorial_can_be_followed_word_for_word() {
    let file = workspace().join("docs/src/tutorial.md");
    let mut page = fs::read_to_string(&file).unwrap();
    let updates = std::env::var_os("UPDATE_EXPECTED").is_some();
    let desk = Desk::new();
    let mut at = 0;
    let mut commands = 0;
    while let Some(found) = page[at..].find("<!-- ") {
        let mark = at + found + "<!-- ".len();
        let end = page[mark..].find(" -->").expect("a mark has an end") + mark;
        let (what, which) = page[mark..end].split_once(": ").expect("what to do");
        let (what, which) = (what.to_owned(), which.to_owned());
        let (start, stop) = block(&page, end);
        let content = page[start..stop].to_owned();
        at = stop + 3;
        let path = desk.bank.join(&which);
        match &*what {
            "file" => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            "append" => {
                let before = fs::read_to_string(&path).unwrap();
                fs::write(path, format!("{before}{content}")).unwrap();
            }
            "change" => {
                let (start, stop) = block(&page, at);
                at = stop + 3;
                let text = fs::read_to_string(&path).unwrap();
                assert_eq!(text.matches(&content).count(), 1, "{content} in {text}");
                fs::write(path, text.replace(&content, &page[start..stop])).unwrap();
            }
            "run" => {
                commands += 1;
                let (code, text) = desk.run(content.trim_end());
                assert_eq!(
                    code.map(|code| code.to_string()),
                    Some(which),
                    "{content}{text}"
                );
                let next = page[at..].find("```").map(|next| &page[at + next..]);
                if text.is_empty() || !next.is_some_and(|next| next.starts_with("```text")) {
                    continue;
                }
                let (start, stop) = block(&page, at);
                let shown = page[start..stop].trim_end();
                if !is_shown(shown, &text) {
                    assert!(
                        updates,
                        "{content} is shown to print\n{shown}\nand prints\n{text}"
                    );
                    page.replace_range(start..stop, &format!("{text}\n"));
                }
                at = block(&page, at).1 + 3;
            }
            other => panic!("nobody knows how to {other}"),
        }
    }
    assert!(commands > 5, "there is something to type");
    if updates {
        fs::write(file, page).unwrap();
    }
}

#[test]
fn what_is_shown_may_leave_out_a_part_and_has_other_times() {
    assert!(is_shown("a\nb", "a\nb\n"));
    assert!(is_shown(
        "ran (auto, 1.2ms)\n(0.1 s)",
        "ran (auto, 973.1µs)\n(12.9 s)"
    ));
    assert!(is_shown("a\n...\nd", "a\nb\nc\nd"));
    assert!(is_shown("...\nd", "a\nd"));
    assert!(is_shown("a\n...", "a\nb"));
    assert!(!is_shown("a\nb", "a\nc"));
    assert!(!is_shown("b", "a\nb"));
    assert!(!is_shown("a", "a\nb"));
    assert!(!is_shown("2 classes", "3 classes"));
}
