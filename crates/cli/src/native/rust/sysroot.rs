//! A standard library that is instrumented like everything else, beside raddle's library.

use std::path::PathBuf;

use super::Control;
use super::compiler::Compiler;
use crate::cargo::Verdict;
use crate::error::Error;

/// Where it is, if it was built for this compiler.
pub fn find(control: &Control, compiler: &Compiler) -> Option<PathBuf> {
    let folder = folder(control, compiler);
    folder.join("complete").is_file().then_some(folder)
}

fn folder(control: &Control, compiler: &Compiler) -> PathBuf {
    let name: String = compiler
        .name()
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || ".-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    control.library.with_file_name("raddle-std").join(name)
}

/// Builds it for the compiler that is used here.
pub fn set_up() -> Result<Verdict, Error> {
    Err(Error::NothingUsesRaddle)
}
