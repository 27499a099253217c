//! The compilers, with what raddle needs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use clap::Args;

use super::error::Problem;
use super::library;
use crate::commands::error::Error;
use crate::toolchain::cargo::Verdict;

#[derive(Args, Debug, PartialEq)]
#[command(disable_help_flag = true)]
pub struct CompilerArguments {
    /// Arguments for the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub for_compiler: Vec<OsString>,
}

/// Every access is seen by the library, and every line is known.
const COMPILE: [&str; 6] = [
    "-g",
    "-O1",
    "-fsanitize=thread",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
];
const GCC: [&str; 1] = ["-Wno-tsan"];
/// A value that is read and then written is read, too.
const CLANG: [&str; 3] = [
    "-mllvm",
    "-tsan-instrument-read-before-write",
    "-Wno-unused-command-line-argument",
];
/// Some accesses of several values at once would not be seen. Clang forgets these if the user's `-O2`
/// comes later.
const GCC_LAST: [&str; 1] = ["-fno-tree-vectorize"];
const CLANG_LAST: [&str; 2] = ["-fno-vectorize", "-fno-slp-vectorize"];
/// Instead of the runtime that clang would link.
const CLANG_LINK: [&str; 4] = [
    "-fno-sanitize-link-runtime",
    "-Wl,--push-state,--no-as-needed",
    "-ltsan",
    "-Wl,--pop-state",
];
const COPIES: &str = "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset";
/// With these a compiler does not link.
const NO_LINKING: [&str; 6] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Gcc,
    Clang,
}

/// Runs the compiler for C.
pub fn cc(options: CompilerArguments) -> Result<Verdict, Error> {
    compile(compiler("RADDLE_CC", "gcc"), &options.for_compiler)
}

/// Runs the compiler for C++.
pub fn cxx(options: CompilerArguments) -> Result<Verdict, Error> {
    compile(compiler("RADDLE_CXX", "g++"), &options.for_compiler)
}

fn compiler(variable: &str, usual: &str) -> OsString {
    let wanted = env::var_os(variable).filter(|wanted| !wanted.is_empty());
    wanted.unwrap_or_else(|| usual.into())
}

fn compile(compiler: OsString, arguments: &[OsString]) -> Result<Verdict, Error> {
    let library = library::find()?;
    let folder = library::swap(&library)?;
    let family = family(&compiler);
    let mut command = Command::new(&compiler);
    command.args(flags(family, arguments, &folder));
    let status = command.status().map_err(|cause| Problem::NotStarted {
        program: compiler,
        cause,
    })?;
    // As build tools expect it of a compiler.
    Ok(match status.success() {
        true => Verdict::Passed,
        false => Verdict::Findings,
    })
}

/// All arguments of the compiler. What the user says comes after most of what raddle says, and wins.
fn flags(family: Family, arguments: &[OsString], folder: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = COMPILE.map(OsString::from).to_vec();
    match family {
        Family::Gcc => flags.extend(GCC.map(OsString::from)),
        Family::Clang => flags.extend(CLANG.map(OsString::from)),
    }
    flags.extend(["-I".into(), folder.into()]);
    let links = !arguments
        .iter()
        .any(|it| NO_LINKING.iter().any(|no| it == no));
    if links {
        flags.extend(["-L".into(), folder.into(), COPIES.into()]);
        let mut path = OsString::from("-Wl,-rpath,");
        path.push(folder);
        flags.push(path);
        // Before other libraries, so that what is in both is ours.
        if family == Family::Clang {
            flags.extend(CLANG_LINK.map(OsString::from));
        }
    }
    flags.extend(arguments.iter().cloned());
    match family {
        Family::Gcc => flags.extend(GCC_LAST.map(OsString::from)),
        Family::Clang => flags.extend(CLANG_LAST.map(OsString::from)),
    }
    flags
}

/// Which flags a compiler knows: by its name, or else by what it says of itself.
fn family(compiler: &OsStr) -> Family {
    let path = Path::new(compiler);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("clang") {
        return Family::Clang;
    }
    if name.contains("gcc") || name.contains("g++") {
        return Family::Gcc;
    }
    let output = Command::new(compiler).arg("--version").output();
    let says_clang = output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.contains("clang")
    });
    match says_clang {
        true => Family::Clang,
        false => Family::Gcc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(compiler: &str, arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        let flags = flags(
            family(OsStr::new(compiler)),
            &arguments,
            Path::new("/folder"),
        );
        let flags = flags.into_iter();
        flags.map(|flag| flag.into_string().unwrap()).collect()
    }

    #[test]
    fn each_compiler_has_its_flags_and_the_users_come_after_them() {
        let gcc = flags_of("/usr/bin/x86_64-linux-gnu-gcc-12", &["-O2", "a.c"]);
        assert!(!gcc.contains(&"-fno-sanitize-link-runtime".to_owned()));
        assert_eq!(gcc[gcc.len() - 3..], ["-O2", "a.c", "-fno-tree-vectorize"]);
        let clang = flags_of("clang++-19", &["a.cpp"]);
        let last = ["a.cpp", "-fno-vectorize", "-fno-slp-vectorize"];
        assert_eq!(clang[clang.len() - 3..], last);
        assert!(clang.contains(&"-fno-sanitize-link-runtime".to_owned()));
        assert!(!clang.contains(&"-Wno-tsan".to_owned()));
    }

    #[test]
    fn a_compiler_that_does_not_link_needs_no_library() {
        for compiler in ["gcc", "clang"] {
            let compile = flags_of(compiler, &["-c", "a.c"]);
            assert!(!compile.iter().any(|flag| flag.starts_with("-Wl,")));
            assert!(!compile.contains(&"-L".to_owned()));
        }
    }
}
