//! Evaluation of a property along a word of labels.
//!
//! The values of formulas without future operators follow from their values at the position before (Havelund and Roşu,
//! TACAS 2002). Of the rest of the formula, the monitor keeps what later positions must fulfil, which each position
//! rewrites (progression; Bacchus and Kabanza, AAAI 1998). So two prefixes with equal states of the monitor have
//! the same continuations, and words that share prefixes are evaluated once.

use std::collections::HashMap;
use std::sync::Arc;

use super::formula::{Formula, Property, fits};

/// A formula that looks at no later position; operands by their number.
#[derive(Clone, Debug)]
enum Now {
    Constant(bool),
    Event(String),
    Not(usize),
    And(usize, usize),
    Or(usize, usize),
    Once(usize),
    Since(usize, usize),
    Previously(usize),
}

/// What this and later positions must fulfil, in negation normal form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Rest {
    True,
    False,
    /// The formula with this number has this value.
    Now(usize, bool),
    And(Vec<Rest>),
    Or(Vec<Rest>),
    Always(Arc<Rest>),
    Eventually(Arc<Rest>),
    Until(Arc<Rest>, Arc<Rest>),
    /// The second holds up to and including the position at which the first does; the dual of `Until`.
    Release(Arc<Rest>, Arc<Rest>),
}

/// A compiled property.
#[derive(Clone, Debug)]
pub struct Monitor {
    /// Operands come before the formulas that use them.
    now: Vec<Now>,
    /// By formula: true when its value is needed at the next position.
    is_kept: Vec<bool>,
    rest: Rest,
}

/// The state of a monitor after some positions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MonitorState {
    /// Values of formulas at the last position; false if they are not needed.
    past: Vec<bool>,
    rest: Rest,
}

/// The end of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WordEnd<'a> {
    /// Nothing follows.
    Finite,
    /// These labels follow again and again.
    Lasso(&'a [String]),
    /// It is unknown what follows.
    Unknown,
}

impl Monitor {
    /// Compiles a property.
    #[must_use]
    pub fn new(property: &Property) -> Self {
        let mut monitor = Monitor {
            now: Vec::new(),
            is_kept: Vec::new(),
            rest: Rest::True,
        };
        monitor.rest = monitor.compile(&property.0, true);
        monitor.is_kept = vec![false; monitor.now.len()];
        for number in 0..monitor.now.len() {
            match monitor.now[number] {
                Now::Once(_) | Now::Since(..) => monitor.is_kept[number] = true,
                Now::Previously(inner) => monitor.is_kept[inner] = true,
                _ => {}
            }
        }
        monitor
    }

    fn add(&mut self, formula: &Formula) -> usize {
        let now = match formula {
            Formula::Constant(value) => Now::Constant(*value),
            Formula::Event(pattern) => Now::Event(pattern.clone()),
            Formula::Not(inner) => Now::Not(self.add(inner)),
            Formula::And(left, right) => Now::And(self.add(left), self.add(right)),
            Formula::Or(left, right) => Now::Or(self.add(left), self.add(right)),
            Formula::Once(inner) => Now::Once(self.add(inner)),
            Formula::Since(left, right) => Now::Since(self.add(left), self.add(right)),
            Formula::Previously(inner) => Now::Previously(self.add(inner)),
            Formula::Always(_) | Formula::Eventually(_) | Formula::Until(..) => {
                unreachable!("formulas with future operators are kept apart")
            }
        };
        self.now.push(now);
        self.now.len() - 1
    }

    /// Compiles a formula, or its negation if it should have the value false.
    fn compile(&mut self, formula: &Formula, value: bool) -> Rest {
        if let Formula::Constant(constant) = formula {
            return if *constant == value {
                Rest::True
            } else {
                Rest::False
            };
        }
        if !formula.has_future() {
            return Rest::Now(self.add(formula), value);
        }
        match formula {
            Formula::Not(inner) => self.compile(inner, !value),
            Formula::And(left, right) | Formula::Or(left, right) => {
                let both = vec![self.compile(left, value), self.compile(right, value)];
                match matches!(formula, Formula::And(..)) == value {
                    true => Rest::and(both),
                    false => Rest::or(both),
                }
            }
            Formula::Always(inner) | Formula::Eventually(inner) => {
                let rest = Arc::new(self.compile(inner, value));
                match matches!(formula, Formula::Always(_)) == value {
                    true => Rest::Always(rest),
                    false => Rest::Eventually(rest),
                }
            }
            Formula::Until(left, right) => {
                let left = Arc::new(self.compile(left, value));
                let right = Arc::new(self.compile(right, value));
                match value {
                    true => Rest::Until(left, right),
                    false => Rest::Release(left, right),
                }
            }
            _ => unreachable!("past operators have no future operators inside"),
        }
    }

