//! `cargo raddle work`: explores parts of the searches in a queue.

use crate::arguments::subcommands::WorkArguments;
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::toolchain::cargo::Cargo;

#[cfg(not(unix))]
pub fn run(_: &Cargo, _: &WorkArguments) -> Result<Verdict, Error> {
    Err(Error::QueueNeedsUnix)
}

#[cfg(unix)]
pub fn run(cargo: &Cargo, arguments: &WorkArguments) -> Result<Verdict, Error> {
    use std::fs::File;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::thread::{self, available_parallelism};

    use crate::commands::{queue, run, test};
    use crate::output;
    use crate::run::interrupts;
    use crate::run::leftovers::RunDirectory;
    use crate::run::queue::Problem;
    use crate::run::queue::worker::{Counts, Programs, Work};
    use crate::toolchain::data_directory;
    use crate::toolchain::native_program::NativeProgram;
    use crate::toolchain::native_runtime::NativeRuntime;

    let address = queue::address(arguments.queue.as_deref())?;
    output::set_colours(arguments.cargo.build.colours());
    let (binaries, program);
    let (programs, raddle) = match &arguments.program {
        Some(file) => {
            program = NativeProgram::new(run::find(file)?, NativeRuntime::find()?)?;
            // There need not be a crate.
            let raddle = data_directory::from_environment();
            let raddle = raddle.unwrap_or_else(|| std::env::temp_dir().join("raddle-work"));
            (Programs::Native(&program), raddle)
        }
        None => {
            binaries = test::build_binaries(cargo, &arguments.as_test())?;
            let raddle = data_directory::within(&cargo.workspace()?.target);
            (Programs::Tests(&binaries), raddle)
        }
    };
    let directory =
        RunDirectory::new(&raddle).map_err(output::error::Error::cannot_write(&raddle))?;
    let log = arguments.log.as_ref().map(|path| {
        let file = File::options().append(true).create(true).open(path);
        file.map(Mutex::new)
            .map_err(output::error::Error::cannot_write(path))
    });
    let cores = available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.map_or(cores, |jobs| jobs as usize);
    interrupts::listen();
    eprintln!("working for the queue {address}, {jobs} at once");
    let work = Work {
        address,
        programs,
        directory: directory.path(),
        lease: arguments.lease,
        wait: arguments.wait,
        slice: arguments.slice,
        is_over: AtomicBool::new(false),
        counts: Counts::default(),
        log: log.transpose()?,
    };
    let results: Vec<Result<(), Problem>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|number| {
                scope.spawn({
                    let work = &work;
                    move || work.run(number)
                })
            })
            .collect();
        let results = workers.into_iter().map(|worker| worker.join());
        results
            .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    eprintln!("{}", work.counts);
    results.into_iter().collect::<Result<(), Problem>>()?;
    match interrupts::is_requested() {
        true => Ok(Verdict::Interrupted),
        false => Ok(Verdict::Passed),
    }
}
