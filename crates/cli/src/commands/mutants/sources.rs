//! Mistakes in the source, made in a copy of the workspace, with a build for each.

use crate::commands::error::Error;
use crate::commands::mutants::{Court, Trial};
use crate::commands::test::{self, BuiltTests};
use crate::output;
use crate::output::changes::{Change, Outcome};
use crate::output::plural::counted;
use crate::run::interrupts;
use crate::run::leftovers::RunDirectory;
use crate::run::mutant;
use crate::run::source_copy::SourceCopy;
use crate::source::{self, Mistake};
use crate::toolchain::binaries::TestBinary;
use crate::toolchain::cargo::{Cargo, Workspace};
use crate::toolchain::data_directory;

/// Folders of tests, by the usual layout of crates.
const OF_TESTS: [&str; 3] = ["tests", "examples", "benches"];

/// A source with the mistakes that are made in it.
struct File {
    name: String,
    text: String,
    mistakes: Vec<Mistake>,
    blocks: Vec<usize>,
    /// Number of the first block among those of all files.
    first_block: usize,
}

/// Lists the mistakes, or tries them.
pub fn run(cargo: &Cargo, trial: &mut Trial<'_>) -> Result<(), Error> {
    let options = trial.options;
    if options.tests.settings.has_native() {
        return Err(Error::NeedsNative);
    }
    let workspace = cargo.workspace()?;
    let members = cargo.members()?;
    let raddle = data_directory::within(&workspace.target);
    let cannot_write = || output::error::Error::cannot_write(&raddle);
    let directory = RunDirectory::new(&raddle).map_err(cannot_write())?;
    interrupts::listen();
    let selection = options.tests.as_test();
    let (for_cargo, _) = selection.split();
    let profile = options.tests.cargo.build.profile_name().to_owned();
    let copy = SourceCopy::new(
        cargo,
        &workspace,
        &members,
        directory.path(),
        for_cargo,
        &profile,
    )
    .map_err(cannot_write())?;
    let files = find(&copy, &copy.sources(&members), trial);
    if options.list {
        for file in &files {
            for mistake in &file.mistakes {
                trial.list(change(file, mistake));
            }
        }
        return Ok(());
    }
    let count: usize = files.iter().map(|it| it.mistakes.len()).sum();
    if count == 0 {
        return Ok(());
    }
    eprintln!(
        "building a copy for {} of the source",
        counted(count, "change", "changes")
    );
    let (built, is_marked) = build(&copy, &files, workspace, trial)?;
    let court = Court::open_in(directory, &built, &options.tests)?;
    for file in &files {
        write(&copy, file, &file.text)?;
    }
    trial.start();
    let reached: Vec<_> = (court.judges.iter())
        .map(|judge| (judge.test, court.reached(judge.test)))
        .collect();
    for file in &files {
        for mistake in &file.mistakes {
            if interrupts::is_requested() {
                return Ok(());
            }
            let block = file.first_block + mistake.block;
            let reaching = reached
                .iter()
                .filter(|(_, blocks)| !is_marked || blocks.contains(&block));
            let tests: Vec<usize> = reaching.map(|(test, _)| *test).collect();
            let changed = mistake.make(&file.text);
            let outcome = match tests.is_empty() {
                true => Outcome::Unreached,
                false => {
                    write(&copy, file, &changed)?;
                    match copy.build() {
                        Err(why) => Outcome::Unbuildable { why },
                        Ok(_) => {
                            let judgement = mutant::judge_change(&court.runner(), 0, None, tests);
                            Outcome::judged(judgement, &built.tests)
                        }
                    }
                }
            };
            if interrupts::is_requested() {
                return Ok(());
            }
            trial.receive(change(file, mistake), outcome);
        }
        write(&copy, file, &file.text)?;
    }
    Ok(())
}

/// Finds the mistakes that are tried in this run.
fn find(copy: &SourceCopy, sources: &[String], trial: &mut Trial<'_>) -> Vec<File> {
    let in_tests = trial.options.tests.in_tests;
    let (mut files, mut first_block) = (Vec::new(), 0);
    for name in sources {
        let mut folders = name.split(['/', '\\']);
        if !in_tests && folders.any(|folder| OF_TESTS.contains(&folder)) {
            continue;
        }
        let Ok(text) = copy.read(name) else { continue };
        // A mistake may leave something unused.
        let text = text.replace("#![deny(", "#![warn(");
        let Some(found) = source::find(&text, in_tests) else {
            continue;
        };
        let mut mistakes = found.all;
        mistakes.retain(|mistake| trial.chooses(name, mistake.line));
        if mistakes.is_empty() {
            continue;
        }
        let count = found.blocks.len();
        files.push(File {
            name: name.clone(),
            text,
            mistakes,
            blocks: found.blocks,
            first_block,
        });
        first_block += count;
    }
    files
}

fn change(file: &File, mistake: &Mistake) -> Change {
    let changed = mistake.make(&file.text);
    Change::of_source(&file.name, mistake, &file.text, &changed)
}

fn write(copy: &SourceCopy, file: &File, text: &str) -> Result<(), Error> {
    let failed = output::error::Error::cannot_write(file.name.as_ref());
    Ok(copy.write(&file.name, text).map_err(failed)?)
}

/// Builds the copy without a mistake, with marks that record what the tests reach. If that is not possible, without marks,
/// and every test has to judge every mistake.
fn build(
    copy: &SourceCopy,
    files: &[File],
    workspace: Workspace,
    trial: &Trial<'_>,
) -> Result<(BuiltTests, bool), Error> {
    for file in files {
        let used: std::collections::BTreeSet<_> = file.mistakes.iter().map(|it| it.block).collect();
        let blocks = used
            .into_iter()
            .map(|block| (file.first_block + block, file.blocks[block]));
        let marked = source::with_marks(&file.text, blocks);
        write(copy, file, &marked)?;
    }
    let with_marks = copy.build();
    let is_marked = with_marks.is_ok();
    let binaries = match with_marks {
        Ok(binaries) => binaries,
        Err(_) if interrupts::is_requested() => Vec::new(),
        Err(why) => {
            for file in files {
                write(copy, file, &file.text)?;
            }
            let plain = copy
                .build()
                .map_err(|why| Error::CopyDoesNotBuild { why })?;
            eprintln!(
                "warning: the source cannot record what tests reach, so that every test judges every change: {why}"
            );
            plain
        }
    };
    let binaries: Vec<_> = binaries
        .into_iter()
        .filter(TestBinary::uses_raddle)
        .collect();
    if binaries.is_empty() && !interrupts::is_requested() {
        return Err(Error::NothingUsesRaddle);
    }
    let built = test::with_binaries(binaries, workspace, &trial.options.tests.as_test())?;
    Ok((built, is_marked))
}