    /// Returns the state before the first position.
    #[must_use]
    pub fn start(&self) -> MonitorState {
        MonitorState {
            past: vec![false; self.now.len()],
            rest: self.rest.clone(),
        }
    }

    /// Returns the state after one more position.
    #[must_use]
    pub fn step(&self, state: &MonitorState, label: &str) -> MonitorState {
        let values = self.values(&state.past, label);
        let rest = state.rest.progress(&values);
        MonitorState {
            past: self.kept(values),
            rest,
        }
    }

    fn values(&self, past: &[bool], label: &str) -> Vec<bool> {
        let mut values = Vec::with_capacity(self.now.len());
        for (number, formula) in self.now.iter().enumerate() {
            let value = |operand: &usize| -> bool { values[*operand] };
            let next = match formula {
                Now::Constant(constant) => *constant,
                Now::Event(pattern) => fits(pattern, label),
                Now::Not(inner) => !value(inner),
                Now::And(left, right) => value(left) && value(right),
                Now::Or(left, right) => value(left) || value(right),
                Now::Once(inner) => value(inner) || past[number],
                Now::Since(left, right) => value(right) || value(left) && past[number],
                Now::Previously(inner) => past[*inner],
            };
            values.push(next);
        }
        values
    }

    fn kept(&self, mut values: Vec<bool>) -> Vec<bool> {
        for (value, is_kept) in values.iter_mut().zip(&self.is_kept) {
            *value &= is_kept;
        }
        values
    }

    /// Returns the value of the property for a word that ends like this in a state; `None` if that depends on what
    /// follows.
    #[must_use]
    pub fn end(&self, state: &MonitorState, end: WordEnd<'_>) -> Option<bool> {
        match (&state.rest, end) {
            (Rest::True, _) => Some(true),
            (Rest::False, _) => Some(false),
            (_, WordEnd::Unknown) => None,
            (rest, WordEnd::Finite | WordEnd::Lasso([])) => Some(rest.at_end()),
            (rest, WordEnd::Lasso(labels)) => Some(self.in_loop(rest, &state.past, labels)),
        }
    }

    /// Returns the value of the rest of a formula if these labels are repeated for ever.
    fn in_loop(&self, rest: &Rest, past: &[bool], labels: &[String]) -> bool {
        let mut positions = Vec::new();
        let mut rounds: HashMap<Vec<bool>, usize> = HashMap::new();
        let mut past = past.to_vec();
        // The values of past formulas at the beginning of a round are finitely many, so that some repeat.
        let back = loop {
            if let Some(&back) = rounds.get(&past) {
                break back;
            }
            rounds.insert(past.clone(), positions.len());
            for label in labels {
                let values = self.values(&past, label);
                positions.push(values.clone());
                past = self.kept(values);
            }
        };
        rest.over(&positions, back)[0]
    }
}

impl MonitorState {
    /// True when every continuation violates the property.
    #[must_use]
    pub fn is_violated(&self) -> bool {
        self.rest == Rest::False
    }

    /// True when every continuation fulfils the property.
    #[must_use]
    pub fn is_fulfilled(&self) -> bool {
        self.rest == Rest::True
    }
}

impl Rest {
    fn and(all: Vec<Rest>) -> Rest {
        Rest::joined(all, true)
    }

    fn or(all: Vec<Rest>) -> Rest {
        Rest::joined(all, false)
    }

