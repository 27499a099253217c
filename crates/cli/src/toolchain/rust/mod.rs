//! Rust crates as they are: how cargo is told to build them so that raddle sees what they do.
//!
//! The compiler instruments the crate and all that it depends on, as for ThreadSanitizer. Build scripts and
//! procedural macros are left alone, because there is a `--target`. What is built has a folder of its own
//! below the target folder.

mod flags;
mod rustc;
pub mod sysroot;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::commands::error::Error;
use crate::commands::run::with_first;
use crate::toolchain::binaries::Binary;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::Problem;
use crate::toolchain::library;
use rustc::{Compiler, Recipe};

/// What cargo is told besides what the user tells it.
#[derive(Debug, Default)]
pub struct Build {
    /// After the name of cargo's command.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(&'static str, OsString)>,
}

/// Where the library is that runs what was built.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    pub library: PathBuf,
    /// The folder in which it has other names.
    pub folder: PathBuf,
}

impl Control {
    pub fn find() -> Result<Self, Problem> {
        let library = library::find()?;
        let folder = library::swap(&library)?;
        Ok(Control { library, folder })
    }

    /// Has a command run under control: each test of its harness, or the whole program.
    pub fn put_on(&self, command: &mut Command, has_harness: bool) {
        const LIBRARIES: &str = "LD_LIBRARY_PATH";
        fix_addresses();
        let what = if has_harness { "test" } else { "program" };
        let given = command.get_envs().find(|(name, _)| *name == LIBRARIES);
        let given = given.and_then(|(_, value)| value.map(OsString::from));
        let given = given.or_else(|| std::env::var_os(LIBRARIES));
        command.env("RADDLE_NATIVE", what);
        command.env("RADDLE_PARENT", std::process::id().to_string());
        command.env("LD_PRELOAD", &self.library);
        command.env(LIBRARIES, with_first(given, &self.folder));
    }
}

/// From now on programs that are started have the same addresses each time: some hash them, and what they do
/// then would differ from run to run, and a schedule not fit any more. Where that is forbidden, it is left so.
#[cfg(target_os = "linux")]
fn fix_addresses() {
    use nix::sys::personality::{self, Persona};
    let _ = personality::get().and_then(|now| personality::set(now | Persona::ADDR_NO_RANDOMIZE));
}

#[cfg(not(target_os = "linux"))]
fn fix_addresses() {}

/// Which program of a crate is meant.
#[derive(Args, Debug, Default, PartialEq)]
pub struct Choice {
    /// Check this program of the crate.
    #[arg(long, value_name = "NAME", conflicts_with = "example")]
    pub bin: Option<String>,

    /// Check this example of the crate.
    #[arg(long, value_name = "NAME")]
    pub example: Option<String>,

    /// The package that has the program.
    #[arg(short, long, value_name = "PACKAGE")]
    pub package: Option<String>,

    /// Build with these features.
    #[arg(short = 'F', long)]
    pub features: Option<String>,

    /// Build optimised code.
    #[arg(short, long)]
    pub release: bool,
}

impl Choice {
    /// Whether a program of the crate is meant, and not one that is there already.
    pub fn is_made(&self) -> bool {
        *self != Choice::default()
    }

    fn arguments(&self) -> Vec<OsString> {
        let flags = [
            ("--bin", &self.bin),
            ("--example", &self.example),
            ("--package", &self.package),
            ("--features", &self.features),
        ];
        let mut arguments: Vec<OsString> = Vec::new();
        for (flag, value) in flags {
            if let Some(value) = value {
                arguments.extend([flag.into(), value.into()]);
            }
        }
        arguments.extend(self.release.then(|| "--release".into()));
        arguments
    }
}

/// Builds the tests of a crate; the binaries that have them.
pub fn build_tests(
    cargo: &Cargo,
    arguments: &[OsString],
    as_json: bool,
) -> Result<Vec<Binary>, Error> {
    let control = Control::find()?;
    let build = prepare(cargo, &control, arguments)?;
    let mut binaries = cargo.building(build).build_binaries(arguments, as_json)?;
    binaries.retain_mut(|binary| {
        let is_controlled_already = binary.uses_raddle();
        match is_controlled_already {
            true => eprintln!(
                "warning: the tests of `{}` are left out: they use raddle's own types\n  \
                 help: `cargo raddle test` checks them",
                binary.name
            ),
            false => binary.put_under(&control),
        }
        !is_controlled_already
    });
    Ok(binaries)
}

/// Builds a program of a crate.
pub fn build_program(cargo: &Cargo, control: &Control, choice: &Choice) -> Result<PathBuf, Error> {
    let arguments = choice.arguments();
    let build = prepare(cargo, control, &arguments)?;
    let mut found = cargo.building(build).build_programs(&arguments)?;
    if found.len() > 1
        && let Some(usual) = cargo.default_program()?
    {
        found.retain(|path| path.file_name().is_some_and(|name| *name == *usual));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(Problem::NoSingleProgram { found }.into()),
    }
}

