//! The program under test, for the driver of a check.

use raddle_engine::CheckName;
use raddle_settings::{Scope, TABLE};

use crate::engine::{
    Dialect, InterruptReader, Library, Place, Program, RunningBinary, WorkerKind,
    build_fingerprint_of, shell_word,
};
use crate::execution::sites;
use crate::host::loaded;
use crate::memory::{plain_choices, relevance, unwritten};
use crate::names::{interrupted, regions};
use crate::process::{output, restart, uncontrolled, variables};
use crate::rust::{arc_counts, sync};

/// A compiled program, by the subject of its check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NativeProgram {
    /// A function that the program passes to `raddle_check`.
    Function,
    /// A test without raddle's types: `cargo raddle test --native`.
    Test,
    /// The whole program: `cargo raddle run`.
    Whole,
}

impl Program for NativeProgram {
    fn dialect(&self) -> Dialect {
        match regions::is_rust() {
            true => Dialect::NativeRust,
            false => Dialect::NativeC,
        }
    }

    fn unwinds_threads(&self) -> bool {
        false
    }

    fn fixes_stacks(&self) -> bool {
        true
    }

    fn workers(&self) -> WorkerKind {
        WorkerKind::Processes
    }

    fn command(&self, binary: &RunningBinary, check: Option<&CheckName>) -> String {
        let words: Vec<String> = match check {
            Some(check) if *self == NativeProgram::Test => {
                let test = shell_word(&check.test);
                let run = format!("cargo raddle test --native {test} --exact");
                settings().chain([run]).collect()
            }
            _ if binary.is_test => return Library.command(binary, check),
            _ => {
                let is_whole = *self == NativeProgram::Whole;
                let run = is_whole.then(|| "cargo raddle run --".to_owned());
                let program = std::env::args().map(|it| shell_word(&it));
                settings().chain(run).chain(program).collect()
            }
        };
        words.join(" ")
    }

    fn identity(&self) -> Vec<(String, String)> {
        let mut all = libraries();
        let rows = TABLE.iter().filter(|row| row.scope == Scope::Native);
        all.extend(rows.filter_map(|row| {
            let value = row.variable.ok().and_then(|name| std::env::var(name).ok());
            let value = value.filter(|value| !value.trim().is_empty());
            Some((row.name.to_owned(), value?))
        }));
        if *self == NativeProgram::Whole {
            let arguments = std::env::args_os().skip(1).zip(1..);
            all.extend(arguments.map(|(argument, number)| {
                let argument = argument.to_string_lossy().into_owned();
                (format!("{ARGUMENT}{number}"), argument)
            }));
        }
        all
    }

    fn begins_anew(&self) -> bool {
        relevance::begin_anew()
    }

    fn unshareable(&self) -> Option<&'static str> {
        let is_text = std::env::args_os().all(|argument| argument.to_str().is_some());
        let reasons = [
            (
                plain_choices::begin_anew(),
                "a search that explores what races lead to begins again with each race; add --plain explore, or \
                 leave out keep_going",
            ),
            (
                relevance::is_on(),
                "a search that leaves out accesses whose values decide nothing begins again when it learns of more \
                 that do; leave out --reduce paths",
            ),
            (
                unwritten::is_on(),
                "it compares reads of unwritten memory; leave out --uninitialised",
            ),
            (!is_text, "an argument of the program is not text"),
        ];
        let mut refused = reasons.into_iter().filter(|(is_so, _)| *is_so);
        refused.next().map(|(_, reason)| reason)
    }

    fn race_note(&self) -> Option<String> {
        plain_choices::race_note()
    }

    fn is_on_terminal(&self) -> bool {
        output::is_on_terminal()
    }

    fn end_execution(&self) {
        restart::end_execution();
    }

    fn place(&self, code: usize) -> Option<Place> {
        sites::place(code)
    }

    fn call_chain(&self, code: usize) -> Option<String> {
        Some(sites::chain(code)).filter(|chain| !chain.is_empty())
    }

    fn variable(&self, address: usize) -> Option<String> {
        variables::variable(address)
    }

    fn memory(&self, address: usize) -> Option<String> {
        variables::describe(address)
    }

    fn has_plain_operations(&self) -> bool {
        plain_choices::are_explored()
    }

    fn modelled(&self) -> Vec<String> {
        sync::modelled().map(str::to_owned).collect()
    }

    fn left_out(&self) -> Option<String> {
        uncontrolled::left_out()
            .or_else(sync::left_out)
            .or_else(arc_counts::left_out)
    }

    fn interrupt_reader(&self) -> Option<InterruptReader> {
        Some(interrupted::interrupted)
    }
}

/// Prefix of the settings that are arguments of the program.
const ARGUMENT: &str = "argument ";

/// Returns the build of each library that was loaded with the program, under the name by which others need it.
fn libraries() -> Vec<(String, String)> {
    let mut all = Vec::new();
    loaded::each(|module| {
        // The program itself has no name, and the library of the kernel no file.
        if module.name().contains('/') {
            let name = format!("library {}", module.library_name());
            all.push((name, build_fingerprint_of(&module.file())));
        }
    });
    all.sort();
    all
}

/// Returns the environment variables that determine the operations of the program.
fn settings() -> impl Iterator<Item = String> {
    let settings = [
        "RADDLE_MEMORY",
        "RADDLE_PLAIN",
        "RADDLE_KEEP_GOING",
        "RADDLE_MODEL",
        "RADDLE_UNINITIALISED",
    ];
    let settings = settings.into_iter();
    let settings = settings.filter_map(|name| Some((name, std::env::var(name).ok()?)));
    settings.map(|(name, value)| format!("{name}={}", shell_word(&value)))
}
