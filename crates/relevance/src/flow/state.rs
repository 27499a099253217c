//! What is known about registers and the stack before an instruction.

use std::collections::BTreeMap;

use super::Visit;
use crate::sets::{EMPTY, Set};
use crate::values::{Atom, Value};

/// A part of the frame that was written as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) size: i64,
    pub(crate) value: Value,
    pub(crate) labels: Set,
}

/// A callback whose access may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) address: Value,
    pub(crate) is_in_frame: bool,
    /// `None` if unknown.
    pub(crate) size: Option<i64>,
    /// Return address of the callback.
    pub(crate) site: u64,
    /// True if an access of this address has followed.
    pub(crate) is_matched: bool,
}

/// Longest slot; longer writes change the labels of the whole frame.
pub(crate) const LONGEST: i64 = 64;

/// State before an instruction. Numbers of registers are those of the instruction set.
#[derive(Clone, PartialEq)]
pub(crate) struct State {
    pub(crate) values: [Value; 16],
    pub(crate) labels: [Set; 16],
    pub(crate) vectors: [Set; 32],
    pub(crate) flags: Set,
    /// Registers of the floating point unit, masks, and upper parts of vectors.
    pub(crate) others: Set,
    /// By offset from the stack pointer at the beginning of the function.
    pub(crate) slots: BTreeMap<i64, Slot>,
    /// Labels that any part of the frame may have.
    pub(crate) frame: Set,
    pub(crate) reads: Vec<Pending>,
    pub(crate) writes: Vec<Pending>,
}

impl State {
    /// Returns the offsets of slots that overlap a part of the frame.
    pub(crate) fn overlapping(&self, offset: i64, size: i64) -> Vec<i64> {
        let slots = self.slots.range(offset - LONGEST..offset + size);
        let overlaps = slots.filter(|&(&at, slot)| at + slot.size > offset);
        overlaps.map(|(&at, _)| at).collect()
    }
}

impl Visit<'_, '_> {
    /// Returns the state at a block that is reached with both.
    pub(crate) fn join(&mut self, one: &State, other: &State, block: u64) -> State {
        let mut joined = one.clone();
        for register in 0..16 {
            joined.values[register] = self.join_values(
                one.values[register],
                other.values[register],
                block,
                register as i64,
            );
            joined.labels[register] = self.union(one.labels[register], other.labels[register]);
        }
        for register in 0..32 {
            joined.vectors[register] = self.union(one.vectors[register], other.vectors[register]);
        }
        joined.flags = self.union(one.flags, other.flags);
        joined.others = self.union(one.others, other.others);
        joined.frame = self.union(one.frame, other.frame);
        for (&at, slot) in &other.slots {
            let known = joined.slots.get(&at).copied();
            let slot = match known {
                Some(known) => Slot {
                    size: slot.size.max(known.size),
                    value: match slot.size == known.size {
                        true => self.join_values(known.value, slot.value, block, 100 + at),
                        false => self.values.atom(Atom::Joined(block, 100 + at)),
                    },
                    labels: self.union(slot.labels, known.labels),
                },
                None => self.unknown_elsewhere(*slot, at, block),
            };
            joined.slots.insert(at, slot);
        }
        for (&at, slot) in &one.slots {
            if !other.slots.contains_key(&at) {
                let slot = self.unknown_elsewhere(*slot, at, block);
                joined.slots.insert(at, slot);
            }
        }
        join_pending(&mut joined.reads, &other.reads);
        join_pending(&mut joined.writes, &other.writes);
        joined
    }

    fn join_values(&mut self, one: Value, other: Value, block: u64, what: i64) -> Value {
        match one == other {
            true => one,
            false => self.values.atom(Atom::Joined(block, what)),
        }
    }

    /// Returns a slot that was written on one way only.
    fn unknown_elsewhere(&mut self, slot: Slot, at: i64, block: u64) -> Slot {
        let before = self.unwritten(at, slot.size);
        Slot {
            value: self.values.atom(Atom::Joined(block, 100 + at)),
            labels: self.union(slot.labels, before),
            ..slot
        }
    }

    /// Returns the labels of a part of the frame that the function has not written.
    pub(crate) fn unwritten(&mut self, offset: i64, size: i64) -> Set {
        // The return address is at 0.
        match offset + size > 8 {
            true => {
                let label = crate::labels::on_stack((offset - 8).max(0), size);
                self.label(label)
            }
            false => EMPTY,
        }
    }
}

fn join_pending(joined: &mut Vec<Pending>, other: &[Pending]) {
    for pending in other {
        let same =
            |known: &&mut Pending| known.site == pending.site && known.address == pending.address;
        match joined.iter_mut().find(same) {
            Some(known) => known.is_matched &= pending.is_matched,
            None => joined.push(*pending),
        }
    }
}
