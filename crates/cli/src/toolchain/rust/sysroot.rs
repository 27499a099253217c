//! An instrumented Rust standard library, installed next to raddle's library.
//!
//! Without it raddle recognises std's locks, channels and threads by the names of their functions,
//! and the rest of std runs as one step between two controlled operations. With it, accesses inside
//! std are recorded, too. Cargo builds it from std's sources with the unstable `-Zbuild-std`; the
//! result is used by the stable `--sysroot`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::flags;
use super::rustc::{Instrumentation, RustCompiler};
use crate::toolchain::environment;
use crate::toolchain::error::Error;
use crate::toolchain::library;
use crate::toolchain::native_runtime::NativeRuntime;

/// The file that is written last; it names the compiler and the flags.
const COMPLETE: &str = "complete";
/// Manifest of an empty crate: std is built as its dependency.
const MANIFEST: &str = "\
[package]
name = \"raddle-std\"
version = \"0.0.0\"
edition = \"2021\"

[workspace]
";

/// Selects a standard library; by default the instrumented one, if it is installed.
const VARIABLE: &str = "RADDLE_STD";
const INSTRUMENTED: &str = "instrumented";
const PLAIN: &str = "plain";

/// Returns the sysroot with the instrumented library, if it was built for this compiler and is
/// selected.
pub fn find_selected(
    runtime: &NativeRuntime,
    compiler: &RustCompiler,
    instrumentation: Instrumentation,
) -> Option<PathBuf> {
    let found = find(runtime, compiler, instrumentation);
    match std::env::var(VARIABLE).unwrap_or_default().trim() {
        "" => found,
        PLAIN => None,
        INSTRUMENTED => {
            if found.is_none() {
                eprintln!(
                    "raddle: {VARIABLE}: the instrumented library is not installed; run `cargo raddle setup --std`"
                );
            }
            found
        }
        other => {
            eprintln!("raddle: {VARIABLE}: `{other}` is neither `{INSTRUMENTED}` nor `{PLAIN}`");
            found
        }
    }
}

fn find(
    runtime: &NativeRuntime,
    compiler: &RustCompiler,
    instrumentation: Instrumentation,
) -> Option<PathBuf> {
    let directory = directory(runtime, compiler);
    let built_for = fs::read_to_string(directory.join(COMPLETE)).ok()?;
    (built_for == compatibility(compiler, instrumentation)).then_some(directory)
}

/// Returns the compiler and the flags with which a program must be compiled to link the library.
fn compatibility(compiler: &RustCompiler, instrumentation: Instrumentation) -> String {
    let flags = flags::instrumenting(instrumentation).join("\n");
    format!("{}{flags}\n", compiler.version)
}

fn directory(runtime: &NativeRuntime, compiler: &RustCompiler) -> PathBuf {
    let plain = |c: char| match c.is_alphanumeric() || ".-".contains(c) {
        true => c,
        false => '_',
    };
    let name: String = compiler.name().chars().map(plain).collect();
    runtime.library.with_file_name("raddle-std").join(name)
}

/// Builds and installs the library for the compiler that cargo uses, and returns its sysroot.
pub fn install() -> Result<PathBuf, Error> {
    let runtime = NativeRuntime::find()?;
    let compiler = RustCompiler::find()?;
    super::require_host(&compiler, &[])?;
    let sysroot = compiler.sysroot()?;
    let sources = sysroot.join("lib/rustlib/src/rust/library/Cargo.toml");
    if !sources.is_file() {
        return Err(Error::NoStdSources { looked: sources });
    }
    let directory = directory(&runtime, &compiler);
    let work = directory.with_extension("build");
    let cannot_write = |path: &Path| {
        let path = path.to_owned();
        move |cause| Error::CannotWrite { path, cause }
    };
    create_crate(&work).map_err(cannot_write(&work))?;
    let instrumentation = compiler.instrumentation(&work)?;
    build(&compiler, instrumentation, &work)?;
    let built = work.join("target").join(&compiler.host).join("debug/deps");
    copy(&built, &directory, &sysroot, (&compiler, instrumentation))
        .map_err(cannot_write(&directory))?;
    let _ = fs::remove_dir_all(&work);
    Ok(directory)
}

