//! `cargo raddle cc` and `c++`: run a compiler with the flags that raddle needs.

use crate::arguments::subcommands::CompilerArguments;
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::toolchain::c_compiler::{self, Language};

/// Runs the compiler. Exits with 1 if it fails, as build tools expect of a compiler.
pub fn run(language: Language, arguments: &CompilerArguments) -> Result<Verdict, Error> {
    let status = c_compiler::compile(language, &arguments.for_compiler)?;
    Ok(match status.success() {
        true => Verdict::Passed,
        false => Verdict::Failed,
    })
}
