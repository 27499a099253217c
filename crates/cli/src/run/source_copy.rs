//! A copy of the workspace, in which mistakes are made and built. The user's files stay as they are.
//!
//! The copy shares the build directory of the workspace, so that no dependency is built again. Its own packages are kept
//! apart there by a setting of their profile: cargo would otherwise take their artifacts for those of the workspace.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::toolchain::binaries::TestBinary;
use crate::toolchain::cargo::{BuildFailure, BuildOptions, Cargo, CargoFiles, Member, Workspace};

/// Number of units of code that makes the profile of the copy differ from any that people write.
const UNITS: u32 = 251;
/// Variable with the directory for the intermediate files of builds.
const BUILD_DIRECTORY: &str = "CARGO_BUILD_BUILD_DIR";
/// The key of the same setting.
const BUILD_DIRECTORY_KEY: &str = "build.build-dir";
/// A file in directories that can be made again.
const CACHE_MARK: &str = "CACHEDIR.TAG";

const VERSION_CONTROL: [&str; 3] = [".git", ".hg", ".jj"];

/// A copy of a workspace.
pub struct SourceCopy {
    root: PathBuf,
    original: PathBuf,
    cargo: Cargo,
    arguments: Vec<OsString>,
}

impl SourceCopy {
    /// Copies a workspace into a directory. `arguments` select the tests, and `profile` is the one that they are built with.
    pub fn new(
        cargo: &Cargo,
        workspace: &Workspace,
        members: &[Member],
        directory: &Path,
        arguments: Vec<OsString>,
        profile: &str,
    ) -> io::Result<Self> {
        let root = directory.join("source");
        let original = &workspace.root;
        copy(original, &root, &[directory, &workspace.target])?;
        for member in members {
            if let Ok(manifest) = member.manifest.strip_prefix(original) {
                repair_manifest(original, manifest, &root)?;
            }
        }
        let at_root = Path::new("Cargo.toml");
        if !members
            .iter()
            .any(|it| it.manifest == original.join(at_root))
        {
            repair_manifest(original, at_root, &root)?;
        }
        // Around the copy there may be another workspace, or the one that it is a copy of.
        let manifest = fs::read_to_string(root.join(at_root))?;
        if !manifest
            .lines()
            .any(|line| line.trim().starts_with("[workspace"))
        {
            fs::write(root.join(at_root), manifest + "\n[workspace]\n")?;
        }
        let selected = selected_manifest(cargo, original);
        let selected = selected.strip_prefix(original).unwrap_or(at_root);
        let files = CargoFiles {
            manifest: Some(root.join(selected)),
            target: Some(directory.join("artifacts")),
        };
        let mut options = BuildOptions::default();
        for member in members {
            let name = &member.name;
            let setting = format!("profile.{profile}.package.\"{name}\".codegen-units={UNITS}");
            options
                .arguments
                .extend(["--config".into(), setting.into()]);
        }
        let is_set = std::env::var_os(BUILD_DIRECTORY).is_some()
            || cargo.config(BUILD_DIRECTORY_KEY).is_some();
        if !is_set {
            let shared = workspace.target.clone().into_os_string();
            options.environment.push((BUILD_DIRECTORY, shared));
        }
        Ok(SourceCopy {
            root,
            original: original.clone(),
            cargo: cargo.with_options(options).with_files(files),
            arguments,
        })
    }

    /// Returns the directory of the copy.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file, named by its path in the workspace.
    pub fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.root.join(file), text)
    }

    /// Builds the tests.
    pub fn build(&self) -> Result<Vec<TestBinary>, BuildFailure> {
        self.cargo.build_silently(&self.arguments)
    }

    /// Returns the sources of these packages, by their path in the workspace.
    pub fn sources(&self, members: &[Member]) -> Vec<String> {
        let mut found = Vec::new();
        for member in members {
            let Some(Ok(folder)) =
                (member.manifest.parent()).map(|it| it.strip_prefix(&self.original))
            else {
                continue;
            };
            collect(&self.root, folder, &mut found);
        }
        found.sort();
        found.dedup();
        found
    }

    pub fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.root.join(file))
    }
}

