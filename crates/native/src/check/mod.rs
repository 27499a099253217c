//! Checks of a function, and their reports.

mod begin;
mod per_execution;
mod program;
mod test;
mod trace;
mod whole_program;

use std::ffi::c_int;
use std::time::Instant;

use raddle_settings::{MemoryModel, Native, Plain, Scope, Value};

use self::program::NativeProgram;
use self::trace::Trace;
use crate::abi::stack;
use crate::abi::trampoline::entry;
use crate::engine::{Checker, Failure, FailureKind, Layout, Memory, Report, replay, run_observed};
use crate::entry::system_call;
use crate::execution::shadow_stack;
use crate::host::{dispatch, mode, phase, substrate};
use crate::io::{inherited, opened};
use crate::memory::{heap, plain_choices, unwritten};
use crate::names::{interrupted, regions, symbols};
use crate::process::{faults, restart, rust_panics, uncontrolled};
use crate::pthread::{keys, mutex, object_life};
use crate::rust::{self, arc_counts, std_atomics, sync};
use crate::threads::life::{self, Hooks};
use crate::threads::{guests, requests, unwritten_reads};

/// Runs a check. Each execution begins with the current state of the program, and `body` is its
/// first thread, in host mode; `stack` is the start of the program's part of the caller's stack.
fn run(
    program: &'static NativeProgram,
    name: &str,
    stack: usize,
    body: impl Fn() + Send + Sync,
) -> Report {
    uncontrolled::warn();
    mode::set_host();
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
    let keeps_going = keeps_going();
    let reports_reads = settings.uninitialised.unwrap_or(false) && reads_can_be_reported();
    unwritten::begin_check(reports_reads);
    unwritten_reads::begin_check();
    shadow_stack::report_all(reports_reads);
    plain_choices::begin_check(settings.plain, settings.memory, keeps_going);
    let pinned = substrate::begin();
    let whole = || {
        begin::begin();
        body();
    };
    let report = restart::run(stack, || {
        let mut trace = Trace::open();
        let mut races = Vec::new();
        let (start, mut runs) = (Instant::now(), 0);
        let mut report = loop {
            let search = checker(program, name, settings);
            // The first search may be shared with other machines.
            let search = match runs {
                0 => search,
                runs => search.continuing(start, runs),
            };
            let report = match &mut trace {
                None => search.run(whole),
                Some(trace) => {
                    let write = &mut |execution: &_| trace.write(execution);
                    run_observed(search, whole, write)
                }
            };
            substrate::end_execution();
            runs = report.runs();
            let is_spent = report.limit().is_some();
            let doubtful = report.failures.iter().find(|failure| {
                let checker = || checker(program, name, settings).continuing(start, runs);
                is_uninitialised(failure) && !recurs(checker(), failure, whole)
            });
            if let Some(doubtful) = doubtful {
                unwritten_reads::trust(doubtful.message.clone());
                if !is_spent {
                    continue;
                }
            }
            match plain_choices::begin_round() && !is_spent {
                true => races.extend(report.failures.into_iter().filter(is_race)),
                false => break report,
            }
        };
        match keeps_going && settings.plain != Some(Plain::Promote) {
            // The race comes before the failures that it leads to.
            true => _ = report.failures.splice(0..0, races),
            false => report.warnings.extend(races),
        }
        report
    });
    dispatch::disarm();
    drop(pinned);
    per_execution::end();
    inherited::forget();
    phase::set_checking(false);
    report
}

/// True when the check goes on after a failure. The setting is that of every check, and a bad value is reported when
/// the check starts.
fn keeps_going() -> bool {
    let setting = raddle_settings::setting(Scope::Check, "keep_going");
    let (kind, variable) = setting
        .and_then(|it| Some((it.kind, it.variable.ok()?)))
        .expect("the setting has a variable");
    let value = std::env::var(variable).unwrap_or_default();
    kind.parse(&value) == Ok(Value::Switch(true))
}

/// False for programs in Rust, which says so. Rust moves values whose parts are not all initialised, such as
/// `None`, in registers.
fn reads_can_be_reported() -> bool {
    if regions::is_rust() {
        eprintln!(
            "raddle: RADDLE_UNINITIALISED: reads are reported in programs in C and C++ only; Miri finds those in Rust"
        );
    }
    !regions::is_rust()
}

/// Reads the settings of native programs from the environment; ends the process if one is invalid.
fn read_settings() -> Native {
    Native::read(|name| std::env::var(name).ok()).unwrap_or_else(|error| {
        eprintln!("raddle: {error}");
        // SAFETY: `_exit` runs no destructors and exit handlers, and nothing exists yet that needs
        // them.
        unsafe { libc::_exit(2) }
    })
}

/// Names the file with what is known of an earlier version of the program.
const SINCE: &str = "RADDLE_SINCE";

fn checker(program: &'static NativeProgram, name: &str, settings: Native) -> Checker {
    let memory = match settings.memory {
        None | Some(MemoryModel::Sc) => Memory::Sc,
        Some(MemoryModel::Rc11) => Memory::Rc11,
        Some(MemoryModel::Rc11Paper) => Memory::Rc11Paper,
    };
    Checker::new()
        .of_program(program)
        .named(name)
        // A run that is compared with an earlier version begins with what failed there.
        .known_schedules(std::env::var_os(SINCE).is_some())
        .stack_size(stack::STACK)
        .memory(memory)
}

fn is_uninitialised(failure: &Failure) -> bool {
    failure.kind == FailureKind::Uninitialised
}

/// Returns the part of the message about a read of unwritten memory that says what is read where.
fn what_is_read(message: &str) -> Option<&str> {
    Some(message.split_once(unwritten_reads::NOT_WRITTEN)?.0)
}

/// True if a read of unwritten memory is one with another pattern there, too. Otherwise code that is not
/// instrumented has written the pattern by chance.
fn recurs(checker: Checker, failure: &Failure, body: impl Fn() + Send + Sync) -> bool {
    unwritten::use_other_pattern(true);
    let again = replay(checker, failure.schedule.clone(), body);
    substrate::end_execution();
    unwritten::use_other_pattern(false);
    let is_same = |it: &Failure| {
        is_uninitialised(it) && what_is_read(&it.message) == what_is_read(&failure.message)
    };
    again.failures.iter().any(is_same)
}

fn is_race(failure: &Failure) -> bool {
    failure.kind == FailureKind::DataRace
}

/// Limits the check to one worker where several, which are forked processes, are not possible.
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
    let layout = Layout::detect();
    for failure in &report.failures {
        eprintln!("raddle: {name}: {}", failure.laid_out(layout));
    }
    for warning in &report.warnings {
        eprintln!("raddle: {name}: {}", warning.laid_out(layout));
    }
    eprintln!("raddle: {name}: {}", report.summary());
    if report.coverage().is_measured() {
        eprintln!("raddle: {name}: {}", report.coverage());
    }
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
