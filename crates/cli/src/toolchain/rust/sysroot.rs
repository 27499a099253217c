//! A standard library that is instrumented like everything else, beside raddle's library.
//!
//! Without it raddle knows of std's locks, channels and threads by their names, and the rest of std runs as
//! one step between calls of something that is controlled. With it, accesses inside of std are seen, too.
//! Cargo builds std from its sources with a flag that is not stable, so the compiler is told to take it; what
//! comes of it is used by stable means, as a folder that is named as the compiler's own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rustc::{Compiler, Recipe};
use super::{Control, flags};
use crate::commands::error::Error;
use crate::toolchain::cargo::Verdict;
use crate::toolchain::error::Problem;

/// Is there once all of it is.
const COMPLETE: &str = "complete";
/// A crate that needs all of std.
const MANIFEST: &str = "\
[package]
name = \"raddle-std\"
version = \"0.0.0\"
edition = \"2021\"

[workspace]
";

/// How the user says which standard library is to be used, if not that which is there.
const VARIABLE: &str = "RADDLE_STD";
const INSTRUMENTED: &str = "instrumented";
const PLAIN: &str = "plain";

/// Where it is, if it was built for this compiler and is wanted.
pub fn find_wanted(control: &Control, compiler: &Compiler, recipe: Recipe) -> Option<PathBuf> {
    let found = find(control, compiler, recipe);
    match std::env::var(VARIABLE).unwrap_or_default().trim() {
        "" => found,
        PLAIN => None,
        INSTRUMENTED => {
            if found.is_none() {
                eprintln!(
                    "raddle: {VARIABLE}: `cargo raddle setup --std` builds such a library; there is none yet"
                );
            }
            found
        }
        other => {
            eprintln!("raddle: {VARIABLE}: `{other}` is none of: {INSTRUMENTED}, {PLAIN}");
            found
        }
    }
}

fn find(control: &Control, compiler: &Compiler, recipe: Recipe) -> Option<PathBuf> {
    let folder = folder(control, compiler);
    let built_for = fs::read_to_string(folder.join(COMPLETE)).ok()?;
    (built_for == note(compiler, recipe)).then_some(folder)
}

/// What such a library is good for: this compiler, and programs that are compiled in the same way.
fn note(compiler: &Compiler, recipe: Recipe) -> String {
    let flags = flags::instrumenting(recipe).join("\n");
    format!("{}{flags}\n", compiler.version)
}

fn folder(control: &Control, compiler: &Compiler) -> PathBuf {
    let plain = |c: char| match c.is_alphanumeric() || ".-".contains(c) {
        true => c,
        false => '_',
    };
    let name: String = compiler.name().chars().map(plain).collect();
    control.library.with_file_name("raddle-std").join(name)
}

/// Builds it for the compiler that is used here.
pub fn set_up() -> Result<Verdict, Error> {
    let control = Control::find()?;
    let compiler = Compiler::find()?;
    super::require_host(&compiler, &[])?;
    let sysroot = compiler.sysroot()?;
    let sources = sysroot.join("lib/rustlib/src/rust/library/Cargo.toml");
    if !sources.is_file() {
        return Err(Problem::NoStdSources { looked: sources }.into());
    }
    let folder = folder(&control, &compiler);
    let work = folder.with_extension("build");
    let cannot_write = |path: &Path| {
        let path = path.to_owned();
        move |cause| Problem::CannotWrite { path, cause }
    };
    prepare(&work).map_err(cannot_write(&work))?;
    let recipe = compiler.recipe(&work)?;
    build(&compiler, recipe, &work)?;
    let built = work.join("target").join(&compiler.host).join("debug/deps");
    install(&built, &folder, &sysroot, (&compiler, recipe)).map_err(cannot_write(&folder))?;
    let _ = fs::remove_dir_all(&work);
    eprintln!(
        "{} is there: `cargo raddle test --native` uses it, unless {VARIABLE} is `{PLAIN}`",
        folder.display()
    );
    Ok(Verdict::Passed)
}

/// Makes the crate that needs std.
fn prepare(work: &Path) -> io::Result<()> {
    fs::create_dir_all(work.join("src"))?;
    fs::write(work.join("Cargo.toml"), MANIFEST)?;
    fs::write(work.join("src/lib.rs"), "")
}

/// As the standard library that comes with the compiler is built, but for what it calls.
fn build(compiler: &Compiler, recipe: Recipe, work: &Path) -> Result<(), Error> {
    const SETTINGS: [&str; 4] = [
        "profile.dev.opt-level=3",
        "profile.dev.debug=1",
        "profile.dev.debug-assertions=false",
        "profile.dev.overflow-checks=false",
    ];
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.args(["build", "-Zbuild-std=std,panic_unwind,test", "--target"]);
    command.arg(&compiler.host).arg("--target-dir");
    command.arg(work.join("target")).current_dir(work);
    for setting in SETTINGS {
        command.args(["--config", setting]);
    }
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env(flags::ENCODED, flags::instrumenting(recipe).join("\u{1f}"));
    let status = command.status().map_err(|cause| Problem::NotStarted {
        program: cargo,
        cause,
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(Problem::NotBuilt { status }.into()),
    }
}

/// Puts what was built where the compiler looks for it.
fn install(
    built: &Path,
    folder: &Path,
    sysroot: &Path,
    (compiler, recipe): (&Compiler, Recipe),
) -> io::Result<()> {
    let host = Path::new("lib/rustlib").join(&compiler.host);
    let libraries = folder.join(&host).join("lib");
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(&libraries)?;
    for entry in fs::read_dir(built)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".rlib") && !name.starts_with("libraddle_std-") {
            fs::copy(&path, libraries.join(&*name))?;
        }
    }
    // The linker that comes with the compiler.
    let tools = sysroot.join(&host).join("bin");
    if tools.is_dir() {
        crate::toolchain::library::symlink(&tools, &folder.join(&host).join("bin"))?;
    }
    fs::write(folder.join(COMPLETE), note(compiler, recipe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_used_only_by_the_compiler_that_it_was_built_for() {
        let place = std::env::temp_dir().join(format!("raddle-sysroot-{}", std::process::id()));
        let control = Control {
            library: place.join("libraddle_native.so"),
            folder: place.join("raddle-tsan"),
        };
        let compiler = |version: &str| Compiler {
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
        let folder = folder(&control, &old);
        let (recipe, other) = (Recipe::Stable, Recipe::Unstable);
        install(&built, &folder, &sysroot, (&old, recipe)).unwrap();
        assert_eq!(find(&control, &old, recipe), Some(folder.clone()));
        assert_eq!(find(&control, &old, other), None);
        // The same name, but another build of it.
        let new = compiler("rustc 1.0 (a)\ncommit: 2\n");
        assert_eq!(find(&control, &new, recipe), None);
        let libraries = folder.join("lib/rustlib/x86_64-unknown-linux-gnu/lib");
        let files = fs::read_dir(libraries)
            .unwrap()
            .map(|it| it.unwrap().file_name());
        assert_eq!(files.collect::<Vec<_>>(), ["libstd-1.rlib"]);
        fs::remove_dir_all(place).unwrap();
    }
}