/// Returns the manifest of the package that cargo would select.
fn selected_manifest(cargo: &Cargo, root: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    if let Some(manifest) = &cargo.files().manifest {
        let manifest = here.join(manifest);
        return manifest.canonicalize().unwrap_or(manifest);
    }
    let mut folders = here.ancestors().take_while(|it| it.starts_with(root));
    let nearest = folders.find(|it| it.join("Cargo.toml").exists());
    nearest.unwrap_or(root).join("Cargo.toml")
}

/// Copies a folder without version control, caches and these folders.
fn copy(from: &Path, to: &Path, without: &[&Path]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let is_version_control = VERSION_CONTROL.iter().any(|it| entry.file_name() == *it);
        if is_version_control || without.contains(&&*path) {
            continue;
        }
        match fs::metadata(&path) {
            Ok(kind) if kind.is_dir() && !path.join(CACHE_MARK).exists() => {
                copy(&path, &to, without)?;
            }
            Ok(kind) if kind.is_file() => drop(fs::copy(&path, &to)?),
            // Sockets, and links to nothing.
            _ => {}
        }
    }
    Ok(())
}

/// Makes a manifest of the copy mean what the original means: paths out of the workspace, and lints that are warnings only,
/// as a mistake may leave something unused.
fn repair_manifest(original: &Path, manifest: &Path, root: &Path) -> io::Result<()> {
    let path = root.join(manifest);
    let text = fs::read_to_string(&path)?;
    let folder = original.join(manifest);
    let folder = folder.parent().unwrap_or(original);
    let repaired = with_absolute_paths(&text, folder, original);
    let lenient = repaired
        .replace("\"deny\"", "\"warn\"")
        .replace("\"forbid\"", "\"warn\"");
    fs::write(path, lenient)
}

/// Makes paths out of the workspace absolute.
fn with_absolute_paths(text: &str, folder: &Path, workspace: &Path) -> String {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut line = line.to_owned();
        if let Some(range) = path_value(&line) {
            let given = Path::new(&line[range.clone()]);
            let resolved = resolved(&folder.join(given));
            if given.is_relative() && !resolved.starts_with(workspace) {
                let resolved = resolved.display().to_string().replace('\\', "\\\\");
                line.replace_range(range, &resolved);
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Returns the range of the text after `path =`.
fn path_value(line: &str) -> Option<std::ops::Range<usize>> {
    for (at, _) in line.match_indices("path") {
        let is_word = !line[..at]
            .ends_with(|before: char| before.is_alphanumeric() || before == '-' || before == '_');
        let rest = line[at + 4..].trim_start();
        let Some(rest) = rest.strip_prefix('=').filter(|_| is_word) else {
            continue;
        };
        let rest = rest.trim_start();
        let Some(text) = rest.strip_prefix('"') else {
            continue;
        };
        let start = line.len() - text.len();
        return text.find('"').map(|length| start..start + length);
    }
    None
}

/// Returns a path without `.` and `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(result.pop()),
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder))
        .into_iter()
        .flatten()
        .flatten()
    {
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &path, found);
        } else if path.extension().is_some_and(|it| it == "rs")
            && path.file_name().is_some_and(|name| name != "build.rs")
        {
            found.extend(path.to_str().map(str::to_owned));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_out_of_the_workspace_become_absolute() {
        let text = "[lib]\npath = \"src/x.rs\"\n[dependencies]\na = { version = \"1\", path = \"../../out/a\" }\n\
                    b = { path = \"../b\" }\nc = { path=\"/c\" }\nxpath = \"../../../d\"\n";
        let repaired = with_absolute_paths(text, Path::new("/w/s/m"), Path::new("/w/s"));
        let expected = text.replace("../../out/a", "/w/out/a");
        assert_eq!(repaired, expected);
    }
}
