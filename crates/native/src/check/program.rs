//! The program under test, as the driver of a check asks for it.

use raddle_engine::CheckName;

use crate::engine::{
    Dialect, InterruptReader, Library, Place, Program, RunningBinary, WorkerKind, shell_word,
};
use crate::execution::sites;
use crate::names::{interrupted, regions};
use crate::process::{restart, variables};
use crate::rust::sync;

/// A program as it was compiled, by what of it is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NativeProgram {
    /// A function that the program gives to `raddle_check`.
    Function,
    /// A test that does not know of raddle: `cargo raddle test --native`.
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

    fn modelled(&self) -> Vec<String> {
        sync::modelled().map(str::to_owned).collect()
    }

    fn interrupt_reader(&self) -> Option<InterruptReader> {
        Some(interrupted::interrupted)
    }
}

/// Returns the environment variables that decide which operations there are.
fn settings() -> impl Iterator<Item = String> {
    let settings = ["RADDLE_MEMORY", "RADDLE_PLAIN", "RADDLE_MODEL"].into_iter();
    let settings = settings.filter_map(|name| Some((name, std::env::var(name).ok()?)));
    settings.map(|(name, value)| format!("{name}={}", shell_word(&value)))
}
