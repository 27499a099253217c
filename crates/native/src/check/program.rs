//! The program under test, for the driver of a check.

use raddle_engine::CheckName;

use crate::engine::{
    Dialect, InterruptReader, Library, Place, Program, RunningBinary, WorkerKind, shell_word,
};
use crate::execution::sites;
use crate::memory::plain_choices;
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
