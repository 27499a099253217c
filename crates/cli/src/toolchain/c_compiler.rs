//! C and C++ compilers, with the flags that raddle needs.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::toolchain::environment;
use crate::toolchain::error::Error;
use crate::toolchain::native_runtime::NativeRuntime;

/// Instruments every access, copies included, and keeps line numbers. Without optimisation, because a
/// compiler that optimises leaves out loads of unused values, and with them their races. A level among the
/// user's flags comes later and takes precedence.
const COMPILE: [&str; 6] = [
    "-g",
    "-O0",
    "-fsanitize=thread",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
];
const GCC: [&str; 1] = ["-Wno-tsan"];
/// Includes reads that are followed by a write of the same location, which clang leaves out by default.
const CLANG: [&str; 3] = [
    "-mllvm",
    "-tsan-instrument-read-before-write",
    "-Wno-unused-command-line-argument",
];
/// Vectorised accesses are not instrumented completely, and hoisted loads are not in the source. These come
/// last, because clang drops them if the user's `-O2` follows.
const GCC_LAST: [&str; 2] = ["-fno-tree-vectorize", "-fno-hoist-adjacent-loads"];
const CLANG_LAST: [&str; 2] = ["-fno-vectorize", "-fno-slp-vectorize"];
/// Links raddle's library instead of clang's ThreadSanitizer runtime.
const CLANG_LINK: [&str; 4] = [
    "-fno-sanitize-link-runtime",
    "-Wl,--push-state,--no-as-needed",
    "-ltsan",
    "-Wl,--pop-state",
];
/// Redirects copies in the program to raddle's library.
const COPIES: &str = "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset";
/// Flags with which a compiler does not link.
const NO_LINKING: [&str; 6] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cxx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompilerFamily {
    Gcc,
    Clang,
}

/// Runs the compiler of a language.
pub fn compile(language: Language, arguments: &[OsString]) -> Result<ExitStatus, Error> {
    let compiler = match language {
        Language::C => compiler("RADDLE_CC", "gcc"),
        Language::Cxx => compiler("RADDLE_CXX", "g++"),
    };
    let directory = NativeRuntime::find()?.tsan_directory;
    let mut command = Command::new(&compiler);
    command.args(flags(family(&compiler), arguments, &directory));
    command.status().map_err(|cause| Error::NotStarted {
        program: compiler,
        cause,
    })
}

fn compiler(variable: &str, default: &str) -> OsString {
    environment::variable(variable).unwrap_or_else(|| default.into())
}

/// Returns all arguments of the compiler. The user's follow most of raddle's and take precedence.
fn flags(family: CompilerFamily, arguments: &[OsString], directory: &Path) -> Vec<OsString> {
    let mut flags: Vec<OsString> = COMPILE.map(OsString::from).to_vec();
    match family {
        CompilerFamily::Gcc => flags.extend(GCC.map(OsString::from)),
        CompilerFamily::Clang => flags.extend(CLANG.map(OsString::from)),
    }
    flags.extend(["-I".into(), directory.into()]);
    let links = !arguments
        .iter()
        .any(|it| NO_LINKING.iter().any(|no| it == no));
    if links {
        flags.extend(["-L".into(), directory.into(), COPIES.into()]);
        let mut path = OsString::from("-Wl,-rpath,");
        path.push(directory);
        flags.push(path);
        // Before other libraries, so that raddle's definitions take precedence.
        if family == CompilerFamily::Clang {
            flags.extend(CLANG_LINK.map(OsString::from));
        }
    }
    flags.extend(arguments.iter().cloned());
    match family {
        CompilerFamily::Gcc => flags.extend(GCC_LAST.map(OsString::from)),
        CompilerFamily::Clang => flags.extend(CLANG_LAST.map(OsString::from)),
    }
    flags
}

/// Returns the family of a compiler: by its name, or else by its `--version`.
fn family(compiler: &OsStr) -> CompilerFamily {
    let path = Path::new(compiler);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.contains("clang") {
        return CompilerFamily::Clang;
    }
    if name.contains("gcc") || name.contains("g++") {
        return CompilerFamily::Gcc;
    }
    let output = Command::new(compiler).arg("--version").output();
    let is_clang = output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.contains("clang")
    });
    match is_clang {
        true => CompilerFamily::Clang,
        false => CompilerFamily::Gcc,
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
            Path::new("/directory"),
        );
        let flags = flags.into_iter();
        flags.map(|flag| flag.into_string().unwrap()).collect()
    }

    #[test]
    fn each_compiler_has_its_flags_and_the_users_follow_them() {
        let gcc = flags_of("/usr/bin/x86_64-linux-gnu-gcc-12", &["-O2", "a.c"]);
        assert!(!gcc.contains(&"-fno-sanitize-link-runtime".to_owned()));
        assert_eq!(
            gcc[gcc.len() - 4..],
            [
                "-O2",
                "a.c",
                "-fno-tree-vectorize",
                "-fno-hoist-adjacent-loads"
            ]
        );
        let clang = flags_of("clang++-19", &["a.cpp"]);
        let last = ["a.cpp", "-fno-vectorize", "-fno-slp-vectorize"];
        assert_eq!(clang[clang.len() - 3..], last);
        assert!(clang.contains(&"-fno-sanitize-link-runtime".to_owned()));
        assert!(!clang.contains(&"-Wno-tsan".to_owned()));
    }

    #[test]
    fn compiling_without_linking_needs_no_library() {
        for compiler in ["gcc", "clang"] {
            let compile = flags_of(compiler, &["-c", "a.c"]);
            assert!(!compile.iter().any(|flag| flag.starts_with("-Wl,")));
            assert!(!compile.contains(&"-L".to_owned()));
        }
    }
}
