//! `cargo raddle mutants`: makes mistakes one by one, and tells which the tests notice.

mod court;
mod in_diff;
mod operations;
mod sources;

pub use court::{Court, build};

use std::collections::BTreeSet;
use std::time::Instant;

use crate::arguments::subcommands::{MutantsArguments, Tier};
use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::output;
use crate::output::changes::{self, Change, Counts, Outcome, Tried};
use crate::output::plural::counted;
use crate::run::interrupts;
use crate::toolchain::cargo::Cargo;

pub fn run(cargo: &Cargo, options: &MutantsArguments) -> Result<Verdict, Error> {
    if options.queue.is_some() && options.tier != Tier::Runtime {
        return Err(Error::QueueTier);
    }
    let root = cargo.workspace()?.root;
    let mut trial = Trial {
        options,
        lines: match &options.in_diff {
            Some(revision) => Some(in_diff::changed_lines(&root, revision)?),
            None => None,
        },
        seen: 0,
        start: Instant::now(),
        tried: Vec::new(),
    };
    output::set_colours(options.tests.cargo.build.colours());
    if options.tier != Tier::Source {
        match operations::run(cargo, &mut trial) {
            Err(Error::NothingToChange { .. }) if options.tier == Tier::All => {}
            result => result?,
        }
    }
    if options.tier != Tier::Runtime && !interrupts::is_requested() {
        sources::run(cargo, &mut trial)?;
    }
    trial.finish(&root)
}

/// The changes of a run and what came of them.
pub struct Trial<'a> {
    pub options: &'a MutantsArguments,
    /// Lines whose changes are tried, by file as checks name it; all if there is no limit.
    lines: Option<BTreeSet<(String, u32)>>,
    /// Number of changes that were chosen or left to other shards.
    seen: usize,
    start: Instant,
    tried: Vec<Tried>,
}

impl Trial<'_> {
    /// True when a change at this place is tried in this run.
    pub fn chooses(&mut self, file: &str, line: u32) -> bool {
        let lines = self.lines.as_ref();
        if lines.is_some_and(|lines| !lines.contains(&(file.to_owned(), line))) {
            return false;
        }
        self.seen += 1;
        let shard = self.options.shard;
        shard.is_none_or(|shard| (self.seen - 1) % shard.of == shard.part - 1)
    }

    /// Restarts the clock, when the changes can be tried.
    pub fn start(&mut self) {
        if self.tried.is_empty() {
            self.start = Instant::now();
        }
    }

    /// Prints a change that is not tried.
    pub fn list(&mut self, change: Change) {
        match self.options.json {
            true => println!("{}", changes::record(&change, None)),
            false => {
                println!("{change}");
                for line in change.difference.iter().flat_map(|it| it.lines()) {
                    println!("    {line}");
                }
            }
        }
        self.tried.push(Tried {
            change,
            outcome: Outcome::Unreached,
        });
    }

    /// Prints what came of a change.
    pub fn receive(&mut self, change: Change, outcome: Outcome) {
        match self.options.json {
            true => println!("{}", changes::record(&change, Some(&outcome))),
            false => changes::print(&change, &outcome),
        }
        self.tried.push(Tried { change, outcome });
    }

    fn finish(self, root: &std::path::Path) -> Result<Verdict, Error> {
        if self.options.list {
            eprintln!("{}", counted(self.tried.len(), "change", "changes"));
            return Ok(Verdict::Passed);
        }
        if let Some(path) = &self.options.junit {
            changes::junit::write(path, &self.tried)?;
        }
        if let Some(path) = &self.options.html {
            changes::page::write(path, root, &self.tried)?;
        }
        let counts = Counts::of(&self.tried);
        let seconds = self.start.elapsed().as_secs_f64();
        eprintln!("{} in {seconds:.1} s", counts.in_words());
        Ok(match () {
            () if interrupts::is_requested() => Verdict::Interrupted,
            () if !counts.all_noticed() => Verdict::Failed,
            () => Verdict::Passed,
        })
    }
}
