//! Changes of operations, made while the tests run.

#[cfg(unix)]
use crate::arguments::subcommands::MutantsArguments;
use crate::commands::error::Error;
use crate::commands::mutants::{Court, Trial, build};
#[cfg(unix)]
use crate::commands::queue;
#[cfg(unix)]
use crate::commands::test::BuiltTests;
use crate::output::changes::{Change, Outcome};
use crate::run::interrupts;
use crate::run::mutant::{self, Judgement, Mutant};
use crate::run::parallel::run_in_parallel;
use crate::toolchain::cargo::Cargo;

/// Lists the changes of operations, or tries them.
pub fn run(cargo: &Cargo, trial: &mut Trial<'_>) -> Result<(), Error> {
    let options = trial.options;
    // Before the build, which takes time.
    #[cfg(unix)]
    let address = options
        .queue
        .as_deref()
        .map(|given| queue::address(Some(given)));
    #[cfg(unix)]
    let address = address.transpose()?;
    #[cfg(not(unix))]
    if options.queue.is_some() {
        return Err(Error::QueueNeedsUnix);
    }
    let built = build(cargo, &options.tests)?;
    let court = Court::open(&built, &options.tests)?;
    let mut mutants: Vec<_> = court.mutants()?.into_iter().collect();
    mutants.retain(|mutant| trial.chooses(&mutant.file, mutant.line));
    if options.list {
        for mutant in &mutants {
            trial.list(Change::of_operation(mutant));
        }
        return Ok(());
    }
    trial.start();
    let mut receive = |(index, judgement): (usize, Judgement)| {
        let outcome = Outcome::judged(judgement, &built.tests);
        trial.receive(Change::of_operation(&mutants[index]), outcome);
    };
    #[cfg(unix)]
    if let Some(address) = address {
        return share(address, options, &court, &mutants, &mut receive);
    }
    let runner = court.runner();
    let judge = |index: usize, sender: &std::sync::mpsc::Sender<_>| {
        let mutant: &Mutant = &mutants[index];
        let judgement = mutant::judge(&runner, index, &[mutant], court.judges_of(mutant));
        let _ = sender.send((index, judgement));
    };
    run_in_parallel(
        mutants.len(),
        runner.jobs,
        interrupts::is_requested,
        judge,
        |judged| {
            if !interrupts::is_requested() {
                receive(judged);
            }
        },
    );
    Ok(())
}

/// Has the workers of a queue judge the changes.
#[cfg(unix)]
fn share(
    address: raddle_queue::Address,
    options: &MutantsArguments,
    court: &Court<'_>,
    mutants: &[Mutant],
    receive: &mut dyn FnMut((usize, Judgement)),
) -> Result<(), Error> {
    use crate::run::queue::mutants::{Job, settings};
    use crate::toolchain::binaries::Test;

    let BuiltTests {
        binaries, tests, ..
    } = court.built;
    let name = |index: usize| {
        let test = &tests[index];
        (binaries[test.binary].name.clone(), test.name.clone())
    };
    let job = |mutant: &Mutant| Job {
        change: mutant.variable(),
        tests: court.judges_of(mutant).map(name).collect(),
    };
    let jobs: Vec<Job> = mutants.iter().map(job).collect();
    let index = |binary: &str, test: &str| {
        let is_it = |it: &Test| it.name == test && binaries[it.binary].name == binary;
        tests.iter().position(is_it)
    };
    let front_end = queue::open_for_mutants(address, options)?;
    let judged = front_end.present(|| {
        let settings = settings(&jobs, binaries);
        front_end.judge(&jobs, settings, &index, |number, judgement| {
            receive((number, judgement));
        })
    });
    front_end.close(judged.is_ok() && !interrupts::is_requested())?;
    Ok(judged?)
}
