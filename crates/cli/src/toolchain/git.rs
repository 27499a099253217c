//! What git knows of the repository that a workspace is in.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum number of commits before a revision that are looked at.
const MAX_ANCESTORS: &str = "1000";

/// A repository with a working tree.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The directory of the working tree, without symbolic links.
    pub root: PathBuf,
}

/// The reason why git gives no answer.
#[derive(Debug)]
pub enum GitProblem {
    NotStarted(io::Error),
    /// The directory is in no repository, or in one that git refuses to use.
    NoRepository(String),
    /// There is no such commit.
    NoCommit {
        revision: String,
        is_shallow: bool,
    },
    Failed {
        command: String,
        message: String,
    },
}

impl fmt::Display for GitProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GitProblem::NotStarted(error) => write!(
                f,
                "git cannot be run: {error}\n  help: --since compares versions in a repository of git; install git"
            ),
            GitProblem::NoRepository(message) => write!(
                f,
                "git finds no repository here: {message}\n  \
                 help: --since compares versions in a repository of git; leave it out to run all tests"
            ),
            GitProblem::NoCommit {
                revision,
                is_shallow: true,
            } => write!(
                f,
                "this clone has no commit `{revision}`, and only a part of the history\n  \
                 help: fetch the rest with `git fetch --unshallow`, or `fetch-depth: 0` of actions/checkout"
            ),
            GitProblem::NoCommit { revision, .. } => write!(
                f,
                "the repository has no commit `{revision}`\n  \
                 help: give a branch, a tag or a commit, as for `git log`; `git fetch` gets those of others"
            ),
            GitProblem::Failed { command, message } => {
                write!(f, "`git {command}` failed: {message}")
            }
        }
    }
}

impl Repository {
    /// Returns the repository of a directory.
    pub fn of(directory: &Path) -> Result<Self, GitProblem> {
        let root =
            git(directory, &["rev-parse", "--show-toplevel"]).map_err(|problem| match problem {
                GitProblem::Failed { message, .. } => GitProblem::NoRepository(message),
                other => other,
            })?;
        let root = PathBuf::from(root.trim_end_matches(['\r', '\n']));
        let root = root.canonicalize().unwrap_or(root);
        Ok(Repository { root })
    }

    /// Returns the name of the commit that a revision stands for.
    pub fn commit(&self, revision: &str) -> Result<String, GitProblem> {
        let peeled = format!("{revision}^{{commit}}");
        let arguments = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &peeled,
        ];
        match git(&self.root, &arguments) {
            Ok(commit) => Ok(commit.trim().to_owned()),
            Err(GitProblem::Failed { .. }) => {
                let is_shallow = git(&self.root, &["rev-parse", "--is-shallow-repository"]);
                Err(GitProblem::NoCommit {
                    revision: revision.to_owned(),
                    is_shallow: is_shallow.is_ok_and(|text| text.trim() == "true"),
                })
            }
            Err(other) => Err(other),
        }
    }

    /// Returns the commit that is checked out, if nothing in the working tree differs from it.
    pub fn clean_head(&self) -> Result<Option<String>, GitProblem> {
        let status = git(
            &self.root,
            &["status", "--porcelain", "--untracked-files=normal"],
        )?;
        match status.trim().is_empty() {
            true => self.commit("HEAD").map(Some),
            false => Ok(None),
        }
    }

    /// Returns a commit and those before it, the latest first, as far as this clone has them.
    pub fn ancestors(&self, commit: &str) -> Result<Vec<String>, GitProblem> {
        let count = format!("--max-count={MAX_ANCESTORS}");
        let list = git(&self.root, &["rev-list", &count, commit])?;
        Ok(list.lines().map(str::to_owned).collect())
    }

    /// Returns the differences of the working tree from a commit, without context.
    pub fn diff(&self, commit: &str) -> Result<String, GitProblem> {
        let arguments = [
            "-c",
            "core.quotePath=false",
            "diff",
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--find-renames",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            commit,
            "--",
        ];
        git(&self.root, &arguments)
    }

    /// Returns the names of tracked files that match a pattern.
    pub fn tracked(&self, pattern: &str) -> Result<Vec<String>, GitProblem> {
        let list = git(&self.root, &["ls-files", "-z", "--", pattern])?;
        let names = list.split('\0').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    /// Returns the text of a file of the working tree; one that is gone or no text is empty.
    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.root.join(file)).unwrap_or_default()
    }

    /// Returns the names of files that git neither tracks nor ignores.
    pub fn untracked(&self) -> Result<Vec<String>, GitProblem> {
        let list = git(
            &self.root,
            &["ls-files", "--others", "--exclude-standard", "-z"],
        )?;
        let names = list.split('\0').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }
}

/// Runs git in a directory and returns its output.
fn git(directory: &Path, arguments: &[&str]) -> Result<String, GitProblem> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(GitProblem::NotStarted)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().next().unwrap_or_default();
    Err(GitProblem::Failed {
        command: arguments.join(" "),
        message: first.trim_start_matches("fatal: ").to_owned(),
    })
}
