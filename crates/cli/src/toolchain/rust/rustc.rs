//! The Rust compiler, and its instrumentation of programs.
//!
//! The stable flags name passes of LLVM, and LLVM does not guarantee these names. Therefore a small probe is
//! compiled with them, once for each version of the compiler, and searched for the instrumentation. If it is
//! missing, the compiler's unstable flags are tried, with `RUSTC_BOOTSTRAP`.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::flags::{STABLE, UNSTABLE};
use crate::toolchain::bytes::contains;
use crate::toolchain::environment;
use crate::toolchain::error::Error;

/// The probe: a plain and an atomic access.
const PROBE: &str = "
use std::sync::atomic::{AtomicUsize, Ordering};
pub fn probe(counter: &AtomicUsize, plain: &mut u64) -> usize {
    *plain += 1;
    counter.fetch_add(1, Ordering::SeqCst)
}
";
/// Functions that the instrumented probe calls.
const PROBE_CALLS: [&[u8]; 2] = [b"__tsan_write8", b"__tsan_atomic64_fetch_add"];

/// The compiler that cargo calls.
#[derive(Debug)]
pub struct RustCompiler {
    pub program: OsString,
    /// Output of `rustc -vV`.
    pub version: String,
    pub host: String,
}

/// Flags that instrument a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrumentation {
    Stable,
    Unstable,
}

impl Instrumentation {
    const ALL: [Instrumentation; 2] = [Instrumentation::Stable, Instrumentation::Unstable];

    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Instrumentation::Stable => &STABLE,
            Instrumentation::Unstable => &UNSTABLE,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Instrumentation::Stable => "stable",
            Instrumentation::Unstable => "unstable",
        }
    }
}

impl RustCompiler {
    /// Returns the compiler that cargo would use.
    pub fn find() -> Result<Self, Error> {
        let program = environment::variable("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = Command::new(&program).arg("-vV").output();
        let output = output.map_err(|cause| Error::NotStarted {
            program: program.clone(),
            cause,
        })?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        Ok(RustCompiler {
            program,
            host: host.unwrap_or("unknown").to_owned(),
            version,
        })
    }

    /// Returns the name and version in one line.
    pub fn name(&self) -> &str {
        self.version.lines().next().unwrap_or("rustc")
    }

    /// Returns the directory of its own libraries.
    pub fn sysroot(&self) -> Result<PathBuf, Error> {
        let output = Command::new(&self.program)
            .args(["--print", "sysroot"])
            .output();
        let output = output.map_err(|cause| Error::NotStarted {
            program: self.program.clone(),
            cause,
        })?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().into())
    }

    /// Returns the flags that instrument programs. A file in the directory caches the result.
    pub fn instrumentation(&self, directory: &Path) -> Result<Instrumentation, Error> {
        let file = directory.join("compiler");
        let cached = fs::read_to_string(&file).unwrap_or_default();
        let is_cached = |it: &Instrumentation| cached == self.cache_entry(*it);
        if let Some(found) = Instrumentation::ALL.into_iter().find(is_cached) {
            return Ok(found);
        }
        let mut output = String::new();
        for instrumentation in Instrumentation::ALL {
            match self.probe(instrumentation, directory) {
                Ok(()) => {
                    // Without the file the next run probes again.
                    let _ = fs::write(&file, self.cache_entry(instrumentation));
                    return Ok(instrumentation);
                }
                Err(problem) => output = problem,
            }
        }
        Err(Error::UnsupportedCompiler {
            compiler: self.name().to_owned(),
            output,
        })
    }

    fn cache_entry(&self, instrumentation: Instrumentation) -> String {
        format!("{}{}\n", self.version, instrumentation.word())
    }

    /// Compiles the probe and fails unless it is instrumented.
    fn probe(&self, instrumentation: Instrumentation, directory: &Path) -> Result<(), String> {
        fs::create_dir_all(directory).map_err(|error| error.to_string())?;
        let object = directory.join(format!("probe-{}.o", std::process::id()));
        let mut command = Command::new(&self.program);
        command.args(["--crate-name", "probe", "--crate-type", "lib", "-"]);
        command.args(["--edition", "2021", "--emit", "obj", "-o"]);
        command.arg(&object).args(instrumentation.flags());
        if instrumentation == Instrumentation::Unstable {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        let output = run_with_input(&mut command, PROBE).map_err(|error| error.to_string())?;
        let bytes = fs::read(&object).unwrap_or_default();
        let _ = fs::remove_file(&object);
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(text.lines().next().unwrap_or_default().to_owned());
        }
        match PROBE_CALLS.iter().all(|call| contains(&bytes, call)) {
            true => Ok(()),
            false => Err("nothing (the flags are accepted, but have no effect)".to_owned()),
        }
    }
}

/// Runs a command with this standard input.
fn run_with_input(command: &mut Command, input: &str) -> std::io::Result<Output> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A compiler that does not read its input prints an error.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_valid_for_one_version_of_the_compiler() {
        let directory = std::env::temp_dir().join(format!("raddle-probe-{}", std::process::id()));
        let compiler = |version: &str| RustCompiler {
            // Fails every probe.
            program: "false".into(),
            version: version.to_owned(),
            host: "x86_64-unknown-linux-gnu".to_owned(),
        };
        fs::create_dir_all(&directory).unwrap();
        let old = compiler("rustc 1\n");
        fs::write(
            directory.join("compiler"),
            old.cache_entry(Instrumentation::Unstable),
        )
        .unwrap();
        assert_eq!(
            old.instrumentation(&directory).unwrap(),
            Instrumentation::Unstable
        );
        let new = compiler("rustc 2\n").instrumentation(&directory);
        assert!(matches!(new, Err(Error::UnsupportedCompiler { .. })));
        fs::remove_dir_all(directory).unwrap();
    }
}
