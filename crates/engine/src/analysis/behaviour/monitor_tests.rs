//! The monitor against the definition of the operators, on random formulas and words.

use super::super::formula::Property;
use super::*;
use crate::base::rng::Rng;

/// Positions that a future operator looks at in an infinite word, which is enough for the periods below.
const HORIZON: usize = 24;

/// A word, as a finite one, or with labels that follow again and again.
struct Word<'a> {
    start: &'a [String],
    repeated: &'a [String],
}

impl Word<'_> {
    fn at(&self, position: usize) -> Option<&str> {
        match position.checked_sub(self.start.len()) {
            None => Some(&self.start[position]),
            Some(_) if self.repeated.is_empty() => None,
            Some(after) => Some(&self.repeated[after % self.repeated.len()]),
        }
    }

    /// The value of a formula at a position, by the definition.
    fn value(&self, formula: &Formula, position: usize) -> bool {
        let later = || {
            let end = match self.repeated.is_empty() {
                true => self.start.len(),
                false => position + HORIZON,
            };
            position..end
        };
        match formula {
            Formula::Constant(value) => *value,
            Formula::Event(label) => self.at(position) == Some(label),
            Formula::Not(inner) => !self.value(inner, position),
            Formula::And(left, right) => self.value(left, position) && self.value(right, position),
            Formula::Or(left, right) => self.value(left, position) || self.value(right, position),
            Formula::Always(inner) => later().all(|at| self.value(inner, at)),
            Formula::Eventually(inner) => later().any(|at| self.value(inner, at)),
            Formula::Until(left, right) => later().any(|at| {
                self.value(right, at) && (position..at).all(|before| self.value(left, before))
            }),
            Formula::Once(inner) => (0..=position).any(|at| self.value(inner, at)),
            Formula::Since(left, right) => (0..=position).any(|at| {
                self.value(right, at) && (at + 1..=position).all(|after| self.value(left, after))
            }),
            Formula::Previously(inner) => position > 0 && self.value(inner, position - 1),
        }
    }
}

fn formula(rng: &mut Rng, depth: usize, may_look_ahead: bool) -> Property {
    let label = |rng: &mut Rng| Property::event(["a", "b", "c"][rng.below(3)]);
    if depth == 0 {
        return label(rng);
    }
    let mut inner = |ahead: bool| formula(rng, depth - 1, ahead);
    let (one, other) = (inner(may_look_ahead), inner(may_look_ahead));
    let (past, other_past) = (inner(false), inner(false));
    match rng.below(if may_look_ahead { 11 } else { 7 }) {
        0 => label(rng),
        1 => !one,
        2 => one & other,
        3 => one | other,
        4 => Property::once(past),
        5 => past.since(other_past),
        6 => Property::previously(past),
        7 => Property::always(one),
        8 => Property::eventually(one),
        9 => one.until(other),
        _ => Property::responds(one, other),
    }
}

fn labels(rng: &mut Rng, least: usize, most: usize) -> Vec<String> {
    let count = least + rng.below(most - least + 1);
    (0..count)
        .map(|_| ["a", "b", "c", "d"][rng.below(4)].to_owned())
        .collect()
}

#[test]
fn random_formulas_have_the_values_of_the_definition() {
    let mut rng = Rng::new(11);
    let (mut trues, mut falses, mut early) = (0, 0, 0);
    for _ in 0..4_000 {
        let depth = 1 + rng.below(3);
        let property = formula(&mut rng, depth, true);
        let monitor = Monitor::new(&property);
        let (start, repeated) = (labels(&mut rng, 1, 5), labels(&mut rng, 0, 3));
        let mut state = monitor.start();
        for label in &start {
            state = monitor.step(&state, label);
        }
        let word = Word {
            start: &start,
            repeated: &repeated,
        };
        // The horizon of nested operators adds up; short words repeat within each.
        let expected = word.value(&property.0, 0);
        let found = monitor.end(&state, WordEnd::Lasso(&repeated));
        assert_eq!(
            found,
            Some(expected),
            "{property} on {start:?} and {repeated:?} for ever"
        );
        if let Some(value) = monitor.end(&state, WordEnd::Unknown) {
            early += 1;
            assert_eq!(
                value, expected,
                "{property} was decided early, on {start:?}"
            );
        }
        *(if expected { &mut trues } else { &mut falses }) += 1;
    }
    assert!(
        trues > 1_000 && falses > 1_000 && early > 1_000,
        "{trues} {falses} {early}"
    );
}

#[test]
fn a_pattern_fits_labels_that_begin_like_it() {
    let property = Property::eventually(Property::event("take *"));
    let monitor = Monitor::new(&property);
    for (label, fits) in [
        ("take 1", true),
        ("take ", true),
        ("take", false),
        ("retake 1", false),
    ] {
        let state = monitor.step(&monitor.start(), label);
        assert_eq!(monitor.end(&state, WordEnd::Finite), Some(fits), "{label}");
    }
}

#[test]
#[should_panic(expected = "`once` of `eventually(\"a\")`: a past operator takes no")]
fn a_past_operator_refuses_the_future() {
    let _ = Property::once(Property::eventually(Property::event("a")));
}
