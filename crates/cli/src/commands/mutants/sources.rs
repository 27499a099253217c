//! Mistakes in the source, made in a copy of the workspace: those whose types allow it in one build, which makes the one
//! that a variable names, and the others with a build for each.

use std::collections::{BTreeSet, HashSet};
use std::sync::mpsc::Sender;

use crate::commands::error::Error;
use crate::commands::mutants::{Court, Trial};
use crate::commands::test::{self, BuiltTests};
use crate::output;
use crate::output::changes::{Change, Outcome};
use crate::output::plural::counted;
use crate::run::interrupts;
use crate::run::leftovers::RunDirectory;
use crate::run::mutant;
use crate::run::parallel::run_in_parallel;
use crate::run::source_copy::SourceCopy;
use crate::source::switches::{CHOSEN, Switch};
use crate::source::{self, CodeOfTests, Mistake};
use crate::toolchain::binaries::TestBinary;
use crate::toolchain::cargo::{BuildFailure, Cargo, Workspace};
use crate::toolchain::data_directory;

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
    let (built, common) = build(&copy, &files, workspace, trial)?;
    let court = Court::open_in(directory, &built, &options.tests)?;
    for file in &files {
        write(&copy, file, &file.text)?;
    }
    let switched = common.switched.len();
    eprintln!(
        "{} in one build, {} with a build of their own",
        counted(switched, "change", "changes"),
        count - switched
    );
    trial.start();
    let jury = Jury::new(&court, common.is_marked);
    let mut receive = |file: &File, mistake: &Mistake, outcome: Outcome| {
        trial.receive(change(file, mistake), outcome);
    };
    jury.judge_switched(&files, &common.switched, &mut receive);
    for (number, file, mistake) in numbered(&files) {
        if interrupts::is_requested() {
            return Ok(());
        }
        if common.switched.contains(&number) {
            continue;
        }
        let tests = jury.tests(file, mistake);
        if tests.is_empty() {
            receive(file, mistake, Outcome::Unreached);
            continue;
        }
        write(&copy, file, &mistake.make(&file.text))?;
        let outcome = match copy.build() {
            Ok(_) => {
                let judgement = mutant::judge_with(&court.runner(), 0, &[], tests);
                Outcome::judged(judgement, &built.tests)
            }
            Err(failure) => Outcome::Unbuildable { why: failure.why },
        };
        write(&copy, file, &file.text)?;
        if interrupts::is_requested() {
            return Ok(());
        }
        receive(file, mistake, outcome);
    }
    Ok(())
}

/// The mistakes of all files with their numbers.
fn numbered(files: &[File]) -> impl Iterator<Item = (usize, &File, &Mistake)> {
    let all = files
        .iter()
        .flat_map(|file| file.mistakes.iter().map(move |mistake| (file, mistake)));
    all.enumerate()
        .map(|(number, (file, mistake))| (number, file, mistake))
}

/// The tests that judge mistakes, and the blocks that each of them runs.
struct Jury<'a> {
    court: &'a Court<'a>,
    reached: Vec<(usize, HashSet<usize>)>,
    /// False if what the tests reach is unknown.
    is_marked: bool,
}

impl<'a> Jury<'a> {
    fn new(court: &'a Court<'a>, is_marked: bool) -> Self {
        let reached = (court.judges.iter()).map(|judge| (judge.test, court.reached(judge.test)));
        Jury {
            reached: reached.collect(),
            court,
            is_marked,
        }
    }

    /// Returns the tests that run the block of a mistake, the quickest first.
    fn tests(&self, file: &File, mistake: &Mistake) -> Vec<usize> {
        let block = file.first_block + mistake.block;
        let reaching = self.reached.iter();
        let reaching = reaching.filter(|(_, blocks)| !self.is_marked || blocks.contains(&block));
        reaching.map(|(test, _)| *test).collect()
    }

