//! One analysis of one function: its blocks, from the first one until no state changes.

pub(crate) mod callbacks;
mod calls;
mod instruction;
mod memory;
mod models;
mod state;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

use crate::image::{Image, Target};
use crate::labels::Label;
use crate::sets::{EMPTY, Set, Sets};
use crate::summary::{Effects, Place, Sink, Summary};
use crate::values::{Atom, Value, Values};
use state::State;

/// Number of the stack pointer.
pub(crate) const RSP: usize = 4;
/// Number of the frame pointer.
pub(crate) const RBP: usize = 5;
/// Analyses of blocks after which the function counts as unknown.
const MOST_VISITS: usize = 20_000;
/// Most entries of a jump table.
const LONGEST_TABLE: u64 = 4096;

/// What analyses of functions have in common.
pub(crate) struct Shared<'d> {
    pub(crate) image: &'d Image<'d>,
    pub(crate) labels: Sets<Label>,
    pub(crate) places: Sets<Place>,
    pub(crate) summaries: HashMap<u64, Summary>,
    pub(crate) effects: Effects,
    pub(crate) factory: InstructionInfoFactory,
    pub(crate) decoded: HashMap<u64, Instruction>,
}

/// The analysis of a function.
pub(crate) struct Visit<'a, 'd> {
    pub(crate) shared: &'a mut Shared<'d>,
    pub(crate) values: Values,
    pub(crate) function: u64,
    end: u64,
    pub(crate) summary: Summary,
    states: BTreeMap<u64, State>,
    waiting: BTreeSet<u64>,
    sunk: HashSet<(Set, u8, u64)>,
}

impl<'a, 'd> Visit<'a, 'd> {
    /// Analyses the function with the summaries of others as they are.
    pub(crate) fn run(shared: &'a mut Shared<'d>, function: u64) -> Summary {
        let end = shared.image.functions.get(&function);
        let end = end.map_or(function, |known| known.end);
        let mut visit = Visit {
            shared,
            values: Values::default(),
            function,
            end,
            summary: Summary::default(),
            states: BTreeMap::new(),
            waiting: BTreeSet::new(),
            sunk: HashSet::new(),
        };
        if visit.shared.image.landing_pads.is_unread(function) {
            visit.give_up();
        } else {
            let first = visit.first_state();
            visit.flow(function, &first);
            visit.explore();
        }
        visit.summary
    }

    /// Records that the function cannot be followed.
    pub(crate) fn give_up(&mut self) {
        self.summary.is_opaque = true;
        self.waiting.clear();
    }

