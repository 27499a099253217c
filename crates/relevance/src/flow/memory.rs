//! Loads and stores: which callback they belong to, and which part of the frame they use.

use iced_x86::{Instruction, Register};

use super::Visit;
use super::state::{LONGEST, Pending, Slot, State};
use crate::labels::{self, Label};
use crate::sets::{EMPTY, Set};
use crate::summary::{Output, Sink};
use crate::values::{Atom, Value};

/// Part of an atom that says that a load has made it.
pub(crate) const LOADED: u8 = 254;

/// Memory that an instruction uses.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) address: Value,
    /// Labels of the address.
    pub(crate) labels: Set,
    pub(crate) size: i64,
    /// True if it is the thread's own block or the guard of the stack.
    is_private: bool,
}

impl Operand {
    /// Memory at an address that is not relative to a segment.
    pub(crate) fn plain(address: Value, labels: Set, size: i64) -> Self {
        Self {
            address,
            labels,
            size,
            is_private: false,
        }
    }
}

impl Visit<'_, '_> {
    /// Returns the memory operand of an instruction.
    pub(crate) fn operand(
        &mut self,
        instruction: &Instruction,
        state: &State,
        size: i64,
    ) -> Operand {
        let labels = self.address_labels(instruction, state);
        let is_segment = matches!(instruction.memory_segment(), Register::FS | Register::GS);
        let is_plain = instruction.memory_base() == Register::None
            && instruction.memory_index() == Register::None;
        let is_private =
            is_segment && is_plain && matches!(instruction.memory_displacement64(), 0 | 0x28);
        let address = match is_segment {
            true => self.values.atom(Atom::Made(instruction.ip(), LOADED)),
            false => self.address(instruction, state),
        };
        Operand {
            address,
            labels,
            size,
            is_private,
        }
    }

    /// Returns the value and the labels that an instruction loads.
    pub(crate) fn load(
        &mut self,
        instruction: &Instruction,
        state: &mut State,
        size: i64,
    ) -> (Value, Set) {
        let operand = self.operand(instruction, state, size);
        self.load_from(&operand, state, instruction.ip())
    }

    pub(crate) fn load_from(
        &mut self,
        operand: &Operand,
        state: &mut State,
        at: u64,
    ) -> (Value, Set) {
        let &Operand {
            address,
            labels,
            size,
            is_private,
        } = operand;
        self.sink(labels, Sink::ADDRESS, at);
        let made = self.values.atom(Atom::Made(at, LOADED));
        if is_private {
            return (made, EMPTY);
        }
        if let Some(offset) = self.values.in_frame(address) {
            let (value, found) = self.load_slot(state, offset, size, made);
            let (reads, is_seen) = self.matching(&mut state.reads, address, size, true);
            // What has a callback may have been changed through a pointer.
            let value = if is_seen { made } else { value };
            return (value, self.union(found, reads));
        }
        let (constant, is_whole) = self.values.constant_part(address);
        let is_constant = self.shared.image.is_constant(constant as u64);
        let value = match (is_constant, size) {
            (true, 4 | 8) => self.values.atom(Atom::TableEntry {
                table: constant as u64,
                size: size as u8,
                at,
            }),
            _ => made,
        };
        if is_constant && is_whole {
            let pointer = self.shared.image.pointer(constant as u64);
            let pointer = pointer.filter(|_| size == 8);
            let value = pointer.map_or(value, |pointer| self.values.constant(pointer as i64));
            return (value, EMPTY);
        }
        let (reads, is_seen) = self.matching(&mut state.reads, address, size, false);
        let mut found = self.contents_at(address, labels, size, state);
        found = self.union(found, reads);
        if !is_seen && !self.has_frame(labels) {
            let address = is_whole.then_some(constant as u64);
            let known = self.shared.effects.unseen.entry(at);
            let known = known.or_insert((address, size));
            if known.0 != address {
                known.0 = None;
            }
            let unseen = self.label(Label::Unseen(at));
            found = self.union(found, unseen);
        }
        (value, found)
    }

