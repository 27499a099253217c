//! All measurements, one command after the other, as lines or as a page of the book.
//!
//! Each command runs this program in a process of its own, so that memory left by one does not
//! affect the next, and a failing one leaves the others alone.

mod machine;
mod markdown;
mod sections;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use sections::{SECTIONS, Section};

/// Runs all commands and prints the results. True when all were measured.
pub(crate) fn run(markdown: bool) -> bool {
    let start = Instant::now();
    let mut complete = true;
    if markdown {
        print!("{}", sections::before(&machine::describe()));
    }
    for (index, section) in SECTIONS.iter().enumerate() {
        let command = section.command.join(" ");
        let minutes = start.elapsed().as_secs_f64() / 60.0;
        let number = index + 1;
        eprintln!(
            "all: {number}/{} {command} ({minutes:.1} min so far)",
            SECTIONS.len()
        );
        let measured = measure(section, !markdown);
        complete &= measured.is_complete;
        if markdown {
            print!("{}", page(section, &measured));
        }
        let _ = std::io::stdout().flush();
    }
    if markdown {
        print!("{}", sections::after(start.elapsed()));
    }
    complete
}

/// The output of a command.
struct Measured {
    lines: Vec<String>,
    is_complete: bool,
}

/// Runs one command; prints its lines as they come if asked to.
fn measure(section: &Section, shows: bool) -> Measured {
    let program = std::env::current_exe().expect("a program has a file");
    let mut command = Command::new(program);
    command.args(section.command).stdout(Stdio::piped());
    let mut child = command.spawn().expect("this program can be started again");
    let output = child.stdout.take().expect("it was asked for");
    let mut lines = Vec::new();
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if shows {
            println!("{line}");
        }
        lines.push(line);
    }
    let status = child.wait().expect("it was started");
    if !status.success() {
        eprintln!(
            "all: {} broke off: {status}; its lines up to there are kept",
            section.command.join(" ")
        );
    }
    Measured {
        lines,
        is_complete: status.success(),
    }
}

/// Returns the section of the page.
fn page(section: &Section, measured: &Measured) -> String {
    let command = section.command.join(" ");
    let mut text = format!(
        "## {}\n\n{}\n\n`raddle-bench {command}`\n\n",
        section.title, section.text
    );
    text += &markdown::tables(&measured.lines, section.name);
    if !measured.is_complete {
        text += "This command broke off: what is missing was not measured.\n\n";
    }
    text
}