/// Finds out how a crate is built; `arguments` are the user's for cargo.
pub fn prepare(cargo: &Cargo, control: &Control, arguments: &[OsString]) -> Result<Build, Error> {
    let compiler = Compiler::find()?;
    require_host(&compiler, arguments)?;
    let folder = cargo.target_directory()?.join("raddle-native");
    let recipe = compiler.recipe(&folder)?;
    let sysroot = sysroot::find_wanted(control, &compiler, recipe);
    let flags = flags::ours(recipe, control, sysroot.as_deref());
    let mut build = Build::default();
    let mut add = |word: &str| build.arguments.push(word.into());
    add("--target");
    add(&compiler.host);
    add("--target-dir");
    build.arguments.push(folder.into());
    for setting in profile(arguments) {
        build.arguments.extend(["--config".into(), setting.into()]);
    }
    match flags::of_environment() {
        Some(mut users) => {
            users.extend(flags);
            let all = users.join("\u{1f}");
            build.environment.push((flags::ENCODED, all.into()));
        }
        None => {
            let mut all = flags::of_config(cargo, &compiler.host);
            all.extend(flags);
            let setting = flags::setting(&compiler.host, &all);
            build.arguments.extend(["--config".into(), setting.into()]);
        }
    }
    if recipe == Recipe::Unstable {
        build.environment.push(("RUSTC_BOOTSTRAP", "1".into()));
    }
    say_which_std(sysroot.as_deref());
    Ok(build)
}

fn say_which_std(sysroot: Option<&Path>) {
    match sysroot {
        None => eprintln!("raddle: with the standard library as it is"),
        Some(_) => eprintln!("raddle: with the standard library of `cargo raddle setup --std`"),
    }
}

/// Programs run here, so they are built for here.
fn require_host(compiler: &Compiler, arguments: &[OsString]) -> Result<(), Problem> {
    if !compiler.host.starts_with("x86_64-") || !compiler.host.ends_with("-linux-gnu") {
        return Err(Problem::WrongSystem);
    }
    let words: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
    let mut targets = words.iter().enumerate().filter_map(|(index, word)| {
        let next = words.get(index + 1).filter(|_| word == "--target");
        word.strip_prefix("--target=")
            .or(next.map(|next| next.as_ref()))
    });
    match targets.next() {
        // Cargo would be told twice.
        Some(target) => Err(Problem::OtherTarget {
            target: target.to_owned(),
            is_host: target == compiler.host,
        }),
        None => Ok(()),
    }
}

/// Settings of the profiles: every line is known, and unless the user asks for optimised code, every function
/// is there as it was written.
fn profile(arguments: &[OsString]) -> Vec<String> {
    const OPTIMISED: [&str; 3] = ["--release", "-r", "--profile=release"];
    let is_optimised = arguments
        .iter()
        .any(|it| OPTIMISED.iter().any(|name| it == name));
    let profiles: &[&str] = match is_optimised {
        true => &["release", "bench"],
        false => &["dev", "test"],
    };
    let mut settings = Vec::new();
    for profile in profiles {
        for setting in ["debug=2", "strip=\"none\"", "split-debuginfo=\"off\""] {
            settings.push(format!("profile.{profile}.{setting}"));
        }
        if !is_optimised {
            settings.push(format!("profile.{profile}.opt-level=0"));
            settings.push(format!("profile.{profile}.package.\"*\".opt-level=0"));
        }
    }
    if is_optimised {
        eprintln!(
            "raddle: optimised code: what was inlined or left out is in no story, and the places of the rest \
             are less exact"
        );
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler() -> Compiler {
        Compiler {
            program: "rustc".into(),
            version: "rustc 1.95.0".to_owned(),
            host: "x86_64-unknown-linux-gnu".to_owned(),
        }
    }

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn another_target_is_refused_however_it_is_named() {
        let other = |arguments: &[&str]| require_host(&compiler(), &words(arguments)).is_err();
        assert!(!other(&["--lib", "--release"]));
        assert!(other(&["--target", "x86_64-unknown-linux-musl"]));
        assert!(other(&["--target=x86_64-unknown-linux-gnu"]));
    }

    #[test]
    fn a_compiler_for_another_system_is_refused() {
        for host in ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu"] {
            let host = host.to_owned();
            let compiler = Compiler { host, ..compiler() };
            assert!(require_host(&compiler, &[]).is_err());
        }
    }

    #[test]
    fn only_code_that_is_not_to_be_optimised_is_not() {
        let is_slow = |settings: Vec<String>| settings.iter().any(|it| it.contains("opt-level"));
        assert!(is_slow(profile(&words(&["--lib"]))));
        assert!(!is_slow(profile(&words(&["--lib", "--release"]))));
    }
}