    /// Returns the labels of the pending reads that may have been of this address, and true if there is one.
    fn matching(
        &mut self,
        pending: &mut [Pending],
        address: Value,
        size: i64,
        is_in_frame: bool,
    ) -> (Set, bool) {
        let mut found = EMPTY;
        let mut is_any = false;
        for index in self.matches(pending, address, size, is_in_frame) {
            let label = self.label(Label::Read(pending[index].site));
            found = self.union(found, label);
            is_any = true;
        }
        (found, is_any)
    }

    /// Returns the pending callbacks that may be of this access.
    pub(crate) fn matches(
        &mut self,
        pending: &mut [Pending],
        address: Value,
        size: i64,
        is_in_frame: bool,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for (index, pending) in pending.iter_mut().enumerate() {
            let distance = self.values.distance(pending.address, address);
            let may_match = match distance {
                Some(distance) => {
                    let is_near = pending.size.is_none_or(|size| distance < size);
                    pending.is_matched |= distance == 0;
                    is_near && distance + size > 0
                }
                // A slot of the frame is used by its offset only.
                None => !pending.is_matched && (!is_in_frame || pending.is_in_frame),
            };
            if may_match {
                found.push(index);
            }
        }
        found
    }

    /// Returns the value and the labels of a part of the frame.
    pub(crate) fn load_slot(
        &mut self,
        state: &State,
        offset: i64,
        size: i64,
        made: Value,
    ) -> (Value, Set) {
        let mut found = state.frame;
        let mut is_covered = false;
        for at in state.overlapping(offset, size) {
            let slot = state.slots[&at];
            found = self.union(found, slot.labels);
            is_covered |= at <= offset && at + slot.size >= offset + size;
        }
        if !is_covered {
            let before = self.unwritten(offset, size);
            found = self.union(found, before);
        }
        let value = match state.slots.get(&offset) {
            Some(slot) if slot.size == size => slot.value,
            Some(slot) if slot.size > size && matches!(size, 1 | 2 | 4) && slot.size <= 8 => {
                self.values.lower(slot.value, size as u8 * 8, false)
            }
            _ => made,
        };
        (value, found)
    }

    /// Returns the labels of memory at an address outside of the known parts of the frame.
    pub(crate) fn contents_at(
        &mut self,
        address: Value,
        labels: Set,
        size: i64,
        state: &State,
    ) -> Set {
        let exact = self.values.behind_argument(address);
        let mut found = EMPTY;
        for &label in self.shared.labels.members(labels).iter() {
            let behind = match (label, exact) {
                (Label::Frame, _) => {
                    let frame = self.whole_frame(state);
                    found = self.union(found, frame);
                    continue;
                }
                (Label::Argument(argument), Some((register, offset))) if argument == register => {
                    labels::behind(argument, offset, size)
                }
                _ => match reached_from(label) {
                    Some(reached) => reached,
                    None => continue,
                },
            };
            let behind = self.label(behind);
            found = self.union(found, behind);
        }
        found
    }

    /// Returns the labels of all parts of the frame.
    pub(crate) fn whole_frame(&mut self, state: &State) -> Set {
        let mut found = state.frame;
        for slot in state.slots.values() {
            found = self.union(found, slot.labels);
        }
        found
    }

    /// Returns the labels of all memory that can be reached from values with these labels.
    pub(crate) fn reach(&mut self, labels: Set, state: &State) -> Set {
        let mut found = EMPTY;
        let mut from = labels;
        loop {
            let before = found;
            for &label in self.shared.labels.members(from).iter() {
                let behind = match (label, reached_from(label)) {
                    (Label::Frame, _) => self.whole_frame(state),
                    (_, Some(reached)) => self.label(reached),
                    (_, None) => continue,
                };
                found = self.union(found, behind);
            }
            if found == before {
                return found;
            }
            from = found;
        }
    }