    /// Judges the mistakes of the common build.
    fn judge_switched(
        &self,
        files: &[File],
        switched: &HashSet<usize>,
        receive: &mut dyn FnMut(&File, &Mistake, Outcome),
    ) {
        let all: Vec<_> = numbered(files)
            .filter(|(number, ..)| switched.contains(number))
            .collect();
        let runner = self.court.runner();
        let judge = |index: usize, sender: &Sender<_>| {
            let (number, file, mistake) = all[index];
            let tests = self.tests(file, mistake);
            let chosen = number.to_string();
            let variable = (CHOSEN, chosen.as_ref());
            let outcome = match tests.is_empty() {
                true => Outcome::Unreached,
                false => {
                    let judgement = mutant::judge_with(&runner, index, &[variable], tests);
                    Outcome::judged(judgement, &self.court.built.tests)
                }
            };
            let _ = sender.send((index, outcome));
        };
        run_in_parallel(
            all.len(),
            runner.jobs,
            interrupts::is_requested,
            judge,
            |(index, outcome)| {
                if !interrupts::is_requested() {
                    let (_, file, mistake) = all[index];
                    receive(file, mistake, outcome);
                }
            },
        );
    }
}

/// Finds the mistakes that are tried in this run.
fn find(copy: &SourceCopy, sources: &[String], trial: &mut Trial<'_>) -> Vec<File> {
    let in_tests = trial.options.tests.in_tests;
    let mut code_of_tests = CodeOfTests::new(copy.root());
    let (mut files, mut first_block) = (Vec::new(), 0);
    for name in sources {
        if !in_tests && code_of_tests.is_all_of(name) {
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

/// What the build can do that all tests ran in at first.
struct Common {
    /// True when it records what the tests reach.
    is_marked: bool,
    /// Numbers of the mistakes that it can make.
    switched: HashSet<usize>,
}

/// Builds the copy with marks that record what the tests reach, and with choices that make mistakes. Choices on lines with
/// errors are left out; if there are errors elsewhere, marks are left out, too, and every test has to judge every mistake.
fn build(
    copy: &SourceCopy,
    files: &[File],
    workspace: Workspace,
    trial: &Trial<'_>,
) -> Result<(BuiltTests, Common), Error> {
    let mut common = Common {
        is_marked: true,
        switched: numbered(files)
            .filter_map(|(number, _, mistake)| mistake.switch.is_some().then_some(number))
            .collect(),
    };
    let binaries = loop {
        write_common(copy, files, &common)?;
        match copy.build() {
            Ok(binaries) => break binaries,
            Err(_) if interrupts::is_requested() => break Vec::new(),
            Err(failure) if !common.switched.is_empty() => {
                leave_out(&mut common.switched, files, &failure);
            }
            Err(failure) if common.is_marked => {
                common.is_marked = false;
                let why = failure.why;
                eprintln!(
                    "warning: the source cannot record what tests reach, so that every test judges every change: {why}"
                );
            }
            Err(failure) => return Err(Error::CopyDoesNotBuild { why: failure.why }),
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
    Ok((built, common))
}

/// Writes the sources with marks and choices.
fn write_common(copy: &SourceCopy, files: &[File], common: &Common) -> Result<(), Error> {
    let mut first = 0;
    for file in files {
        let used: BTreeSet<_> = file.mistakes.iter().map(|it| it.block).collect();
        let blocks = used
            .into_iter()
            .map(|block| (file.first_block + block, file.blocks[block]))
            .filter(|_| common.is_marked);
        let switches = file
            .mistakes
            .iter()
            .enumerate()
            .filter_map(|(at, mistake)| {
                let number = first + at;
                let range = mistake.switch.clone();
                range
                    .filter(|_| common.switched.contains(&number))
                    .map(|range| Switch {
                        number,
                        mistake,
                        range,
                    })
            });
        let switches: Vec<_> = switches.collect();
        write(
            copy,
            file,
            &source::with_marks(&file.text, blocks, &switches),
        )?;
        first += file.mistakes.len();
    }
    Ok(())
}

/// Leaves out the choices on lines with errors; if there are none, all of them.
fn leave_out(switched: &mut HashSet<usize>, files: &[File], failure: &BuildFailure) {
    let count = switched.len();
    for (number, file, mistake) in numbered(files) {
        let Some(range) = &mistake.switch else {
            continue;
        };
        let line = |byte: usize| file.text[..byte].matches('\n').count() as u32 + 1;
        let (first, last) = (line(range.start), line(range.end));
        let is_there = |(name, from, to): &(String, u32, u32)| {
            *name == file.name && *from <= last && first <= *to
        };
        if failure.lines.iter().any(is_there) {
            switched.remove(&number);
        }
    }
    if switched.len() == count {
        switched.clear();
    }
}