    /// Joins formulas by `and` or `or` in a normal form, in which each stands once and none follows from another by
    /// absorption.
    fn joined(all: Vec<Rest>, is_and: bool) -> Rest {
        let (neutral, absorbing) = match is_and {
            true => (Rest::True, Rest::False),
            false => (Rest::False, Rest::True),
        };
        let mut parts = Vec::new();
        for one in all {
            match one {
                Rest::And(inner) if is_and => parts.extend(inner),
                Rest::Or(inner) if !is_and => parts.extend(inner),
                one if one == neutral => {}
                one => parts.push(one),
            }
        }
        if parts.contains(&absorbing) {
            return absorbing;
        }
        parts.sort();
        parts.dedup();
        let absorbed = |part: &Rest| match part {
            Rest::Or(inner) if is_and => inner.iter().any(|one| parts.contains(one)),
            Rest::And(inner) if !is_and => inner.iter().any(|one| parts.contains(one)),
            _ => false,
        };
        let mut parts: Vec<Rest> = parts
            .iter()
            .filter(|part| !absorbed(part))
            .cloned()
            .collect();
        match (parts.len(), is_and) {
            (0, _) => neutral,
            (1, _) => parts.remove(0),
            (_, true) => Rest::And(parts),
            (_, false) => Rest::Or(parts),
        }
    }

    /// Returns what the positions after one with these values must fulfil.
    fn progress(&self, values: &[bool]) -> Rest {
        match self {
            Rest::True => Rest::True,
            Rest::False => Rest::False,
            Rest::Now(number, value) if values[*number] == *value => Rest::True,
            Rest::Now(..) => Rest::False,
            Rest::And(all) => Rest::and(all.iter().map(|one| one.progress(values)).collect()),
            Rest::Or(all) => Rest::or(all.iter().map(|one| one.progress(values)).collect()),
            Rest::Always(inner) => Rest::and(vec![inner.progress(values), self.clone()]),
            Rest::Eventually(inner) => Rest::or(vec![inner.progress(values), self.clone()]),
            Rest::Until(left, right) => {
                let goes_on = Rest::and(vec![left.progress(values), self.clone()]);
                Rest::or(vec![right.progress(values), goes_on])
            }
            Rest::Release(left, right) => {
                let goes_on = Rest::or(vec![left.progress(values), self.clone()]);
                Rest::and(vec![right.progress(values), goes_on])
            }
        }
    }

    /// Returns the value behind the last position, where no event is.
    fn at_end(&self) -> bool {
        match self {
            Rest::True | Rest::Always(_) | Rest::Release(..) => true,
            Rest::False | Rest::Eventually(_) | Rest::Until(..) => false,
            // Only before the first position of an empty word: there is no event.
            Rest::Now(_, value) => !value,
            Rest::And(all) => all.iter().all(Rest::at_end),
            Rest::Or(all) => all.iter().any(Rest::at_end),
        }
    }

    /// Returns its values at these positions, the last of which is followed by the one with the number `back`.
    fn over(&self, positions: &[Vec<bool>], back: usize) -> Vec<bool> {
        let count = positions.len();
        // Two passes: the second begins with the value that the first has found behind the last position.
        let fixpoint = |start: bool, here: &dyn Fn(usize, bool) -> bool| {
            let mut result = vec![start; count];
            for _ in 0..2 {
                for at in (0..count).rev() {
                    let next = if at + 1 < count { at + 1 } else { back };
                    result[at] = here(at, result[next]);
                }
            }
            result
        };
        match self {
            Rest::True => vec![true; count],
            Rest::False => vec![false; count],
            Rest::Now(number, value) => positions
                .iter()
                .map(|values| values[*number] == *value)
                .collect(),
            Rest::And(all) | Rest::Or(all) => {
                let is_and = matches!(self, Rest::And(_));
                let parts: Vec<_> = all.iter().map(|one| one.over(positions, back)).collect();
                let value = |at: usize| match is_and {
                    true => parts.iter().all(|part| part[at]),
                    false => parts.iter().any(|part| part[at]),
                };
                (0..count).map(value).collect()
            }
            Rest::Always(inner) => {
                let inner = inner.over(positions, back);
                fixpoint(true, &|at, next| inner[at] && next)
            }
            Rest::Eventually(inner) => {
                let inner = inner.over(positions, back);
                fixpoint(false, &|at, next| inner[at] || next)
            }
            Rest::Until(left, right) => {
                let (left, right) = (left.over(positions, back), right.over(positions, back));
                fixpoint(false, &|at, next| right[at] || left[at] && next)
            }
            Rest::Release(left, right) => {
                let (left, right) = (left.over(positions, back), right.over(positions, back));
                fixpoint(true, &|at, next| right[at] && (left[at] || next))
            }
        }
    }
}

#[cfg(test)]
#[path = "monitor_tests.rs"]
mod tests;
