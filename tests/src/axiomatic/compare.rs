//! The classes that raddle runs, compared with those that the axioms allow.

use std::fmt::Write;

use raddle::Strategy;

use super::program::Litmus;
use super::run::{MODELS, Observed, STRATEGIES, observe};
use super::{Allowed, Class, Model, allowed, classes};

/// Maximum number of executions; no program here has as many classes.
const MAX_CLASSES: u64 = 1_000_000;

/// A comparison in which raddle and the axioms agree.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    /// Number of classes, under all models together.
    pub classes: usize,
    /// True when all schedules were run too, under the models that allow it.
    pub in_all_schedules: bool,
}

/// Compares under every model that raddle has; returns a difference as an error. All schedules are
/// run too, where the model has such a strategy, unless there are more than `max_schedules`.
pub fn compare(litmus: &Litmus, max_schedules: u64) -> Result<Agreement, String> {
    let mut agreement = Agreement {
        classes: 0,
        in_all_schedules: true,
    };
    for model in MODELS {
        compare_under(litmus, model, max_schedules, &mut agreement)
            .map_err(|text| format!("under {model:?}, {text}"))?;
    }
    Ok(agreement)
}

fn compare_under(
    litmus: &Litmus,
    model: Model,
    max_schedules: u64,
    agreement: &mut Agreement,
) -> Result<(), String> {
    let expected = allowed(litmus, model);
    agreement.classes += expected.classes.len();
    for strategy in &STRATEGIES {
        let once = *strategy != Strategy::EnumeratePrivateFirst;
        let max_executions = if once { MAX_CLASSES } else { max_schedules };
        let found = match max_executions {
            0 => None,
            _ => observe(litmus, model, strategy, max_executions)?,
        };
        match found {
            Some(found) => {
                difference(&expected, &found, once).map_err(|text| format!("{strategy} {text}"))?
            }
            None if once => return Err("the search does not end".to_owned()),
            None => agreement.in_all_schedules = false,
        }
    }
    Ok(())
}

/// Panics unless raddle's search runs the classes that the axioms allow.
#[track_caller]
pub fn assert_compared(litmus: &Litmus) {
    if let Err(text) = compare(litmus, 0) {
        panic!("{text}\nin\n{litmus}");
    }
}

/// Panics unless the axioms of RC11 and of sequential consistency give these numbers of classes,
/// and raddle runs them.
#[track_caller]
pub fn assert_counts(rc11: usize, sc: usize, litmus: &Litmus) {
    let found = (classes(litmus, Model::Rc11), classes(litmus, Model::Sc));
    assert_eq!(found, (rc11, sc), "{litmus}");
    assert_compared(litmus);
}

/// Panics unless the axioms of RC11 allow (or forbid) these values to be read, thread by thread and
/// main last; and unless raddle runs the classes that the axioms allow.
#[track_caller]
pub fn assert_allows(is_allowed: bool, values: &[i32], litmus: &Litmus) {
    let outcomes = allowed(litmus, Model::Rc11).outcomes;
    assert_eq!(outcomes.contains(values), is_allowed, "{litmus}");
    assert_compared(litmus);
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

/// Returns a class as text: `1.2 after 2.1` is the third event of thread 1, which reads or follows
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