    /// Performs a store of a value with labels.
    pub(crate) fn store(
        &mut self,
        operand: &Operand,
        state: &mut State,
        (value, stored): (Value, Set),
        at: u64,
    ) {
        let &Operand {
            address,
            labels,
            size,
            is_private,
        } = operand;
        self.sink(labels, Sink::ADDRESS, at);
        if is_private {
            return self.sink(stored, Sink::UNKNOWN, at);
        }
        let offset = self.values.in_frame(address);
        let mut writes = std::mem::take(&mut state.writes);
        let matches = self.matches(&mut writes, address, size, offset.is_some());
        for &index in &matches {
            self.sink(stored, Sink::STORE, writes[index].site);
        }
        state.writes = writes;
        match offset {
            Some(offset) => self.write_slot(state, offset, size, (value, stored), at),
            None => {
                let is_surely_frame = self.values.about_in_frame(address).is_some();
                if matches.is_empty() && !is_surely_frame {
                    self.sink(stored, Sink::UNKNOWN, at);
                }
                self.spread(address, labels, size, state, (stored, at));
            }
        }
    }

    /// Records that memory behind an address that is not known exactly has values with more labels.
    pub(crate) fn spread(
        &mut self,
        address: Value,
        labels: Set,
        size: i64,
        state: &mut State,
        (stored, at): (Set, u64),
    ) {
        if self.has_frame(labels) {
            state.frame = self.union(state.frame, stored);
            self.forget_values(state, at);
        }
        let exact = self.values.behind_argument(address);
        for &label in self.shared.labels.members(labels).iter() {
            let output: Output = match (label, exact) {
                (Label::Argument(argument), Some((register, offset))) if argument == register => {
                    match labels::behind(argument, offset, size) {
                        Label::Behind(_, offset, size) => (argument, Some((offset, size))),
                        _ => (argument, None),
                    }
                }
                _ => match reached_from(label) {
                    Some(Label::Reached(argument)) => (argument, None),
                    Some(Label::ReachedFromStack) => (labels::STACK, None),
                    _ => continue,
                },
            };
            self.output(output, stored);
        }
    }

    pub(crate) fn output(&mut self, output: Output, stored: Set) {
        let labels = &mut self.shared.labels;
        let known = self.summary.outputs.entry(output).or_default();
        *known = labels.union(*known, stored);
    }

    /// Writes to a part of the frame.
    pub(crate) fn write_slot(
        &mut self,
        state: &mut State,
        offset: i64,
        size: i64,
        (value, stored): (Value, Set),
        at: u64,
    ) {
        if !(1..=LONGEST).contains(&size) {
            self.change_slots(state, offset, size.max(0), stored, at);
            state.frame = self.union(state.frame, stored);
            return;
        }
        for known in state.overlapping(offset, size) {
            let slot = state.slots[&known];
            let end = known + slot.size;
            if known >= offset {
                state.slots.remove(&known);
            } else {
                self.change_slots(state, known, 1, stored, at);
            }
            // What is left of a longer one.
            if known >= offset && end > offset + size {
                let rest = Slot {
                    size: end - offset - size,
                    value: self.values.atom(Atom::Changed(at, offset + size)),
                    labels: slot.labels,
                };
                state.slots.insert(offset + size, rest);
            }
        }
        let slot = Slot {
            size,
            value,
            labels: stored,
        };
        state.slots.insert(offset, slot);
    }

    /// Records that any part of the frame may have another value.
    pub(crate) fn forget_values(&mut self, state: &mut State, at: u64) {
        for (&offset, slot) in &mut state.slots {
            slot.value = self.values.atom(Atom::Changed(at, offset));
        }
    }

    /// Adds labels to all slots that overlap a part of the frame.
    pub(crate) fn change_slots(
        &mut self,
        state: &mut State,
        offset: i64,
        size: i64,
        stored: Set,
        at: u64,
    ) {
        for known in state.overlapping(offset, size) {
            let slot = state.slots[&known];
            let changed = Slot {
                value: self.values.atom(Atom::Changed(at, known)),
                labels: self.union(slot.labels, stored),
                ..slot
            };
            state.slots.insert(known, changed);
        }
    }
}

/// Returns the label of memory that is reached from a pointer with a label, if it is not the own frame.
fn reached_from(label: Label) -> Option<Label> {
    match label {
        Label::Argument(argument) | Label::Behind(argument, ..) | Label::Reached(argument) => {
            Some(Label::Reached(argument))
        }
        Label::OnStack(..) | Label::ReachedFromStack | Label::Incoming => {
            Some(Label::ReachedFromStack)
        }
        Label::Frame | Label::Read(_) | Label::Unseen(_) => None,
    }
}
