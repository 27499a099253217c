//! Calls: of functions with a summary, of functions with a model, and of all others.

use super::models::{self, Model};
use super::state::{Slot, State};
use super::{RSP, Visit};
use crate::image::Target;
use crate::labels::{self, INTEGERS, Label, STACK, VECTORS};
use crate::sets::{EMPTY, Set};
use crate::summary::{Changed, Output, Sink, Summary};
use crate::values::{ARGUMENTS, Atom, Value};

/// Registers that a call may change: rax, rcx, rdx, rsi, rdi, r8 to r11.
pub(crate) const CHANGED: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
/// Number of a part of an atom that says that a call has made it, beside the numbers of registers.
const BY_CALL: u8 = 252;

impl Visit<'_, '_> {
    /// Performs a call that returns to an address.
    pub(crate) fn call(&mut self, target: &Target, state: &mut State, at: u64, returns_to: u64) {
        if let Some(top) = self.values.in_frame(state.values[RSP]) {
            // What is below belongs to the callee.
            state.slots.retain(|&offset, slot| offset + slot.size > top);
        }
        match target {
            Target::Import(name) => match name.strip_prefix("__tsan_") {
                Some(callback) => self.callback(callback, state, at, returns_to),
                None => self.call_import(name, state, at, returns_to),
            },
            Target::Function(function) => match self.shared.summaries.get(function) {
                Some(summary) if !summary.is_opaque => {
                    let summary = summary.clone();
                    self.call_known(&summary, state, at);
                }
                _ => {
                    // It may leave registers as they are.
                    let before = state.clone();
                    self.call_unknown(state, at);
                    for register in CHANGED {
                        state.labels[register] =
                            self.union(state.labels[register], before.labels[register]);
                    }
                    state.vectors = before.vectors;
                }
            },
            Target::Unknown => self.call_unknown(state, at),
        }
    }

    fn call_import(&mut self, name: &str, state: &mut State, at: u64, returns_to: u64) {
        match models::of(name) {
            Some(Model::Operands(count)) => {
                for register in &ARGUMENTS[..count] {
                    self.sink(state.labels[usize::from(*register)], Sink::ADDRESS, at);
                }
                self.clobber(state, at);
            }
            Some(Model::Arguments(count)) => {
                let mut given = EMPTY;
                for register in &ARGUMENTS[..count] {
                    given = self.union(given, state.labels[usize::from(*register)]);
                }
                self.give(given, state, at);
            }
            Some(Model::Copy) => self.copy(state, at, returns_to),
            Some(Model::GiveUp) => self.give_up(),
            None => self.call_unknown(state, at),
        }
    }

    /// Forgets registers that a call of another file may change. An access may follow its callback after a call of a
    /// function that is known not to write to memory.
    pub(crate) fn clobber(&mut self, state: &mut State, at: u64) {
        let mut general = 0;
        for register in CHANGED {
            general |= 1 << register;
        }
        let vectors = u32::MAX;
        self.clobber_only(Changed { general, vectors }, state, at);
        state.others = EMPTY;
    }

    fn clobber_only(&mut self, changed: Changed, state: &mut State, at: u64) {
        self.summary.changed.include(changed);
        for register in CHANGED {
            if changed.general & 1 << register != 0 {
                state.values[register] = self.values.atom(Atom::Made(at, register as u8));
                state.labels[register] = EMPTY;
            }
        }
        for (register, labels) in state.vectors.iter_mut().enumerate() {
            if changed.vectors & 1 << register != 0 {
                *labels = EMPTY;
            }
        }
        state.flags = EMPTY;
    }

    /// Performs a call of a function about which nothing is known: all that it can reach may have any effect.
    pub(crate) fn call_unknown(&mut self, state: &mut State, at: u64) {
        let mut given = self.stack_arguments(state);
        for register in ARGUMENTS {
            given = self.union(given, state.labels[usize::from(register)]);
        }
        // The number of vector registers that are arguments.
        given = self.union(given, state.labels[0]);
        for register in 0..usize::from(VECTORS) {
            given = self.union(given, state.vectors[register]);
        }
        given = self.union(given, state.others);
        self.give(given, state, at);
    }