    fn first_state(&mut self) -> State {
        let mut state = State {
            values: std::array::from_fn(|register| {
                self.values.atom(match register {
                    RSP => Atom::StackPointer,
                    _ => Atom::Entry(register as u8),
                })
            }),
            labels: [EMPTY; 16],
            vectors: [EMPTY; 32],
            flags: EMPTY,
            others: EMPTY,
            slots: BTreeMap::new(),
            frame: EMPTY,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        for (argument, &register) in (0..).zip(&crate::values::ARGUMENTS) {
            state.labels[usize::from(register)] = self.label(Label::Argument(argument));
        }
        for vector in 0..crate::labels::VECTORS {
            state.vectors[usize::from(vector)] =
                self.label(Label::Argument(crate::labels::INTEGERS + vector));
        }
        state.labels[RSP] = self.label(Label::Frame);
        state
    }

    pub(crate) fn label(&mut self, label: Label) -> Set {
        self.shared.labels.one(label)
    }

    pub(crate) fn union(&mut self, one: Set, other: Set) -> Set {
        self.shared.labels.union(one, other)
    }

    pub(crate) fn has_frame(&self, labels: Set) -> bool {
        self.shared.labels.contains(labels, Label::Frame)
    }

    /// Records that values with these labels have an effect at a place.
    pub(crate) fn sink(&mut self, labels: Set, kind: u8, place: u64) {
        if labels == EMPTY || !self.sunk.insert((labels, kind, place)) {
            return;
        }
        let places = self.shared.places.one((kind, place));
        self.sink_at(labels, Sink { kind, places });
    }

    pub(crate) fn sink_at(&mut self, labels: Set, sink: Sink) {
        let members = self.shared.labels.members(labels);
        self.shared
            .effects
            .sink(&members, sink, &mut self.shared.places);
        for &label in members.iter() {
            if !matches!(
                label,
                Label::Read(_) | Label::Unseen(_) | Label::Frame | Label::Incoming
            ) {
                let known = self.summary.sinks.entry(label).or_default();
                known.add(sink, &mut self.shared.places);
            }
        }
    }

    /// Continues with a state at a block.
    fn flow(&mut self, block: u64, state: &State) {
        let joined = match self.states.remove(&block) {
            None => state.clone(),
            Some(known) => {
                let joined = self.join(&known, state, block);
                if joined == known {
                    self.states.insert(block, known);
                    return;
                }
                joined
            }
        };
        self.states.insert(block, joined);
        self.waiting.insert(block);
    }

    fn explore(&mut self) {
        let mut visits = 0;
        while let Some(block) = self.waiting.pop_first() {
            visits += 1;
            if visits > MOST_VISITS {
                return self.give_up();
            }
            let mut state = self.states[&block].clone();
            let mut at = block;
            loop {
                if at != block && self.states.contains_key(&at) {
                    self.flow(at, &state);
                    break;
                }
                let Some(instruction) = self.decode(at) else {
                    return self.give_up();
                };
                if !self.perform(&instruction, &mut state) {
                    break;
                }
                at = instruction.next_ip();
            }
            if self.summary.is_opaque {
                return;
            }
        }
    }

    fn decode(&mut self, at: u64) -> Option<Instruction> {
        if let Some(&known) = self.shared.decoded.get(&at) {
            return Some(known);
        }
        let instruction = self.shared.image.decode(at)?;
        self.shared.decoded.insert(at, instruction);
        Some(instruction)
    }

    /// Performs an instruction. Returns true if the next one follows.
    fn perform(&mut self, instruction: &Instruction, state: &mut State) -> bool {
        let at = instruction.ip();
        match instruction.flow_control() {
            FlowControl::Next => {
                self.step(instruction, state);
                true
            }
            FlowControl::UnconditionalBranch => {
                self.jump(instruction, state);
                false
            }
            FlowControl::ConditionalBranch => {
                let mut condition = match instruction.rflags_read() {
                    0 => EMPTY,
                    _ => state.flags,
                };
                if instruction.is_jcx_short() || instruction.is_loop() || instruction.is_loopcc() {
                    condition = self.union(condition, state.labels[1]);
                }
                self.sink(condition, Sink::BRANCH, at);
                self.jump(instruction, state);
                true
            }
            FlowControl::IndirectBranch => {
                self.jump_indirectly(instruction, state);
                false
            }
            FlowControl::Return => {
                self.leave(state);
                false
            }
            FlowControl::Call | FlowControl::IndirectCall => self.perform_call(instruction, state),
            // Undefined instructions end the program.
            FlowControl::Exception => false,
            // System calls.
            FlowControl::Interrupt => {
                self.system_call(at, state);
                true
            }
            FlowControl::XbeginXabortXend => {
                self.give_up();
                false
            }
        }
    }

    fn perform_call(&mut self, instruction: &Instruction, state: &mut State) -> bool {
        let at = instruction.ip();
        if matches!(
            instruction.mnemonic(),
            Mnemonic::Syscall | Mnemonic::Sysenter
        ) {
            self.system_call(at, state);
            return true;
        }
        let target = self.shared.image.target(instruction);
        if target == Target::Unknown && instruction.flow_control() == FlowControl::IndirectCall {
            let callee = self.operand_labels(instruction, state);
            self.sink(callee, Sink::BRANCH, at);
        }
        self.call(&target, state, at, instruction.next_ip());
        if let Some(pad) = self.shared.image.landing_pads.of(at) {
            let mut landed = state.clone();
            // The exception and its type.
            landed.labels[0] = EMPTY;
            landed.labels[2] = EMPTY;
            self.flow(pad, &landed);
        }
        !self.is_end(&target, instruction.next_ip())
    }

    /// True if a call of another function is the last instruction of this one, so that it never returns.
    fn is_end(&self, target: &Target, next: u64) -> bool {
        let is_callback = matches!(target, Target::Import(name) if name.starts_with("__tsan_"));
        let is_last = next == self.end || !self.shared.image.is_code(next);
        let never_returns =
            matches!(target, Target::Import(name) if NEVER_RETURN.contains(&&name[..]));
        !is_callback && (is_last || never_returns)
    }

    fn jump(&mut self, instruction: &Instruction, state: &State) {
        let to = instruction.near_branch64();
        if (self.function..self.end).contains(&to) {
            return self.flow(to, state);
        }
        match self.shared.image.target_at(to) {
            Target::Unknown => {}
            Target::Function(function) if self.is_part(function) => {}
            target if self.values.in_frame(state.values[RSP]) == Some(0) => {
                return self.call_last(&target, state, instruction);
            }
            _ => {}
        }
        // Another part of this function.
        match self.shared.image.is_code(to) {
            true => self.flow(to, state),
            false => self.give_up(),
        }
    }

    /// True if the code may be a part of a function that is not called.
    fn is_part(&self, function: u64) -> bool {
        let name = self.shared.image.name(function);
        name.is_none_or(|name| name.contains(".cold"))
    }

    fn call_last(&mut self, target: &Target, state: &State, instruction: &Instruction) {
        let mut state = state.clone();
        // The return address is on the stack already.
        state.values[RSP] = self.values.offset(state.values[RSP], 8);
        self.call(target, &mut state, instruction.ip(), instruction.next_ip());
        self.leave(&state);
    }

    fn jump_indirectly(&mut self, instruction: &Instruction, state: &mut State) {
        let target = self.shared.image.target(instruction);
        let at = instruction.ip();
        if target != Target::Unknown {
            return self.call_last(&target, state, instruction);
        }
        let labels = self.operand_labels(instruction, state);
        self.sink(labels, Sink::BRANCH, at);
        let found = match instruction.op0_kind() {
            OpKind::Memory => {
                let address = self.address(instruction, state);
                let (table, _) = self.values.constant_part(address);
                Some((table as u64, 8, 0))
            }
            _ => {
                let register = instruction.op0_register().full_register().number();
                self.values.table(state.values[register])
            }
        };
        let entries = found.map_or(Vec::new(), |(table, size, base)| {
            self.table_entries(table, size, base)
        });
        if entries.is_empty() {
            self.give_up();
        }
        for entry in entries {
            self.flow(entry, state);
        }
    }

    /// Returns the destinations in a jump table. Its length is unknown: it ends where an entry is none.
    fn table_entries(&self, table: u64, size: u8, base: i64) -> Vec<u64> {
        let image = self.shared.image;
        if !image.is_constant(table) {
            return Vec::new();
        }
        let is_ours = |&to: &u64| {
            (self.function..self.end).contains(&to)
                || image
                    .functions
                    .range(..=to)
                    .next_back()
                    .is_some_and(|(_, function)| {
                        let name = function.name.as_deref();
                        to < function.end && name.is_some_and(|name| name.contains(".cold"))
                    })
        };
        let entry = |index| {
            let entry = image.entry(table + index * u64::from(size), size)?;
            Some(entry.wrapping_add(base) as u64)
        };
        let entries = (0..LONGEST_TABLE).map_while(entry);
        entries.take_while(is_ours).collect()
    }

    /// Records what the function returns.
    fn leave(&mut self, state: &State) {
        let Summary {
            results,
            vector_results,
            others,
            ..
        } = &mut self.summary;
        let labels = &mut self.shared.labels;
        for (result, register) in results.iter_mut().zip([0, 2]) {
            *result = labels.union(*result, state.labels[register]);
        }
        for (result, &register) in vector_results.iter_mut().zip(&state.vectors) {
            *result = labels.union(*result, register);
        }
        *others = labels.union(*others, state.others);
    }

    /// Returns the address that an instruction computes for its memory operand.
    pub(crate) fn address(&mut self, instruction: &Instruction, state: &State) -> Value {
        let displacement = instruction.memory_displacement64() as i64;
        let mut address = self.values.constant(displacement);
        if instruction.is_ip_rel_memory_operand() {
            return address;
        }
        let scale = i64::from(instruction.memory_index_scale());
        for (register, factor) in [
            (instruction.memory_base(), 1),
            (instruction.memory_index(), scale),
        ] {
            if register.is_gpr64() {
                let value = state.values[register.number()];
                address = self.values.add(address, value, factor);
            } else if register != Register::None {
                address = self.values.atom(Atom::Made(instruction.ip(), u8::MAX));
            }
        }
        address
    }

    /// Returns the labels of the registers in an address.
    pub(crate) fn address_labels(&mut self, instruction: &Instruction, state: &State) -> Set {
        let mut labels = EMPTY;
        for register in [instruction.memory_base(), instruction.memory_index()] {
            let of = match register {
                _ if register.is_gpr() => state.labels[register.full_register().number()],
                _ if register.is_vector_register() => state.vectors[register.number()],
                _ => EMPTY,
            };
            labels = self.union(labels, of);
        }
        labels
    }

    /// Returns the labels of the first operand.
    fn operand_labels(&mut self, instruction: &Instruction, state: &mut State) -> Set {
        match instruction.op0_kind() {
            OpKind::Memory => self.load(instruction, state, 8).1,
            OpKind::Register => state.labels[instruction.op0_register().full_register().number()],
            _ => EMPTY,
        }
    }
}

/// Functions of other files that never return.
const NEVER_RETURN: &[&str] = &[
    "abort",
    "exit",
    "_exit",
    "__assert_fail",
    "__stack_chk_fail",
    "pthread_exit",
    "_Unwind_Resume",
    "__cxa_throw",
    "__cxa_rethrow",
];
