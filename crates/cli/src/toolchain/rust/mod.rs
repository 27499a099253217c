//! Builds unmodified Rust crates with instrumentation, so that raddle controls their operations.
//!
//! The compiler instruments the crate and its dependencies as for ThreadSanitizer. Build scripts and
//! procedural macros are not instrumented, because cargo builds them for the host and `--target` is given.
//! The artifacts are in a directory of their own below the target directory.

mod flags;
mod rustc;
pub mod sysroot;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::toolchain::binaries::TestBinary;
use crate::toolchain::cargo::{BuildOptions, Cargo};
use crate::toolchain::error::Error;
use crate::toolchain::native_runtime::NativeRuntime;
use rustc::{Instrumentation, RustCompiler};

/// Builds the tests of a crate and returns their binaries. Binaries that use raddle are left out.
pub fn build_tests(
    cargo: &Cargo,
    arguments: &[OsString],
    as_json: bool,
) -> Result<Vec<TestBinary>, Error> {
    let runtime = NativeRuntime::find()?;
    let options = build_options(cargo, &runtime, arguments)?;
    let cargo = cargo.with_options(options);
    let mut binaries = cargo.build_binaries(arguments, as_json)?;
    binaries.retain_mut(|binary| {
        let uses_raddle = binary.uses_raddle();
        match uses_raddle {
            true => eprintln!(
                "warning: the tests of `{}` are skipped: they use raddle's own types\n  \
                 help: check them with `cargo raddle test`",
                binary.name
            ),
            false => binary.attach(&runtime),
        }
        !uses_raddle
    });
    Ok(binaries)
}

/// Builds a program of a crate: the one that the arguments select, or else that of `default-run`.
pub fn build_program(
    cargo: &Cargo,
    runtime: &NativeRuntime,
    arguments: &[OsString],
) -> Result<PathBuf, Error> {
    let options = build_options(cargo, runtime, arguments)?;
    let mut found = cargo.with_options(options).build_programs(arguments)?;
    if found.len() > 1
        && let Some(default) = cargo.default_program()?
    {
        found.retain(|path| path.file_name().is_some_and(|name| *name == *default));
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(Error::NoSingleProgram { found }),
    }
}

/// Returns the options for a build with these arguments of the user.
fn build_options(
    cargo: &Cargo,
    runtime: &NativeRuntime,
    arguments: &[OsString],
) -> Result<BuildOptions, Error> {
    let compiler = RustCompiler::find()?;
    require_host(&compiler, arguments)?;
    let directory = cargo.target_directory()?.join("raddle-native");
    let instrumentation = compiler.instrumentation(&directory)?;
    let sysroot = sysroot::find_selected(runtime, &compiler, instrumentation);
    let mut flags = flags::raddle_flags(instrumentation, runtime, sysroot.as_deref());
    let profile = Profile::selected(arguments);
    if profile.is_optimised {
        eprintln!(
            "raddle: optimised code: inlined functions do not appear in failures, and source locations are less \
             exact"
        );
        flags.extend(flags::optimised_flags(&directory.join("incremental")));
    }
    let mut options = BuildOptions::default();
    let mut add = |word: &str| options.arguments.push(word.into());
    add("--target");
    add(&compiler.host);
    options.target = Some(directory);
    for setting in profile.settings() {
        options
            .arguments
            .extend(["--config".into(), setting.into()]);
    }
    match flags::from_environment() {
        Some(mut users) => {
            users.extend(flags);
            let all = users.join("\u{1f}");
            options.environment.push((flags::ENCODED, all.into()));
        }
        None => {
            let mut all = flags::from_config(cargo, &compiler.host);
            all.extend(flags);
            let setting = flags::config_argument(&compiler.host, &all);
            options
                .arguments
                .extend(["--config".into(), setting.into()]);
        }
    }
    if instrumentation == Instrumentation::Unstable {
        options.environment.push(("RUSTC_BOOTSTRAP", "1".into()));
    }
    eprintln!(
        "raddle: using the {} standard library",
        match sysroot {
            None => "uninstrumented",
            Some(_) => "instrumented",
        }
    );
    Ok(options)
}

