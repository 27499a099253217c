//! Checks of a function, and what is said of them.

pub(crate) mod trace;

use std::arch::naked_asm;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::check::trace::Trace;
use crate::engine::{
    Checker, Failure, FailureKind, Memory, Report, Symbols, install, on_end, run_observed,
};
use crate::host::{dispatch, mode, substrate};
use crate::io::{inherited, opened};
use crate::memory::{blocks, heap, plain_choices};
use crate::names::{interrupted, regions, symbols};
use crate::process::{faults, restart, rust_panics, uncontrolled};
use crate::rust::{arc_counts, sync};
use crate::{execution, threads};

/// The stack of each thread of the program; only what is used costs anything.
pub(crate) const STACK: usize = 8 << 20;

static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether a check is running.
pub(crate) fn is_running() -> bool {
    IS_RUNNING.load(Relaxed)
}

/// Runs a check. Each execution begins with everything as it is now, and `body` is its first thread,
/// in host mode; `stack` is from where on the caller's stack belongs to the program.
pub(crate) fn run(name: &str, stack: usize, body: impl Fn() + Send + Sync) -> Report {
    uncontrolled::warn();
    mode::settle();
    substrate::choose();
    restart::choose();
    limit_workers();
    faults::prepare();
    opened::remember();
    inherited::remember();
    install(Symbols {
        place: symbols::place,
        variable: symbols::variable,
        chain: |site| Some(symbols::chain(site)).filter(|chain| !chain.is_empty()),
        memory: blocks::describe,
        interrupted: interrupted::interrupted,
        is_rust: regions::is_rust,
    });
    interrupted::prepare();
    rust_panics::prepare();
    arc_counts::prepare();
    regions::prepare();
    sync::prepare();
    on_end(restart::end_execution);
    IS_RUNNING.store(true, Relaxed);
    heap::limit();
    plain_choices::begin_check();
    let pinned = substrate::begin();
    let whole = || {
        execution::begin();
        body();
    };
    let report = restart::run(stack, || {
        let mut trace = Trace::open();
        let mut races = Vec::new();
        let mut report = loop {
            let report = match &mut trace {
                None => checker(name).run(whole),
                Some(trace) => {
                    let write = &mut |execution: &_| trace.write(execution);
                    run_observed(checker(name), whole, write)
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
    threads::end();
    inherited::forget();
    IS_RUNNING.store(false, Relaxed);
    report
}

fn checker(name: &str) -> Checker {
    let checker = Checker::new()
        .named(name)
        .stack_size(STACK)
        .memory(Memory::Sc);
    match std::env::var("RADDLE_MEMORY") {
        Ok(memory) => checker.memory_named(memory.trim()),
        Err(_) => checker,
    }
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
        // SAFETY: no other thread of ours runs yet, and the program's wait for this one.
        unsafe { std::env::remove_var(WORKERS) };
    }
}

/// What a check that has found nothing but that executions are too long returns.
const TOO_LONG: c_int = 3;

/// Says what came of a check; what it returns.
pub(crate) fn tell(name: &str, report: &Report) -> c_int {
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

/// `int raddle_check(void (*function)(void *), void *argument)`, as in `raddle.h`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
extern "C" fn raddle_check(function: extern "C" fn(usize), argument: usize) -> c_int {
    naked_asm!("lea rdx, [rsp + 8]", "jmp {check}", check = sym check)
}

extern "C" fn check(function: usize, argument: usize, stack: usize) -> c_int {
    if is_running() {
        eprintln!("raddle: raddle_check was called inside a check");
        return 2;
    }
    let name = symbols::function(function).unwrap_or_else(|| "raddle_check".to_owned());
    let report = run(&name, stack, move || {
        let result = threads::run_guest(function, argument);
        threads::finish(result);
    });
    tell(&name, &report)
}
