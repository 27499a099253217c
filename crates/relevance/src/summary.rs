//! Effects of values, and summaries of functions for their callers.

use std::collections::{BTreeMap, BTreeSet};

use crate::labels::Label;
use crate::sets::{Set, Sets};

/// A kind of effect, and where: an instruction, or the return address of a callback of a write.
pub(crate) type Place = (u8, u64);

/// Effects of a value: of which kinds, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sink {
    pub(crate) kind: u8,
    pub(crate) places: Set,
}

impl Sink {
    /// The value decides a branch.
    pub(crate) const BRANCH: u8 = 1;
    /// The value is a part of an address, a size, or an operand of a lock.
    pub(crate) const ADDRESS: u8 = 2;
    /// The value may have any effect.
    pub(crate) const UNKNOWN: u8 = 4;
    /// The value is stored by an instrumented write.
    pub(crate) const STORE: u8 = 8;

    /// Adds effects. Returns true if any is new.
    pub(crate) fn add(&mut self, other: Self, places: &mut Sets<Place>) -> bool {
        let before = *self;
        self.kind |= other.kind;
        self.places = places.union(self.places, other.places);
        *self != before
    }
}

/// What is known about a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) function: u64,
    pub(crate) is_atomic: bool,
    pub(crate) is_update: bool,
    /// Address, if it is a constant.
    pub(crate) variable: Option<u64>,
}

/// Effects of all reads.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) sinks: BTreeMap<u64, Sink>,
    pub(crate) reads: BTreeMap<u64, Site>,
    pub(crate) writes: BTreeSet<u64>,
    /// Loads of memory that other threads may write to, without a callback: address, if it is a constant, and size.
    pub(crate) unseen: BTreeMap<u64, (Option<u64>, i64)>,
    pub(crate) unseen_sinks: BTreeMap<u64, Sink>,
}

impl Effects {
    /// Adds effects of loads. Other labels mean something inside of a function only.
    pub(crate) fn sink(&mut self, labels: &[Label], sink: Sink, places: &mut Sets<Place>) {
        for label in labels {
            match label {
                Label::Read(site) => self.sinks.entry(*site).or_default().add(sink, places),
                Label::Unseen(at) => self.unseen_sinks.entry(*at).or_default().add(sink, places),
                _ => false,
            };
        }
    }
}

/// General and vector registers, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) general: u16,
    pub(crate) vectors: u32,
}

impl Changed {
    pub(crate) fn include(&mut self, other: Self) {
        self.general |= other.general;
        self.vectors |= other.vectors;
    }
}

/// A part of memory behind an argument, to which a function has written: the argument, and offset and size if known.
pub(crate) type Output = (u8, Option<(i32, u8)>);

/// What a function does with values of its caller, and which values it gives back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) sinks: BTreeMap<Label, Sink>,
    /// Labels of rax and rdx.
    pub(crate) results: [Set; 2],
    pub(crate) vector_results: [Set; 2],
    pub(crate) others: Set,
    pub(crate) outputs: BTreeMap<Output, Set>,
    /// Registers that it may write to, one bit each. Compilers keep values in others, whatever the usual convention.
    pub(crate) changed: Changed,
    /// True if the function could not be followed: it may do anything.
    pub(crate) is_opaque: bool,
}

impl Summary {
    /// Adds what an earlier analysis has found.
    pub(crate) fn include(
        &mut self,
        earlier: &Self,
        labels: &mut Sets<Label>,
        places: &mut Sets<Place>,
    ) {
        for (&label, &sink) in &earlier.sinks {
            self.sinks.entry(label).or_default().add(sink, places);
        }
        for index in 0..2 {
            self.results[index] = labels.union(self.results[index], earlier.results[index]);
            self.vector_results[index] =
                labels.union(self.vector_results[index], earlier.vector_results[index]);
        }
        self.others = labels.union(self.others, earlier.others);
        for (&output, &set) in &earlier.outputs {
            let known = self.outputs.entry(output).or_default();
            *known = labels.union(*known, set);
        }
        self.changed.include(earlier.changed);
        self.is_opaque |= earlier.is_opaque;
    }
}