/// Refuses compilers for other hosts, and a `--target` of the user.
fn require_host(compiler: &RustCompiler, arguments: &[OsString]) -> Result<(), Error> {
    if !compiler.host.starts_with("x86_64-") || !compiler.host.ends_with("-linux-gnu") {
        return Err(Error::UnsupportedHost);
    }
    let words: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
    let mut targets = words.iter().enumerate().filter_map(|(index, word)| {
        let next = words.get(index + 1).filter(|_| word == "--target");
        word.strip_prefix("--target=")
            .or(next.map(|next| next.as_ref()))
    });
    match targets.next() {
        Some(target) => Err(Error::TargetGiven {
            target: target.to_owned(),
            is_host: target == compiler.host,
        }),
        None => Ok(()),
    }
}

/// The profile that cargo builds with.
struct Profile {
    /// False only if it is known that nothing is optimised.
    is_optimised: bool,
    /// Its names in cargo's configuration.
    names: Vec<String>,
}

impl Profile {
    /// Returns the profile that the user's arguments select.
    fn selected(arguments: &[OsString]) -> Profile {
        let words: Vec<_> = arguments.iter().map(|it| it.to_string_lossy()).collect();
        let is_release = words.iter().any(|it| it == "--release" || it == "-r");
        let given = words.iter().enumerate().find_map(|(index, word)| {
            let next = words.get(index + 1).filter(|_| word == "--profile");
            word.strip_prefix("--profile=")
                .or(next.map(|next| next.as_ref()))
        });
        let name = given.unwrap_or(if is_release { "release" } else { "test" });
        let (is_optimised, names) = match name {
            "release" | "bench" => (true, vec!["release", "bench"]),
            "dev" | "test" => (false, vec!["dev", "test"]),
            // A profile of the user's own may be optimised.
            own => (true, vec![own]),
        };
        let names = names.into_iter().map(str::to_owned).collect();
        Profile {
            is_optimised,
            names,
        }
    }

    /// Returns its settings: complete debug information, and no optimisation unless the user requests it.
    fn settings(&self) -> Vec<String> {
        let mut settings = Vec::new();
        for profile in &self.names {
            // What is optimised together with std has no functions of std's that could be recognised.
            let always = [
                "debug=2",
                "strip=\"none\"",
                "split-debuginfo=\"off\"",
                "lto=\"off\"",
            ];
            for setting in always {
                settings.push(format!("profile.{profile}.{setting}"));
            }
            if !self.is_optimised {
                settings.push(format!("profile.{profile}.opt-level=0"));
                settings.push(format!("profile.{profile}.package.\"*\".opt-level=0"));
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiler() -> RustCompiler {
        RustCompiler {
            program: "rustc".into(),
            version: "rustc 1.95.0".to_owned(),
            host: "x86_64-unknown-linux-gnu".to_owned(),
        }
    }

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn profile_settings(arguments: &[&str]) -> Vec<String> {
        Profile::selected(&words(arguments)).settings()
    }

    #[test]
    fn another_target_is_refused_in_both_notations() {
        let other = |arguments: &[&str]| require_host(&compiler(), &words(arguments)).is_err();
        assert!(!other(&["--lib", "--release"]));
        assert!(other(&["--target", "x86_64-unknown-linux-musl"]));
        assert!(other(&["--target=x86_64-unknown-linux-gnu"]));
    }

    #[test]
    fn a_compiler_for_another_system_is_refused() {
        for host in ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu"] {
            let host = host.to_owned();
            let compiler = RustCompiler { host, ..compiler() };
            assert!(require_host(&compiler, &[]).is_err());
        }
    }

    #[test]
    fn only_unoptimised_profiles_are_changed() {
        let is_unoptimised =
            |settings: Vec<String>| settings.iter().any(|it| it.contains("opt-level"));
        assert!(is_unoptimised(profile_settings(&["--lib"])));
        assert!(!is_unoptimised(profile_settings(&["--lib", "--release"])));
        for profile in [&["--profile", "release"][..], &["--profile=release"]] {
            assert!(!is_unoptimised(profile_settings(profile)));
        }
        assert!(is_unoptimised(profile_settings(&["--profile", "dev"])));
        let own = profile_settings(&["--profile", "fast"]);
        assert!(own.contains(&"profile.fast.debug=2".to_owned()), "{own:?}");
        assert!(
            own.iter()
                .all(|setting| setting.starts_with("profile.fast."))
        );
    }
    #[test]
    fn no_program_is_optimised_together_with_std() {
        for (arguments, profile) in [("--lib", "dev"), ("--release", "release")] {
            let settings = profile_settings(&[arguments]);
            assert!(settings.contains(&format!("profile.{profile}.lto=\"off\"")));
        }
    }
}
