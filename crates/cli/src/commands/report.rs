//! `cargo raddle report`: rebuilds the pages of a run from their data and opens the index.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};

use raddle_report::html;

use crate::arguments::subcommands::ReportArguments;
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::output;
use crate::output::plural::counted;

pub fn run(options: &ReportArguments) -> Result<Verdict, Error> {
    let directory = &options.directory;
    let rebuilt = html::rebuild(directory).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Error::NoPages {
            directory: directory.clone(),
        },
        _ => output::error::Error::cannot_write(directory)(cause).into(),
    })?;
    for data in &rebuilt.unreadable {
        eprintln!(
            "warning: {} is not the data of a check; its page is unchanged",
            data.display()
        );
    }
    if rebuilt.checks == 0 {
        return Err(Error::NoPages {
            directory: directory.clone(),
        });
    }
    let checks = counted(rebuilt.checks, "check", "checks");
    println!("{} ({checks})", rebuilt.index.display());
    let on_terminal = std::io::stdout().is_terminal();
    if !options.no_open && (options.open || on_terminal) {
        open(&rebuilt.index);
    }
    Ok(Verdict::Passed)
}

/// Opens a page with the system's default program.
fn open(page: &Path) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if command.spawn().is_err() {
        eprintln!("note: cannot run {program}; open the page yourself");
    }
}