    /// Gives values to a callee that may do anything with them and with what it reaches from them.
    fn give(&mut self, given: Set, state: &mut State, at: u64) {
        let reached = self.reach(given, state);
        self.sink(given, Sink::UNKNOWN, at);
        self.sink(reached, Sink::UNKNOWN, at);
        self.spread_to_all(EMPTY, given, reached, state, at);
        self.clobber(state, at);
        // The result may be one of the pointers. Values that were read are unknown already.
        let pointers = self.union(given, reached);
        let pointers = self.shared.labels.members(pointers);
        let is_value = |label: &&Label| matches!(label, Label::Read(_) | Label::Unseen(_));
        let pointers = pointers.iter().filter(|label| !is_value(label)).copied();
        let pointers = pointers.collect();
        state.labels[0] = self.shared.labels.intern(pointers);
    }

    /// Performs a system call: as of an unknown function, but the registers are others.
    pub(crate) fn system_call(&mut self, at: u64, state: &mut State) {
        let mut given = EMPTY;
        for register in [0, 7, 6, 2, 10, 8, 9] {
            given = self.union(given, state.labels[register]);
        }
        let reached = self.reach(given, state);
        self.sink(given, Sink::UNKNOWN, at);
        self.sink(reached, Sink::UNKNOWN, at);
        self.spread_to_all(EMPTY, given, reached, state, at);
        self.summary.changed.general |= 1 | 1 << 1 | 1 << 11;
        for register in [0, 1, 11] {
            state.values[register] = self.values.atom(Atom::Made(at, register as u8));
            state.labels[register] = EMPTY;
        }
    }

    /// Records that a callee may have stored values with these labels in all memory that it can reach.
    fn spread_to_all(&mut self, stored: Set, given: Set, reached: Set, state: &mut State, at: u64) {
        let unknown = self.values.atom(Atom::Made(at, BY_CALL));
        let pointers = self.union(given, reached);
        self.spread(unknown, pointers, 1, state, (stored, at));
    }

    /// Returns the labels of what is passed on the stack. How much that is, is not known.
    fn stack_arguments(&mut self, state: &State) -> Set {
        let Some(top) = self.values.in_frame(state.values[RSP]) else {
            return self.whole_frame(state);
        };
        let mut found = state.frame;
        for slot in state.slots.range(top..).map(|(_, slot)| slot) {
            found = self.union(found, slot.labels);
        }
        found
    }

    fn call_known(&mut self, summary: &Summary, state: &mut State, at: u64) {
        let before = state.clone();
        for (&label, &sink) in &summary.sinks {
            let labels = self.at_caller(label, &before);
            self.sink_at(labels, sink);
        }
        let translate = |visit: &mut Self, set: Set| {
            let mut found = EMPTY;
            for &label in visit.shared.labels.members(set).iter() {
                let labels = visit.at_caller(label, &before);
                found = visit.union(found, labels);
            }
            found
        };
        let results = summary.results.map(|set| translate(self, set));
        let vectors = summary.vector_results.map(|set| translate(self, set));
        let others = translate(self, summary.others);
        let outputs: Vec<_> = summary
            .outputs
            .iter()
            .map(|(&output, &set)| (output, translate(self, set)))
            .collect();
        for (output, stored) in outputs {
            self.receive(output, stored, &before, state, at);
        }
        let changed = summary.changed;
        self.clobber_only(changed, state, at);
        for (register, result) in [0, 2].into_iter().zip(results) {
            if changed.general & 1 << register != 0 {
                state.labels[register] = result;
            }
        }
        for (register, result) in vectors.into_iter().enumerate() {
            if changed.vectors & 1 << register != 0 {
                state.vectors[register] = result;
            }
        }
        state.others = self.union(state.others, others);
    }

    fn argument(&self, argument: u8, state: &State) -> (Option<Value>, Set) {
        match argument {
            0..INTEGERS => {
                let register = usize::from(ARGUMENTS[usize::from(argument)]);
                (Some(state.values[register]), state.labels[register])
            }
            _ => (None, state.vectors[usize::from(argument - INTEGERS)]),
        }
    }

