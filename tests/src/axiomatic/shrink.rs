//! Smaller programs that still fail.

use std::sync::atomic::Ordering::{self, Relaxed};

use super::program::{Litmus, Operation, Statement};

/// Returns the smallest program reached by removing one part after the other while it still fails.
pub fn shrink(litmus: &Litmus, fails: impl Fn(&Litmus) -> bool) -> Litmus {
    let mut smallest = litmus.clone();
    while let Some(next) = smaller(&smallest).into_iter().find(&fails) {
        smallest = next;
    }
    smallest
}

/// Returns the programs with one part less.
fn smaller(litmus: &Litmus) -> Vec<Litmus> {
    let mut found = Vec::new();
    for thread in 0..litmus.threads.len() {
        let mut next = litmus.clone();
        next.threads.remove(thread);
        found.push(next);
    }
    for body in 0..litmus.clone().bodies_mut().count() {
        let statements = litmus.clone().bodies_mut().nth(body).cloned();
        for changed in without(&statements.expect("counted")) {
            let mut next = litmus.clone();
            *next.bodies_mut().nth(body).expect("counted") = changed;
            found.push(next);
        }
    }
    found
}

/// Returns the bodies with one part less.
fn without(body: &[Statement]) -> Vec<Vec<Statement>> {
    let mut found = Vec::new();
    for (index, statement) in body.iter().enumerate() {
        let mut replace = |by: Vec<Statement>| {
            let mut next = body.to_vec();
            next.splice(index..=index, by);
            found.push(next);
        };
        replace(Vec::new());
        match statement {
            Statement::When(register, value, then) => {
                replace(then.clone());
                for then in without(then) {
                    replace(vec![Statement::When(*register, *value, then)]);
                }
            }
            Statement::Perform(into, operation) => {
                for operation in simpler(*operation) {
                    replace(vec![Statement::Perform(*into, operation)]);
                }
            }
        }
    }
    found
}

/// Returns the operation with a weaker ordering or a constant for a register.
fn simpler<V: Copy + PartialEq>(operation: Operation<V>) -> Vec<Operation<V>> {
    let weaker = |ordering: Ordering| (ordering != Relaxed).then_some(Relaxed);
    match operation {
        Operation::Load(x, ordering) => {
            let weaker = weaker(ordering).into_iter();
            weaker.map(|weak| Operation::Load(x, weak)).collect()
        }
        Operation::Store(x, value, ordering) => {
            let weaker = weaker(ordering).into_iter();
            weaker
                .map(|weak| Operation::Store(x, value, weak))
                .collect()
        }
        Operation::FetchAdd(x, value, ordering) => {
            let weaker = weaker(ordering).into_iter();
            let weaker = weaker.map(|weak| Operation::FetchAdd(x, value, weak));
            weaker
                .chain([Operation::Swap(x, value, ordering)])
                .collect()
        }
        Operation::Swap(x, value, ordering) => {
            let weaker = weaker(ordering).into_iter();
            weaker.map(|weak| Operation::Swap(x, value, weak)).collect()
        }
        Operation::CompareExchange(x, expected, new, success, failure) => {
            let exchange =
                |success, failure| Operation::CompareExchange(x, expected, new, success, failure);
            let success_weaker = weaker(success).map(|weak| exchange(weak, failure));
            let failure_weaker = weaker(failure).map(|weak| exchange(success, weak));
            success_weaker.into_iter().chain(failure_weaker).collect()
        }
        Operation::Fence(_) => Vec::new(),
    }
}
