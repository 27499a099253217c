//! Checks of a function, and their reports.

mod begin;
mod per_execution;
mod program;
mod test;
mod trace;
mod whole_program;

use std::ffi::c_int;

use raddle_settings::{MemoryModel, Native};

use self::program::NativeProgram;
use self::trace::Trace;
use crate::abi::stack;
use crate::abi::trampoline::entry;
use crate::engine::{Checker, Failure, FailureKind, Memory, Report, run_observed};
use crate::entry::system_call;
use crate::host::{dispatch, mode, phase, substrate};
use crate::io::{inherited, opened};
use crate::memory::{heap, plain_choices};
use crate::names::{interrupted, regions, symbols};
use crate::process::{faults, restart, rust_panics, uncontrolled};
use crate::pthread::{keys, mutex, object_life};
use crate::rust::{self, arc_counts, std_atomics, sync};
use crate::threads::life::{self, Hooks};
use crate::threads::{guests, requests};

/// Runs a check. Each execution begins with everything as it is now, and `body` is its first thread,
/// in host mode; `stack` is from where on the caller's stack belongs to the program.
fn run(
    program: &'static NativeProgram,
    name: &str,
    stack: usize,
    body: impl Fn() + Send + Sync,
) -> Report {
    uncontrolled::warn();
    mode::settle();
    let settings = read_settings();
    substrate::choose(settings.substrate);
    restart::choose(settings.restart);
    limit_workers();
    dispatch::model_by(system_call::model_direct);
    faults::prepare();
    opened::remember();
    inherited::remember();
    interrupted::prepare();
    rust_panics::prepare();
    arc_counts::prepare(settings.arc);
    // Functions of libraries that are modelled are not the user's.
    sync::prepare(settings.model);
    regions::prepare();
    requests::prepare();
    life::install(Hooks {
        started: rust::threads::started,
        finishes: || {
            keys::run_destructors();
            mutex::leave_behind();
            rust_panics::finish();
        },
        stack_is_reused: |stack| {
            std_atomics::forget(stack.clone());
            object_life::forget(stack);
        },
    });
    phase::set_checking(true);
    heap::limit(settings.heap);
    plain_choices::begin_check(settings.plain, settings.memory);
    let pinned = substrate::begin();
    let whole = || {
        begin::begin();
        body();
    };
    let report = restart::run(stack, || {
        let mut trace = Trace::open();
        let mut races = Vec::new();
        let mut report = loop {
            let report = match &mut trace {
                None => checker(program, name, settings).run(whole),
                Some(trace) => {
                    let write = &mut |execution: &_| trace.write(execution);
                    run_observed(checker(program, name, settings), whole, write)
                }
            };
            substrate::end_execution();
            match plain_choices::begin_round() {
                true => races.extend(report.failures.into_iter().filter(is_race)),
                false => break report,
            }
        };
        report.warnings.extend(races);
        report
    });
    dispatch::disarm();
    drop(pinned);
    per_execution::end();
    inherited::forget();
    phase::set_checking(false);
    report
}

/// Reads the settings of native programs from the environment; ends the process if one cannot be used.
fn read_settings() -> Native {
    Native::read(|name| std::env::var(name).ok()).unwrap_or_else(|error| {
        eprintln!("raddle: {error}");
        // SAFETY: nothing has been done yet that needs to be brought to an end.
        unsafe { libc::_exit(2) }
    })
}

fn checker(program: &'static NativeProgram, name: &str, settings: Native) -> Checker {
    let memory = match settings.memory {
        None | Some(MemoryModel::Sc) => Memory::Sc,
        Some(MemoryModel::Rc11) => Memory::Rc11,
        Some(MemoryModel::Rc11Paper) => Memory::Rc11Paper,
    };
    Checker::new()
        .of_program(program)
        .named(name)
        .stack_size(stack::STACK)
        .memory(memory)
}

fn is_race(failure: &Failure) -> bool {
    failure.kind == FailureKind::DataRace
}

/// Several workers are several processes, each a copy of this one.
fn limit_workers() {
    const WORKERS: &str = "RADDLE_WORKERS";
    let why = match () {
        () if substrate::is_os() => "RADDLE_SUBSTRATE=os",
        () if restart::is_fork() => "RADDLE_RESTART=fork",
        () if std::env::var_os("RADDLE_TRACE").is_some() => "RADDLE_TRACE",
        () if std::env::var_os("RADDLE_RESUME").is_some() => "RADDLE_RESUME",
        () => return,
    };
    if std::env::var_os(WORKERS).is_some_and(|workers| workers != "1") {
        eprintln!("raddle: {WORKERS}: there is one worker with {why}");
        // SAFETY: the environment must not be used by another thread meanwhile: none of raddle's runs yet,
        // and the program's wait for this one.
        unsafe { std::env::remove_var(WORKERS) };
    }
}

/// Exit status of a check whose only failures are executions that were too long.
const TOO_LONG: c_int = 3;

/// Prints the report of a check; returns its exit status.
pub(crate) fn print_report(name: &str, report: &Report) -> c_int {
    for failure in &report.failures {
        eprintln!("raddle: {name}: {failure}");
    }
    for warning in &report.warnings {
        eprintln!("raddle: {name}: {warning}");
    }
    eprintln!("raddle: {name}: {}", report.summary());
    let is_too_long = |failure: &Failure| failure.kind == FailureKind::TooLong;
    match report.failures.iter().all(is_too_long) {
        true if report.failures.is_empty() => 0,
        true => TOO_LONG,
        false => 1,
    }
}

entry! {
    // `int raddle_check(void (*function)(void *), void *argument)`, as in `raddle.h`.
    fn raddle_check(function: usize, argument: usize) -> c_int as check(stack in "rdx");
}

extern "C" fn check(function: usize, argument: usize, stack: usize) -> c_int {
    if phase::is_checking() {
        eprintln!("raddle: raddle_check was called inside a check");
        return 2;
    }
    let name = symbols::function(function).unwrap_or_else(|| "raddle_check".to_owned());
    let report = run(&NativeProgram::Function, &name, stack, move || {
        let result = guests::run_guest(function, argument);
        life::finish(result);
    });
    print_report(&name, &report)
}
