//! The Rust compiler, and whether it instruments programs.
//!
//! That is asked of flags which are stable themselves, but name passes of LLVM, whose names nobody promises.
//! So a small program is compiled with them, once for each version of the compiler, and looked at. If it was
//! not instrumented, there are flags of the compiler's own for this, which it only takes if it is told that it
//! is no stable compiler.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::flags::{STABLE, UNSTABLE};
use crate::toolchain::error::Problem;

/// What is compiled to see whether that works.
const PROBE: &str = "
use std::sync::atomic::{AtomicUsize, Ordering};
pub fn probe(counter: &AtomicUsize, plain: &mut u64) -> usize {
    *plain += 1;
    counter.fetch_add(1, Ordering::SeqCst)
}
";
/// What must be in it then.
const SIGNS: [&[u8]; 2] = [b"__tsan_write8", b"__tsan_atomic64_fetch_add"];

/// The compiler that cargo calls.
#[derive(Debug)]
pub struct Compiler {
    pub program: OsString,
    /// All that it says of itself.
    pub version: String,
    pub host: String,
}

/// Ways to have a program instrumented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    Stable,
    Unstable,
}

impl Recipe {
    const ALL: [Recipe; 2] = [Recipe::Stable, Recipe::Unstable];

    pub fn flags(self) -> &'static [&'static str] {
        match self {
            Recipe::Stable => &STABLE,
            Recipe::Unstable => &UNSTABLE,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Recipe::Stable => "stable",
            Recipe::Unstable => "unstable",
        }
    }
}

impl Compiler {
    /// The one that cargo would take.
    pub fn find() -> Result<Self, Problem> {
        let wanted = env::var_os("RUSTC").filter(|wanted| !wanted.is_empty());
        let program = wanted.unwrap_or_else(|| "rustc".into());
        let output = Command::new(&program).arg("-vV").output();
        let output = output.map_err(|cause| Problem::NotStarted {
            program: program.clone(),
            cause,
        })?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        Ok(Compiler {
            program,
            host: host.unwrap_or("unknown").to_owned(),
            version,
        })
    }

    /// The first line of what it says of itself.
    pub fn name(&self) -> &str {
        self.version.lines().next().unwrap_or("rustc")
    }

    /// Where it has its own libraries.
    pub fn sysroot(&self) -> Result<PathBuf, Problem> {
        let output = Command::new(&self.program)
            .args(["--print", "sysroot"])
            .output();
        let output = output.map_err(|cause| Problem::NotStarted {
            program: self.program.clone(),
            cause,
        })?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().into())
    }

    /// How it instruments programs. What was found out is kept in the folder.
    pub fn recipe(&self, folder: &Path) -> Result<Recipe, Problem> {
        let file = folder.join("compiler");
        let known = fs::read_to_string(&file).unwrap_or_default();
        let says = |recipe: &Recipe| known == self.note(*recipe);
        if let Some(recipe) = Recipe::ALL.into_iter().find(says) {
            return Ok(recipe);
        }
        let mut output = String::new();
        for recipe in Recipe::ALL {
            match self.try_out(recipe, folder) {
                Ok(()) => {
                    // Otherwise it is found out again next time.
                    let _ = fs::write(&file, self.note(recipe));
                    return Ok(recipe);
                }
                Err(problem) => output = problem,
            }
        }
        Err(Problem::CompilerUnfit {
            compiler: self.name().to_owned(),
            output,
        })
    }

    fn note(&self, recipe: Recipe) -> String {
        format!("{}{}\n", self.version, recipe.word())
    }

    /// Compiles the probe; what was wrong.
    fn try_out(&self, recipe: Recipe, folder: &Path) -> Result<(), String> {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let object = folder.join(format!("probe-{}.o", std::process::id()));
        let mut command = Command::new(&self.program);
        command.args(["--crate-name", "probe", "--crate-type", "lib", "-"]);
        command.args(["--edition", "2021", "--emit", "obj", "-o"]);
        command.arg(&object).args(recipe.flags());
        if recipe == Recipe::Unstable {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        let output = feed(&mut command, PROBE).map_err(|error| error.to_string())?;
        let bytes = fs::read(&object).unwrap_or_default();
        let _ = fs::remove_file(&object);
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(text.lines().next().unwrap_or_default().to_owned());
        }
        let has = |sign: &&[u8]| bytes.windows(sign.len()).any(|part| part == *sign);
        match SIGNS.iter().all(has) {
            true => Ok(()),
            false => Err("it took the flags, but what it made calls nobody".to_owned()),
        }
    }
}

/// Runs a command that reads this.
fn feed(command: &mut Command, input: &str) -> std::io::Result<Output> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not read it says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_out_holds_for_one_version_of_the_compiler() {
        let folder = env::temp_dir().join(format!("raddle-recipe-{}", std::process::id()));
        let compiler = |version: &str| Compiler {
            // Whoever asks this one learns nothing.
            program: "false".into(),
            version: version.to_owned(),
            host: "x86_64-unknown-linux-gnu".to_owned(),
        };
        fs::create_dir_all(&folder).unwrap();
        let old = compiler("rustc 1\n");
        fs::write(folder.join("compiler"), old.note(Recipe::Unstable)).unwrap();
        assert_eq!(old.recipe(&folder).unwrap(), Recipe::Unstable);
        let new = compiler("rustc 2\n").recipe(&folder);
        assert!(matches!(new, Err(Problem::CompilerUnfit { .. })));
        fs::remove_dir_all(folder).unwrap();
    }
}
