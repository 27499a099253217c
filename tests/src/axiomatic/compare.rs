//! What raddle runs, against what the axioms allow.

use std::fmt::Write;

use super::program::Litmus;
use super::run::{Observed, memory_models, observe, strategies};
use super::{Allowed, Class, Model, allowed};

/// Programs with more schedules than this are not run in all of them.
const MAX_SCHEDULES: u64 = 20_000;
/// More than any program here has classes.
const MAX_CLASSES: u64 = 1_000_000;

/// Compares under every model that raddle has; how many classes there are in all, or what differs.
pub fn compare(litmus: &Litmus) -> Result<usize, String> {
    let counts = memory_models().iter().map(|&model| {
        let difference = compare_under(litmus, model);
        difference.map_err(|text| format!("under {model:?}, {text}"))
    });
    counts.sum()
}

/// Compares under one model; how many classes there are, or what differs.
pub fn compare_under(litmus: &Litmus, model: Model) -> Result<usize, String> {
    let expected = allowed(litmus, model);
    for strategy in strategies(model) {
        let once = *strategy == raddle::Strategy::Exhaustive;
        let max_executions = if once { MAX_CLASSES } else { MAX_SCHEDULES };
        match observe(litmus, model, strategy, max_executions)? {
            Some(found) => {
                difference(&expected, &found, once).map_err(|text| format!("{strategy} {text}"))?
            }
            None if once => return Err("the search does not end".to_owned()),
            None => {}
        }
    }
    Ok(expected.classes.len())
}

fn difference(expected: &Allowed, found: &Observed, once: bool) -> Result<(), String> {
    let mut missing = expected.classes.iter();
    let is_missing = |class: &&Class| !found.classes.contains_key(*class);
    if let Some(class) = missing.find(is_missing) {
        return Err(format!("misses {}", shown(class)));
    }
    let mut run = found.classes.iter();
    let is_invented = |(class, _): &(&Class, &u64)| !expected.classes.contains(*class);
    if let Some((class, _)) = run.find(is_invented) {
        return Err(format!("invents {}", shown(class)));
    }
    let mut run = found.classes.iter();
    if let Some((class, times)) = run.find(|(_, times)| once && **times > 1) {
        return Err(format!("runs {times} times {}", shown(class)));
    }
    match found.reads_from == expected.reads_from {
        true => Ok(()),
        false => Err("has other sources of reads".to_owned()),
    }
}

/// A class in a form to read: `1.2 after 2.1` is the third event of thread 1, which reads or follows
/// the second of thread 2. Each thread's event 0 is its begin, and main is thread 0.
fn shown(class: &Class) -> String {
    let mut text = String::new();
    for ((thread, position), source) in class {
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = match source {
            Some(source) => write!(
                text,
                "{separator}{thread}.{position} after {}.{}",
                source.0, source.1
            ),
            None => write!(text, "{separator}{thread}.{position} first"),
        };
    }
    text
}
