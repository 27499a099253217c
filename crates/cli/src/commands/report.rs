//! `cargo raddle report`: the pages of a run, made anew from their data, and opened.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};

use raddle_report::html;

use crate::arguments::ReportArguments;
use crate::commands::error::Error;
use crate::toolchain::cargo::Verdict;

/// Makes them.
pub fn run(options: &ReportArguments) -> Result<Verdict, Error> {
    let folder = &options.folder;
    let rebuilt = html::rebuild(folder).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Error::NoPages {
            folder: folder.clone(),
        },
        _ => Error::CannotWrite {
            path: folder.clone(),
            cause,
        },
    })?;
    for data in &rebuilt.unreadable {
        eprintln!(
            "warning: {} is not what a check has written; its page is left as it is",
            data.display()
        );
    }
    if rebuilt.checks == 0 {
        return Err(Error::NoPages {
            folder: folder.clone(),
        });
    }
    let checks = match rebuilt.checks {
        1 => "1 check".to_owned(),
        number => format!("{number} checks"),
    };
    println!("{} ({checks})", rebuilt.index.display());
    let on_terminal = std::io::stdout().is_terminal();
    if !options.no_open && (options.open || on_terminal) {
        open(&rebuilt.index);
    }
    Ok(Verdict::Passed)
}

/// Opens a page in whatever the system opens pages with. If there is nothing, its name is printed
/// already.
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
        eprintln!("note: {program} cannot be run; open the page by hand");
    }
}