    /// Returns the labels that a label of the callee has at its call.
    fn at_caller(&mut self, label: Label, state: &State) -> Set {
        match label {
            // Frames of callees are gone.
            Label::Frame | Label::Incoming => EMPTY,
            Label::Read(_) | Label::Unseen(_) => self.label(label),
            Label::Argument(argument) => self.argument(argument, state).1,
            Label::Behind(argument, offset, size) => {
                let (value, labels) = self.argument(argument, state);
                let (offset, size) = (i64::from(offset), i64::from(size));
                let address = value.map(|value| self.values.offset(value, offset));
                match address.and_then(|address| Some((address, self.values.in_frame(address)?))) {
                    Some((address, offset)) => self.load_slot(state, offset, size, address).1,
                    None => match address {
                        Some(address) => {
                            let contents = self.contents_at(address, labels, size, state);
                            let reached = match self.has_frame(labels) {
                                true => self.reach(labels, state),
                                false => EMPTY,
                            };
                            self.union(contents, reached)
                        }
                        None => self.reach(labels, state),
                    },
                }
            }
            Label::Reached(argument) => {
                let labels = self.argument(argument, state).1;
                self.reach(labels, state)
            }
            Label::OnStack(offset, size) => {
                let top = self.values.in_frame(state.values[RSP]);
                let made = state.values[RSP];
                match top {
                    Some(top) => {
                        let offset = top + i64::from(offset);
                        self.load_slot(state, offset, size.into(), made).1
                    }
                    None => self.whole_frame(state),
                }
            }
            Label::ReachedFromStack => {
                let given = self.stack_arguments(state);
                let reached = self.reach(given, state);
                self.union(given, reached)
            }
        }
    }

    /// Records that the callee has written to memory of an argument.
    fn receive(
        &mut self,
        (argument, part): Output,
        stored: Set,
        before: &State,
        state: &mut State,
        at: u64,
    ) {
        let (value, labels) = match argument {
            STACK => (None, self.stack_arguments(before)),
            _ => self.argument(argument, before),
        };
        if let (Some(value), Some((offset, size))) = (value, part) {
            let address = self.values.offset(value, offset.into());
            if let Some(offset) = self.values.in_frame(address) {
                return self.receive_in_slot(offset, size.into(), stored, state, at);
            }
            self.spread(address, labels, size.into(), state, (stored, at));
            if !self.has_frame(labels) {
                return;
            }
        }
        // Any memory that can be reached.
        let reached = self.reach(labels, before);
        self.spread_to_all(stored, labels, reached, state, at);
    }

    fn receive_in_slot(&mut self, offset: i64, size: i64, stored: Set, state: &mut State, at: u64) {
        self.change_slots(state, offset, size, stored, at);
        // Parts that no slot describes yet.
        let before = self.unwritten(offset, size);
        let added = Slot {
            size,
            value: self.values.atom(Atom::Made(at, BY_CALL)),
            labels: self.union(before, stored),
        };
        state.slots.entry(offset).or_insert(added);
        let starts = state.slots[&offset];
        if starts.size < size {
            state.frame = self.union(state.frame, stored);
        }
    }

    /// Performs a call that copies memory: `memcpy` and its family.
    pub(crate) fn copy(&mut self, state: &mut State, at: u64, returns_to: u64) {
        let [to, from, count] =
            [7, 6, 2].map(|register: usize| (state.values[register], state.labels[register]));
        for (_, labels) in [to, from, count] {
            self.sink(labels, Sink::ADDRESS, at);
        }
        let size = self.values.as_constant(count.0).filter(|&size| size >= 0);
        let mut copied = match (self.values.in_frame(from.0), size) {
            (Some(offset), Some(size)) => {
                let found = self.load_slot(state, offset, size, from.0).1;
                let incoming = labels::on_stack((offset - 8).max(0), size);
                match offset + size > 8 {
                    true => {
                        let incoming = self.label(incoming);
                        self.union(found, incoming)
                    }
                    false => found,
                }
            }
            _ => {
                let reached = self.reach(from.1, state);
                // A copy is a read of what others may have written.
                self.found_read(returns_to, from.0, false, false);
                let read = self.label(Label::Read(returns_to));
                self.union(reached, read)
            }
        };
        if self.values.in_frame(from.0).is_none() && size.is_some() {
            self.found_read(returns_to, from.0, false, false);
            let read = self.label(Label::Read(returns_to));
            copied = self.union(copied, read);
        }
        match (self.values.in_frame(to.0), size) {
            (Some(offset), Some(size)) => {
                let made = self.values.atom(Atom::Made(at, BY_CALL));
                self.write_slot(state, offset, size, (made, copied), at);
            }
            (Some(_), None) => {
                state.frame = self.union(state.frame, copied);
                self.forget_values(state, at);
            }
            (None, _) => {
                self.shared.effects.writes.insert(returns_to);
                self.sink(copied, Sink::STORE, returns_to);
                self.spread(to.0, to.1, size.unwrap_or(0), state, (copied, at));
            }
        }
        self.clobber(state, at);
        state.labels[0] = to.1;
        state.values[0] = to.0;
    }
}
