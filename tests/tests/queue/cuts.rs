//! Exhaustive searches that are cut wherever they can be: the *sets* of classes are those of one uncut search, whichever
//! parts there are and in whichever order they are explored. Slices end by the clock elsewhere, here after a number
//! of runs, so what fails is repeatable. The process of the test is a real one; the queue is a list.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

use fastrand::Rng;
use raddle_report::exchange::{FromCheck, Part, PartResults, ToCheck, Totals};

use crate::programs::{SEED_LIST, classes_of_generated};
use crate::server;

/// Longer than any slice.
const LONG: u64 = 600_000;

/// Number of programs, and the most executions that one of them has.
const FEW: u64 = 40;
const MANY: u64 = 1_000;
const MOST: u64 = 600;

/// Programs whose searches once lost classes when they were cut, and ran others twice. In the first two a process that
/// had not performed a weak access yet explored a branch in which a read is stale; in the others, a read came before its
/// next source in the linearization that was found for a graph read from text.
const FOUND: [u64; 8] = [1305, 1573, 215, 395, 467, 603, 653, 1587];

/// A process of a test whose checks explore the parts that they are handed.
pub struct Process {
    child: Child,
    listener: UnixListener,
}

/// A check of the process.
pub struct Check {
    /// The part that follows when no part is left.
    pub next: Option<String>,
    to: UnixStream,
    from: BufReader<UnixStream>,
}

/// Classes with the number of executions of each.
type Counts = BTreeMap<u64, u32>;

impl Process {
    pub fn start(test: &str, seeds: &str) -> Self {
        let directory = server::directory("cuts");
        let socket = directory.join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test])
            .env("RADDLE_SHARED_SEARCH", &socket)
            .env("RADDLE_DIR", &directory)
            .env(SEED_LIST, seeds)
            .env("RADDLE_SELF_TEST", "classes")
            .stdout(Stdio::null())
            .spawn();
        Process {
            child: child.unwrap(),
            listener,
        }
    }

    /// Waits for the next check.
    pub fn check(&self) -> Check {
        let (to, _) = self.listener.accept().unwrap();
        let mut from = BufReader::new(to.try_clone().unwrap());
        let first = FromCheck::read(&mut from).unwrap();
        let Some(FromCheck::Search(search)) = first else {
            panic!("{first:?}");
        };
        let next = search.next;
        Check { next, to, from }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Check {
    /// Explores one part.
    pub fn results(&mut self, part: Part) -> PartResults {
        ToCheck::Explore(part).write(&mut self.to).unwrap();
        match FromCheck::read(&mut self.from).unwrap() {
            Some(FromCheck::Results(results)) => results,
            other => panic!("{other:?}"),
        }
    }

    /// Explores the search in parts, of which the next one, its number of runs and the number of pieces that are
    /// left of it are chosen by `cut`.
    fn explore(
        &mut self,
        mut cut: impl FnMut(usize) -> (usize, u64, usize),
    ) -> Result<Counts, String> {
        let mut parts = vec![Part::ROOT.to_owned()];
        let mut counts = Counts::new();
        let mut known = Vec::new();
        while !parts.is_empty() {
            let (next, runs, pieces) = cut(parts.len());
            let part = Part {
                item: parts.swap_remove(next),
                milliseconds: LONG,
                pieces,
                known: known.clone(),
                runs: Some(runs),
                lessons: Vec::new(),
            };
            let results = self.results(part);
            if results.is_over {
                // A failure that no uncut search has, such as nondeterminism.
                return Err(format!("{:?}", results.failures));
            }
            parts.extend(results.items);
            known.extend(results.failures.into_iter().map(|one| one.headline));
            let executions = results.sums["executions"];
            // A class that is run twice in one part is handed back once.
            if executions != results.classes.len() as u64 {
                return Err("a class more than once in one part".to_owned());
            }
            for class in results.classes {
                *counts.entry(class).or_default() += 1;
            }
        }
        Ok(counts)
    }

    fn end(mut self) {
        let totals = Totals {
            is_exhausted: true,
            ..Totals::default()
        };
        ToCheck::Totals(totals).write(&mut self.to).unwrap();
    }
}

/// Describes the difference of two sets of classes.
fn difference(found: &Counts, expected: &Counts) -> Option<String> {
    let lost = expected.keys().filter(|class| !found.contains_key(class));
    let new = found.keys().filter(|class| !expected.contains_key(class));
    let twice = found.iter().filter(|(_, count)| **count > 1);
    let (lost, new, twice) = (lost.count(), new.count(), twice.count());
    (lost + new + twice > 0).then(|| format!("{lost} lost, {new} new, {twice} more than once"))
}

/// Compares searches of these programs, which are cut after each of these numbers of runs and this number of times at
/// random.
fn compare(seeds: impl Iterator<Item = u64>, lengths: &[u64], random: u64) {
    let programs: Vec<(u64, Counts)> = seeds
        .filter_map(|seed| {
            let classes = classes_of_generated(seed, MOST)?;
            Some((seed, classes.into_iter().map(|class| (class, 1)).collect()))
        })
        .collect();
    let seeds: Vec<String> = programs.iter().map(|(seed, _)| seed.to_string()).collect();
    let process = Process::start("programs::generated_ones", &seeds.join(","));
    let (mut searches, mut failed) = (0, Vec::new());
    for (seed, expected) in &programs {
        let mut check = process.check();
        let mut compare = |how: String, found: Result<Counts, String>| {
            searches += 1;
            let found = found.map(|found| difference(&found, expected));
            if let Some(difference) = found.unwrap_or_else(Some) {
                failed.push(format!("program {seed}, {how}: {difference}"));
            }
        };
        for &runs in lengths {
            for pieces in [1, 4] {
                let found = check.explore(|parts| (parts - 1, runs, pieces));
                compare(format!("slices of {runs}, {pieces} pieces"), found);
            }
        }
        for number in 0..random {
            let mut rng = Rng::with_seed(number);
            let longest = 1 << rng.u32(1..7);
            let cut = |parts| (rng.usize(..parts), rng.u64(1..=longest), rng.usize(1..=5));
            compare(format!("random cuts {number}"), check.explore(cut));
        }
        check.end();
    }
    let (count, all) = (failed.len(), failed.join("\n"));
    println!("{} programs, {searches} searches", programs.len());
    assert!(failed.is_empty(), "{count} of {searches} searches:\n{all}");
}

#[test]
fn searches_cut_anywhere_have_the_classes_of_one_search() {
    let seeds = (0..FEW).chain(FOUND);
    compare(seeds, &[2, 5], 1);
}

/// By hand: `cargo test-queue -- --ignored --nocapture many_searches`.
#[test]
#[ignore = "takes minutes"]
fn many_searches_cut_anywhere_have_the_classes_of_one_search() {
    compare((0..MANY).chain(FOUND), &[1, 2, 3, 5, 8], 8);
}