/// Writes the empty crate.
fn create_crate(work: &Path) -> io::Result<()> {
    fs::create_dir_all(work.join("src"))?;
    fs::write(work.join("Cargo.toml"), MANIFEST)?;
    fs::write(work.join("src/lib.rs"), "")
}

/// Builds std with the settings of the compiler's own std, and the instrumentation.
fn build(
    compiler: &RustCompiler,
    instrumentation: Instrumentation,
    work: &Path,
) -> Result<(), Error> {
    const SETTINGS: [&str; 4] = [
        "profile.dev.opt-level=3",
        "profile.dev.debug=1",
        "profile.dev.debug-assertions=false",
        "profile.dev.overflow-checks=false",
    ];
    let cargo = environment::cargo();
    let mut command = Command::new(&cargo);
    command.args(["build", "-Zbuild-std=std,panic_unwind,test", "--target"]);
    command.arg(&compiler.host).arg("--target-dir");
    command.arg(work.join("target")).current_dir(work);
    for setting in SETTINGS {
        command.args(["--config", setting]);
    }
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env(
        flags::ENCODED,
        flags::instrumenting(instrumentation).join("\u{1f}"),
    );
    let status = command.status().map_err(|cause| Error::NotStarted {
        program: cargo,
        cause,
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::NotBuilt { status }),
    }
}

/// Copies the artifacts to the directories in which the compiler searches for them.
fn copy(
    built: &Path,
    directory: &Path,
    sysroot: &Path,
    (compiler, instrumentation): (&RustCompiler, Instrumentation),
) -> io::Result<()> {
    let host = Path::new("lib/rustlib").join(&compiler.host);
    let libraries = directory.join(&host).join("lib");
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(&libraries)?;
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".rlib") && !name.starts_with("libraddle_std-") {
            fs::copy(&path, libraries.join(&*name))?;
        }
    }
    // The compiler's own linker.
    let tools = sysroot.join(&host).join("bin");
    if tools.is_dir() {
        library::symlink(&tools, &directory.join(&host).join("bin"))?;
    }
    fs::write(
        directory.join(COMPLETE),
        compatibility(compiler, instrumentation),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_compiler_that_it_was_built_for_uses_it() {
        let place = std::env::temp_dir().join(format!("raddle-sysroot-{}", std::process::id()));
        let runtime = NativeRuntime {
            library: place.join("libraddle_native.so"),
            tsan_directory: place.join("raddle-tsan"),
        };
        let compiler = |version: &str| RustCompiler {
            program: "rustc".into(),
            version: version.to_owned(),
            host: "x86_64-unknown-linux-gnu".to_owned(),
        };
        let old = compiler("rustc 1.0 (a)\ncommit: 1\n");
        let (built, sysroot) = (place.join("built"), place.join("sysroot"));
        fs::create_dir_all(&built).unwrap();
        for name in ["libstd-1.rlib", "libraddle_std-2.rlib", "libstd-1.d"] {
            fs::write(built.join(name), "").unwrap();
        }
        let directory = directory(&runtime, &old);
        let (used, other) = (Instrumentation::Stable, Instrumentation::Unstable);
        copy(&built, &directory, &sysroot, (&old, used)).unwrap();
        assert_eq!(find(&runtime, &old, used), Some(directory.clone()));
        assert_eq!(find(&runtime, &old, other), None);
        // Another build of the same version.
        let new = compiler("rustc 1.0 (a)\ncommit: 2\n");
        assert_eq!(find(&runtime, &new, used), None);
        let libraries = directory.join("lib/rustlib/x86_64-unknown-linux-gnu/lib");
        let files = fs::read_dir(libraries)
            .unwrap()
            .map(|it| it.unwrap().file_name());
        assert_eq!(files.collect::<Vec<_>>(), ["libstd-1.rlib"]);
        fs::remove_dir_all(place).unwrap();
    }
}
