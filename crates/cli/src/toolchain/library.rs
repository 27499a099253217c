//! The library: where it is, how it is built, and a folder in which it has other names.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use super::error::Problem;
use crate::commands::error::Error;
use crate::toolchain::cargo::Verdict;

const HEADER: &[u8] = include_bytes!("../../include/raddle.h");
const LIBRARY: &str = "libraddle_native.so";
/// What the loader and the linker look for in programs that were built for ThreadSanitizer.
const NAMES: [&str; 4] = [
    "libtsan.so",
    "libtsan.so.2",
    "libtsan.so.0",
    "libclang_rt.tsan-x86_64.so",
];
/// What it is built from, if this program was built in a checkout.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../native/Cargo.toml");
/// A crate that has it built from the registry, in the version of this program.
const MANIFEST: &str = concat!(
    r#"[package]
name = "raddle-native-library"
version = "0.0.0"
edition = "2024"

[lib]
path = "lib.rs"

[dependencies]
raddle-native = "="#,
    env!("CARGO_PKG_VERSION"),
    r#""

[profile.release]
lto = "fat"
codegen-units = 1

[workspace]
"#
);

/// Where the library is put when nobody says anything else.
fn beside() -> Result<PathBuf, Problem> {
    if !cfg!(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu"
    )) {
        return Err(Problem::WrongSystem);
    }
    let program = env::current_exe().unwrap_or_default();
    Ok(program.with_file_name(LIBRARY))
}

/// Where the library is.
pub fn find() -> Result<PathBuf, Problem> {
    let beside = beside()?;
    let looked = env::var_os("RADDLE_LIBRARY").map_or(beside, PathBuf::from);
    match fs::canonicalize(&looked) {
        Ok(library) => Ok(library),
        Err(_) => Err(Problem::NoLibrary { looked }),
    }
}

/// A folder, beside the library, in which it has the names of ThreadSanitizer's runtime; with the header.
pub fn swap(library: &Path) -> Result<PathBuf, Problem> {
    let folder = library.with_file_name("raddle-tsan");
    let problem = |path: &Path| {
        let path = path.to_owned();
        move |cause| Problem::CannotWrite { path, cause }
    };
    fs::create_dir_all(&folder).map_err(problem(&folder))?;
    let header = folder.join("raddle.h");
    if fs::read(&header).ok().as_deref() != Some(HEADER) {
        fs::write(&header, HEADER).map_err(problem(&header))?;
    }
    for name in NAMES {
        let link = folder.join(name);
        if fs::canonicalize(&link).ok().as_deref() == Some(library) {
            continue;
        }
        let _ = fs::remove_file(&link);
        match symlink(library, &link) {
            // Somebody else was quicker.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.map_err(problem(&link))?,
        }
    }
    Ok(folder)
}

#[cfg(unix)]
pub fn symlink(to: &Path, from: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

#[cfg(not(unix))]
pub fn symlink(_to: &Path, _from: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Builds the library and puts it beside this program.
pub fn set_up() -> Result<Verdict, Error> {
    let beside = beside()?;
    match fs::canonicalize(SOURCES) {
        Ok(manifest) => build(&manifest, &beside),
        Err(_) => {
            let folder = env::temp_dir().join(format!("raddle-native-{}", process::id()));
            let built = build_from_registry(&folder, &beside);
            // A folder of ours among those that nobody keeps.
            let _ = fs::remove_dir_all(&folder);
            built
        }
    }?;
    eprintln!(
        "{} is there: `cargo raddle test --native`, `run`, `cc` and `c++` can be used",
        beside.display()
    );
    Ok(Verdict::Passed)
}

/// Builds what the registry has, in this folder.
fn build_from_registry(folder: &Path, beside: &Path) -> Result<(), Problem> {
    let manifest = folder.join("Cargo.toml");
    fs::create_dir(folder)
        .and_then(|()| fs::write(folder.join("lib.rs"), ""))
        .and_then(|()| fs::write(&manifest, MANIFEST))
        .map_err(|cause| Problem::CannotWrite {
            path: folder.to_owned(),
            cause,
        })?;
    build(&manifest, beside)
}

/// Builds it with this manifest, and puts it where it is looked for.
fn build(manifest: &Path, beside: &Path) -> Result<(), Problem> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(&cargo);
    build.args([
        "build",
        "--release",
        "--message-format",
        "json-render-diagnostics",
        "--package",
        "raddle-native",
    ]);
    build.arg("--manifest-path").arg(manifest);
    build.stdout(Stdio::piped());
    let output = build.spawn().and_then(|child| child.wait_with_output());
    let output = output.map_err(|cause| Problem::NotStarted {
        program: cargo,
        cause,
    })?;
    let built = artifact(&String::from_utf8_lossy(&output.stdout));
    let (true, Some(built)) = (output.status.success(), built) else {
        let status = output.status;
        return Err(Problem::NotBuilt { status });
    };
    if fs::canonicalize(&built).ok() != fs::canonicalize(beside).ok() {
        // Whoever uses an older one goes on to use that.
        let new = beside.with_extension("so.new");
        let copied = fs::copy(&built, &new).and_then(|_| fs::rename(&new, beside));
        copied.map_err(|cause| Problem::CannotWrite {
            path: beside.to_owned(),
            cause,
        })?;
    }
    Ok(())
}

/// The library among what cargo says that it has built.
fn artifact(messages: &str) -> Option<PathBuf> {
    let mut messages = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let files = message["filenames"].as_array()?.iter();
        let mut files = files.filter_map(|file| file.as_str());
        files
            .find(|file| file.ends_with(LIBRARY))
            .map(PathBuf::from)
    });
    messages.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_among_cargos_messages() {
        let messages = r#"
{"reason":"compiler-artifact","filenames":["/t/release/libother.rlib"]}
{"reason":"compiler-artifact","filenames":["/t/release/libraddle_native.so"]}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(
            artifact(messages),
            Some("/t/release/libraddle_native.so".into())
        );
        assert_eq!(artifact("{}\n"), None);
    }
}
