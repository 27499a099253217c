//! The runtime library for native programs, `libraddle_native.so`: finding, building and installing it.
//!
//! Instrumented programs link against ThreadSanitizer's runtime. A directory with links of its names to
//! raddle's library makes the linker and the loader take raddle's instead.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use crate::toolchain::environment;
use crate::toolchain::error::Error;

const HEADER: &[u8] = include_bytes!("../../include/raddle.h");
const LIBRARY: &str = "libraddle_native.so";
/// Names of ThreadSanitizer's runtime for the linker and the loader.
const TSAN_NAMES: [&str; 4] = [
    "libtsan.so",
    "libtsan.so.2",
    "libtsan.so.0",
    "libclang_rt.tsan-x86_64.so",
];
/// Manifest of the library in the checkout that this executable was built in.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../native/Cargo.toml");
/// Manifest of a crate that depends on the library of the same version from the registry.
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

/// Returns the path where the library is installed: next to this executable.
fn default_path() -> Result<PathBuf, Error> {
    if !cfg!(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu"
    )) {
        return Err(Error::UnsupportedHost);
    }
    let program = env::current_exe().unwrap_or_default();
    Ok(program.with_file_name(LIBRARY))
}

/// Returns the absolute path of the installed library.
pub fn find() -> Result<PathBuf, Error> {
    let default = default_path()?;
    let looked = env::var_os("RADDLE_LIBRARY").map_or(default, PathBuf::from);
    match fs::canonicalize(&looked) {
        Ok(library) => Ok(library),
        Err(_) => Err(Error::NoLibrary { looked }),
    }
}

/// Fills a directory next to the library with the header and the links of ThreadSanitizer's names.
pub fn link_as_tsan(library: &Path) -> Result<PathBuf, Error> {
    let directory = library.with_file_name("raddle-tsan");
    let error = |path: &Path| {
        let path = path.to_owned();
        move |cause| Error::CannotWrite { path, cause }
    };
    fs::create_dir_all(&directory).map_err(error(&directory))?;
    let header = directory.join("raddle.h");
    if fs::read(&header).ok().as_deref() != Some(HEADER) {
        fs::write(&header, HEADER).map_err(error(&header))?;
    }
    for name in TSAN_NAMES {
        let link = directory.join(name);
        if fs::canonicalize(&link).ok().as_deref() == Some(library) {
            continue;
        }
        let _ = fs::remove_file(&link);
        match symlink(library, &link) {
            // Another process was faster.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.map_err(error(&link))?,
        }
    }
    Ok(directory)
}

#[cfg(unix)]
pub fn symlink(to: &Path, from: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

#[cfg(not(unix))]
pub fn symlink(_to: &Path, _from: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Builds the library, from the checkout if it exists and else from the registry, and installs it.
pub fn install() -> Result<PathBuf, Error> {
    let installed = default_path()?;
    match fs::canonicalize(SOURCES) {
        Ok(manifest) => build(&manifest, &installed),
        Err(_) => {
            let directory = env::temp_dir().join(format!("raddle-native-{}", process::id()));
            let built = build_from_registry(&directory, &installed);
            // A failure leaves files in the system's temporary directory only.
            let _ = fs::remove_dir_all(&directory);
            built
        }
    }?;
    Ok(installed)
}

/// Builds the registry's version in an empty directory.
fn build_from_registry(directory: &Path, installed: &Path) -> Result<(), Error> {
    let manifest = directory.join("Cargo.toml");
    fs::create_dir(directory)
        .and_then(|()| fs::write(directory.join("lib.rs"), ""))
        .and_then(|()| fs::write(&manifest, MANIFEST))
        .map_err(|cause| Error::CannotWrite {
            path: directory.to_owned(),
            cause,
        })?;
    build(&manifest, installed)
}

/// Builds the library with this manifest and installs it.
fn build(manifest: &Path, installed: &Path) -> Result<(), Error> {
    let cargo = environment::cargo();
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
    let output = output.map_err(|cause| Error::NotStarted {
        program: cargo,
        cause,
    })?;
    let built = artifact(&String::from_utf8_lossy(&output.stdout));
    let (true, Some(built)) = (output.status.success(), built) else {
        let status = output.status;
        return Err(Error::NotBuilt { status });
    };
    if fs::canonicalize(&built).ok() != fs::canonicalize(installed).ok() {
        // Renaming leaves the old file to processes that have loaded it.
        let new = installed.with_extension("so.new");
        let copied = fs::copy(&built, &new).and_then(|_| fs::rename(&new, installed));
        copied.map_err(|cause| Error::CannotWrite {
            path: installed.to_owned(),
            cause,
        })?;
    }
    Ok(())
}

/// Returns the path of the library in cargo's messages.
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
