//! An independent oracle for memory models: small programs as data, and every execution of them by
//! the definition of the model.
//!
//! [`classes`] enumerates all sources of reads and all orders of writes and keeps those that the
//! axioms allow. It shares no code with the engine. [`observe`](run::observe) runs the same program
//! under raddle and names classes in the same way, and [`compare`](compare::compare) compares.

pub mod candidate;
pub mod compare;
pub mod program;
pub mod races;
pub mod random;
pub mod run;
pub mod shapes;
pub mod shrink;

mod axioms;
mod display;
mod graph;
mod relation;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use candidate::{Name, Source};
use graph::{EventKind, Graph};
use program::Litmus;
use relation::{Relation, members};

/// A memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// The repaired C11 model, with the order of SeqCst of C++20.
    Rc11,
    /// RC11 with the order of SeqCst of the paper.
    Rc11Paper,
}

/// The name of a class: the source of each read and update, and the coherence predecessor of each
/// other write.
pub type Class = BTreeMap<Name, Source>;

/// The behaviours of a program that a model allows.
#[derive(Debug, Default)]
pub struct Allowed {
    /// Every class.
    pub classes: HashSet<Class>,
    /// The classes without the writes.
    pub reads_from: HashSet<Class>,
    /// The values read, thread by thread with main last, in program order.
    pub outcomes: BTreeSet<Vec<i32>>,
}

/// Returns all behaviours of the program that the model allows.
pub fn allowed(litmus: &Litmus, model: Model) -> Allowed {
    let mut allowed = Allowed::default();
    let candidates = candidate::candidates(litmus, usize::MAX).expect("no limit");
    for candidate in candidates {
        let graph = Graph::new(&candidate);
        assert!(graph.is_grounded(), "a candidate out of thin air");
        let hb = graph.happens_before();
        for mo in graph.coherence_orders() {
            let consistent = match model {
                Model::Sc => graph.is_sequentially_consistent(&mo),
                Model::Rc11 => graph.is_rc11(&hb, &mo),
                Model::Rc11Paper => graph.is_rc11_of_the_paper(&hb, &mo),
            };
            if consistent {
                let (class, reads) = name(&graph, &mo);
                assert!(allowed.classes.insert(class), "a class was guessed twice");
                allowed.reads_from.insert(reads);
                allowed.outcomes.insert(graph.values.clone());
            }
        }
    }
    allowed
}

/// Returns the number of classes that the model allows.
pub fn classes(litmus: &Litmus, model: Model) -> usize {
    allowed(litmus, model).classes.len()
}

/// True when there are at most `limit` assignments of sources and orders, under any model.
pub fn is_small(litmus: &Litmus, limit: usize) -> bool {
    candidate::candidates(litmus, limit).is_some_and(|candidates| {
        let mut left = limit;
        candidates.iter().all(|candidate| {
            let orders = Graph::new(candidate).count_coherence_orders();
            left = left.saturating_sub(orders);
            left > 0
        })
    })
}

/// Returns the name of a class, and the part of it about reads.
fn name(graph: &Graph, mo: &Relation) -> (Class, Class) {
    let mut reads = Class::new();
    let mut writes = Class::new();
    let (before_read, before_write) = (graph.reads_from.inverse(), mo.inverse());
    for (index, event) in graph.events.iter().enumerate() {
        let Some(name) = event.name else { continue };
        let name_of = |event: usize| graph.events[event].name;
        match event.kind {
            EventKind::Read(_) => {
                let source = members(before_read.row(index)).next();
                reads.insert(name, name_of(source.expect("every read has a source")));
            }
            EventKind::Write(_) => {
                let earlier = members(before_write.row(index));
                let last = earlier.max_by_key(|&write| before_write.row(write).count_ones());
                writes.insert(name, name_of(last.expect("the initial write is first")));
            }
            EventKind::Fence | EventKind::Thread => {}
        }
    }
    let mut class = writes;
    // An update comes directly after its source.
    class.extend(&reads);
    (class, reads)
}
