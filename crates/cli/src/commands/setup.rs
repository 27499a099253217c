//! `cargo raddle setup`: builds and installs the libraries for native programs.

use crate::arguments::subcommands::SetupArguments;
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::toolchain::library;
use crate::toolchain::rust::sysroot;

pub fn run(arguments: &SetupArguments) -> Result<Verdict, Error> {
    if arguments.std {
        let installed = sysroot::install()?;
        eprintln!(
            "installed {}\n  note: `cargo raddle test --native` uses it unless RADDLE_STD is `plain`",
            installed.display()
        );
    } else {
        let installed = library::install()?;
        eprintln!(
            "installed {}\n  note: used by `cargo raddle test --native`, `run`, `cc` and `c++`",
            installed.display()
        );
    }
    Ok(Verdict::Passed)
}
