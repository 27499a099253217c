//! Random programs in which each read is served other values: a read that is said to be irrelevant must change nothing.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use raddle_relevance::{Analysis, Relevance, analyse};

mod generator;
mod programs;
use programs::{compile_instrumented, compile_library, compile_plain, compilers, folder, run};

/// Functions in one source; to compile them together is faster.
const TOGETHER: u64 = 12;
/// Usual number of random functions.
const FUNCTIONS: u64 = 72;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the number of random functions: as `RADDLE_TEST_PROGRAMS` says, a number or a multiple (`3x`).
fn wanted() -> u64 {
    let Some(text) = variable("RADDLE_TEST_PROGRAMS") else {
        return FUNCTIONS;
    };
    match text.strip_suffix('x') {
        Some(factor) => (FUNCTIONS as f64 * factor.parse::<f64>().unwrap()) as u64,
        None => text.parse().unwrap(),
    }
}

/// Runs of a program with other values.
#[derive(Default)]
struct Runs {
    reads: BTreeSet<u64>,
    /// By read: what changed, and for stores where.
    effects: BTreeMap<u64, BTreeSet<(char, u64)>>,
    /// From writes to reads of what they have stored.
    edges: BTreeMap<u64, BTreeSet<u64>>,
    /// By write: the addresses and sizes.
    stores: BTreeMap<u64, BTreeSet<(u64, u64)>>,
}

fn parse(output: &str) -> Runs {
    let mut runs = Runs::default();
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let code = |index: usize| u64::from_str_radix(words[index], 16).unwrap();
        match words[0] {
            "read" => {
                runs.reads.insert(code(1));
            }
            "edge" => {
                runs.edges.entry(code(1)).or_default().insert(code(2));
            }
            "store" => {
                runs.stores
                    .entry(code(1))
                    .or_default()
                    .insert((code(2), code(3)));
            }
            _ => {
                let kind = words[2].chars().next().unwrap();
                let place = if kind == 'S' { code(3) } else { 0 };
                let effects = runs.effects.entry(code(1)).or_default();
                effects.insert((kind, place));
            }
        }
    }
    runs
}

/// Returns the places that may store a read's value, through any number of loads of what was stored; `None` if the
/// value is relevant.
fn stored_at(analysis: &Analysis, runs: &Runs, read: u64) -> Option<BTreeSet<u64>> {
    let mut places = BTreeSet::new();
    let mut todo = vec![&analysis.read(read)?.verdict];
    while let Some(verdict) = todo.pop() {
        if !matches!(verdict.relevance(), Relevance::None | Relevance::Stored) {
            return None;
        }
        for &store in &verdict.stores {
            if !places.insert(store) {
                continue;
            }
            for &next in runs.edges.get(&store).into_iter().flatten() {
                todo.push(&analysis.read(next)?.verdict);
            }
            for &(address, size) in runs.stores.get(&store).into_iter().flatten() {
                let loads = analysis.unseen_loads.iter();
                let loads = loads.filter(|load| load.may_be_of(address, size));
                todo.extend(loads.map(|load| &load.verdict));
            }
        }
    }
    Some(places)
}

#[derive(Default)]
struct Total {
    reads: u64,
    irrelevant: u64,
    irrelevant_with_stores: u64,
}

/// Compares the runs of a source with its analysis, and keeps the programs that differ.
fn check(source: &Path, linked: [&Path; 2], total: &mut Total, failures: &mut Vec<String>) {
    for compiler in compilers() {
        for level in ["-O0", "-O1", "-O2"] {
            let name = format!(
                "{}-{compiler}{level}.o",
                source.file_stem().unwrap().to_str().unwrap()
            );
            let object = source.with_file_name(name);
            let program = object.with_extension("program");
            compile_instrumented(compiler, level, source, &object);
            let mut link = Command::new(compiler);
            run(link
                .arg("-no-pie")
                .arg(&object)
                .args(linked)
                .arg("-o")
                .arg(&program));
            let runs = parse(&run(&mut Command::new(&program)));
            let analysis = analyse(&std::fs::read(&program).unwrap()).unwrap();
            assert!(!runs.reads.is_empty());
            let mut keep = false;
            for &read in &runs.reads {
                total.reads += 1;
                let Some(places) = stored_at(&analysis, &runs, read) else {
                    continue;
                };
                total.irrelevant += 1;
                total.irrelevant_with_stores += u64::from(!places.is_empty());
                let effects = runs.effects.get(&read).into_iter().flatten();
                let is_wrong =
                    |&(kind, place): &(char, u64)| kind != 'S' || !places.contains(&place);
                let wrong: Vec<_> = effects.copied().filter(is_wrong).collect();
                if !wrong.is_empty() {
                    failures.push(format!(
                        "{}: the read that returns to {read:x} changes {wrong:x?}; it may store at {places:x?}",
                        program.display()
                    ));
                    keep = true;
                }
            }
            if !keep {
                std::fs::remove_file(&program).unwrap();
            }
            std::fs::remove_file(&object).unwrap();
        }
    }
}

#[test]
fn reads_that_are_irrelevant_change_nothing() {
    let folder = folder("differential");
    let serve = folder.join("serve.o");
    let copies = folder.join("copies.so");
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    compile_plain(&cases.join("serve.c"), &serve);
    compile_library(&cases.join("copies.c"), &copies);
    let linked = [serve.as_path(), &copies];
    let first = variable("RADDLE_TEST_SEED").map_or(0, |seed| seed.parse().unwrap());
    let mut total = Total::default();
    let mut failures = Vec::new();
    for batch in first..first + wanted().div_ceil(TOGETHER) {
        let source = folder.join(format!("random-{batch}.c"));
        std::fs::write(&source, generator::source(batch, TOGETHER)).unwrap();
        check(&source, linked, &mut total, &mut failures);
        if failures.is_empty() {
            std::fs::remove_file(&source).unwrap();
        }
    }
    println!(
        "{} reads, {} irrelevant, {} of them stored",
        total.reads, total.irrelevant, total.irrelevant_with_stores
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    // A check that compared nothing would find nothing.
    assert!(total.irrelevant_with_stores * 20 > total.reads);
}
