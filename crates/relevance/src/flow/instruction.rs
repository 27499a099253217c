//! Instructions that are no calls or jumps: from the labels and values before to those after.

use iced_x86::{
    CpuidFeature, Instruction, InstructionInfo, MemorySize, Mnemonic, OpAccess, OpKind, Register,
    RflagsBits,
};

use super::memory::Operand;
use super::state::State;
use super::{RBP, RSP, Visit};
use crate::labels::Label;
use crate::sets::{EMPTY, Set};
use crate::summary::Sink;
use crate::values::{Atom, Value};

/// Number of a part of an atom for results that are stored.
const STORED: u8 = 250;

/// Flags that depend on a result; an instruction that changes them all hides what they were.
const STATUS: u32 = RflagsBits::OF | RflagsBits::SF | RflagsBits::ZF | RflagsBits::CF;

fn reads(access: OpAccess) -> bool {
    // What is written on a condition may keep its value.
    matches!(
        access,
        OpAccess::Read
            | OpAccess::CondRead
            | OpAccess::ReadWrite
            | OpAccess::ReadCondWrite
            | OpAccess::CondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Returns the number of a general register.
fn general(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

impl Visit<'_, '_> {
    pub(crate) fn step(&mut self, instruction: &Instruction, state: &mut State) {
        use Mnemonic::{
            Cdqe, Endbr64, Enter, Lea, Leave, Maskmovdqu, Maskmovq, Nop, Pop, Push, Vmaskmovdqu,
            Xchg, Xlatb,
        };
        match instruction.mnemonic() {
            Nop | Endbr64 => {}
            Push => self.push(instruction, state),
            Pop => self.pop(instruction, state),
            Leave => self.pop_frame(instruction, state),
            Lea => {
                let value = self.address(instruction, state);
                let labels = self.address_labels(instruction, state);
                self.set_register(instruction.op0_register(), (value, labels), state, true);
            }
            Cdqe => {
                let value = self.values.lower(state.values[0], 32, true);
                state.values[0] = value;
                self.summary.changed.general |= 1;
            }
            Enter | Xlatb | Maskmovq | Maskmovdqu | Vmaskmovdqu => self.give_up(),
            Xchg if instruction.op0_kind() == OpKind::Register
                && instruction.op1_kind() == OpKind::Register
                && instruction.op0_register().size() == 8 =>
            {
                let one = instruction.op0_register().number();
                let other = instruction.op1_register().number();
                self.summary.changed.general |= 1 << one | 1 << other;
                state.values.swap(one, other);
                state.labels.swap(one, other);
            }
            _ if instruction.is_stack_instruction() => self.give_up(),
            _ if instruction.is_string_instruction() => self.string(instruction, state),
            _ => self.compute(instruction, state),
        }
    }

    fn push(&mut self, instruction: &Instruction, state: &mut State) {
        let pushed = match instruction.op0_kind() {
            OpKind::Register => match general(instruction.op0_register()) {
                Some(register) => (state.values[register], state.labels[register]),
                None => return self.give_up(),
            },
            OpKind::Memory => self.load(instruction, state, 8),
            _ => {
                let value = self.values.constant(instruction.immediate(0) as i64);
                (value, EMPTY)
            }
        };
        if instruction.stack_pointer_increment() != -8 {
            return self.give_up();
        }
        state.values[RSP] = self.values.offset(state.values[RSP], -8);
        let place = self.stack_operand(state);
        self.store(&place, state, pushed, instruction.ip());
    }

    fn stack_operand(&mut self, state: &State) -> Operand {
        Operand::plain(state.values[RSP], state.labels[RSP], 8)
    }

    fn pop(&mut self, instruction: &Instruction, state: &mut State) {
        if instruction.stack_pointer_increment() != 8 || instruction.op0_kind() != OpKind::Register
        {
            return self.give_up();
        }
        let place = self.stack_operand(state);
        let popped = self.load_from(&place, state, instruction.ip());
        state.values[RSP] = self.values.offset(state.values[RSP], 8);
        self.set_register(instruction.op0_register(), popped, state, true);
    }

    fn pop_frame(&mut self, instruction: &Instruction, state: &mut State) {
        state.values[RSP] = state.values[RBP];
        state.labels[RSP] = state.labels[RBP];
        let place = self.stack_operand(state);
        let popped = self.load_from(&place, state, instruction.ip());
        state.values[RSP] = self.values.offset(state.values[RSP], 8);
        self.set_register(Register::RBP, popped, state, true);
    }

    /// Sets a general register to a value, which is of the register's width.
    fn set_register(
        &mut self,
        register: Register,
        (value, labels): (Value, Set),
        state: &mut State,
        is_value_known: bool,
    ) {
        let Some(number) = general(register) else {
            return;
        };
        self.summary.changed.general |= 1 << number;
        let is_part = register.size() < 4;
        let value = match register.size() {
            8 => value,
            4 => self.values.lower(value, 32, false),
            _ => value,
        };
        state.values[number] = value;
        state.labels[number] = match is_part {
            true => self.union(state.labels[number], labels),
            false => labels,
        };
        if is_value_known
            && self
                .values
                .about_in_frame(value)
                .is_some_and(|offset| offset >= 8)
        {
            let incoming = self.label(Label::Incoming);
            state.labels[number] = self.union(state.labels[number], incoming);
        }
    }

    /// `movs`, `stos`, `lods`, `scas` and `cmps`, repeated or not.
    fn string(&mut self, instruction: &Instruction, state: &mut State) {
        use Mnemonic::{Lodsb, Lodsd, Lodsq, Lodsw, Stosb, Stosd, Stosq, Stosw};
        const MOVES: [Mnemonic; 4] = [
            Mnemonic::Movsb,
            Mnemonic::Movsw,
            Mnemonic::Movsd,
            Mnemonic::Movsq,
        ];
        let at = instruction.ip();
        let mnemonic = instruction.mnemonic();
        let (moves, stores, loads) = (
            MOVES.contains(&mnemonic),
            matches!(mnemonic, Stosb | Stosw | Stosd | Stosq),
            matches!(mnemonic, Lodsb | Lodsw | Lodsd | Lodsq),
        );
        for register in [7, 6, 1] {
            self.sink(state.labels[register], Sink::ADDRESS, at);
        }
        let made = self.values.atom(Atom::Made(at, STORED));
        let mut found = state.labels[0];
        if !stores {
            for register in [6, 7] {
                let reached = self.reach(state.labels[register], state);
                found = self.union(found, reached);
            }
            for pending in state.reads.clone() {
                let read = self.label(Label::Read(pending.site));
                found = self.union(found, read);
            }
        }
        if moves || stores {
            let place = Operand::plain(made, state.labels[7], 1);
            for pending in state.writes.clone() {
                self.sink(found, Sink::STORE, pending.site);
            }
            match self.values.in_frame(state.values[7]) {
                Some(_) => {
                    state.frame = self.union(state.frame, found);
                    self.forget_values(state, at);
                }
                None => self.store(&place, state, (made, found), at),
            }
        } else if loads {
            self.summary.changed.general |= 1;
            state.labels[0] = self.union(state.labels[0], found);
            state.values[0] = made;
        } else {
            state.flags = self.union(state.flags, found);
            self.sink(found, Sink::BRANCH, at);
        }
        for register in [7, 6, 1] {
            self.summary.changed.general |= 1 << register;
            state.values[register] = self.values.atom(Atom::Made(at, register as u8));
            if !(moves || stores || loads) {
                state.labels[register] = self.union(state.labels[register], found);
            }
        }
    }

    /// Performs any other instruction: each result has the labels of all operands.
    fn compute(&mut self, instruction: &Instruction, state: &mut State) {
        let at = instruction.ip();
        if is_zero(instruction) {
            return self.set_zero(instruction, state);
        }
        let info = self.shared.factory.info(instruction).clone();
        let mut labels = self.register_operands(instruction, &info, state);
        let mut memory = None;
        let mut place = None;
        for used in info.used_memory() {
            let size = size_of(used.memory_size());
            let operand = self.operand(instruction, state, size);
            if reads(used.access()) {
                let (value, found) = self.load_from(&operand, state, at);
                labels = self.union(labels, found);
                memory = Some(value);
            }
            if writes(used.access()) {
                place = Some(operand);
            }
        }
        if instruction.rflags_read() != 0 {
            labels = self.union(labels, state.flags);
        }
        let is_floating = is_floating(instruction);
        if is_floating {
            labels = self.union(labels, state.others);
            state.others = labels;
        }
        let value = self.result(instruction, state, memory);
        if let Some(place) = place {
            let stored = value.unwrap_or_else(|| self.values.atom(Atom::Made(at, STORED)));
            self.store(&place, state, (stored, labels), at);
        }
        self.set_results(instruction, &info, (value, labels), state);
        self.set_flags(instruction, labels, state);
    }

    fn set_zero(&mut self, instruction: &Instruction, state: &mut State) {
        let zero = self.values.constant(0);
        let register = instruction.op0_register();
        if register.is_vector_register() {
            state.vectors[register.number()] = EMPTY;
            self.summary.changed.vectors |= 1 << register.number();
        } else {
            self.set_register(register, (zero, EMPTY), state, true);
            state.flags = EMPTY;
        }
    }

    /// Returns the labels of the registers that an instruction reads as operands, not for an address.
    fn register_operands(
        &mut self,
        instruction: &Instruction,
        info: &InstructionInfo,
        state: &State,
    ) -> Set {
        use Mnemonic::{Cmpxchg, Cmpxchg8b, Cmpxchg16b, Div, Idiv, Imul, Mul};
        // Their operands may be registers of the address as well.
        let is_implicit = matches!(
            instruction.mnemonic(),
            Mul | Imul | Div | Idiv | Cmpxchg | Cmpxchg8b | Cmpxchg16b
        );
        let is_explicit = |register: Register| {
            (0..instruction.op_count()).any(|index| {
                instruction.op_kind(index) == OpKind::Register
                    && instruction.op_register(index).full_register() == register
                    && reads(info.op_access(index))
            })
        };
        let mut labels = EMPTY;
        for used in info.used_registers() {
            let register = used.register();
            let full = register.full_register();
            let is_in_address = full == instruction.memory_base().full_register()
                || full == instruction.memory_index().full_register();
            if !reads(used.access()) || is_in_address && !is_implicit && !is_explicit(full) {
                continue;
            }
            let of = self.register_labels(register, state);
            labels = self.union(labels, of);
        }
        labels
    }

    fn register_labels(&mut self, register: Register, state: &State) -> Set {
        if let Some(number) = general(register) {
            return state.labels[number];
        }
        if register.is_vector_register() {
            let lower = state.vectors[register.number()];
            return match register.is_xmm() {
                true => lower,
                false => self.union(lower, state.others),
            };
        }
        match is_other(register) {
            true => state.others,
            false => EMPTY,
        }
    }

    fn set_results(
        &mut self,
        instruction: &Instruction,
        info: &InstructionInfo,
        (value, labels): (Option<Value>, Set),
        state: &mut State,
    ) {
        let first =
            (instruction.op0_kind() == OpKind::Register).then(|| instruction.op0_register());
        for used in info.used_registers() {
            if !writes(used.access()) {
                continue;
            }
            let register = used.register();
            if let Some(number) = general(register) {
                let known = value.filter(|_| {
                    first.and_then(general) == Some(number)
                        && register.size() >= 4
                        && !matches!(used.access(), OpAccess::CondWrite | OpAccess::ReadCondWrite)
                });
                let made = known.unwrap_or_else(|| {
                    self.values.atom(Atom::Made(instruction.ip(), number as u8))
                });
                self.set_register(register, (made, labels), state, known.is_some());
            } else if register.is_vector_register() {
                let number = register.number();
                self.summary.changed.vectors |= 1 << number;
                // Some write a part of the register only. Reading it or not, what was there counts.
                let is_part = !is_whole(instruction) || !register.is_xmm();
                state.vectors[number] = match is_part {
                    true => self.union(state.vectors[number], labels),
                    false => labels,
                };
                if !register.is_xmm() {
                    state.others = self.union(state.others, labels);
                }
            } else if is_other(register) {
                state.others = self.union(state.others, labels);
            }
        }
    }

    fn set_flags(&mut self, instruction: &Instruction, labels: Set, state: &mut State) {
        use Mnemonic::{Rcl, Rcr, Rol, Ror, Sar, Shl, Shld, Shr, Shrd};
        let modified = instruction.rflags_modified();
        if modified == 0 {
            return;
        }
        // Shifts by zero change no flag.
        let is_shift = matches!(
            instruction.mnemonic(),
            Rcl | Rcr | Rol | Ror | Sar | Shl | Shld | Shr | Shrd
        );
        state.flags = match modified & STATUS == STATUS && !is_shift {
            true => labels,
            false => self.union(state.flags, labels),
        };
    }

    /// Returns an operand as a value of its width.
    fn value_of(
        &mut self,
        instruction: &Instruction,
        index: u32,
        state: &State,
        memory: Option<Value>,
    ) -> Option<Value> {
        match instruction.op_kind(index) {
            OpKind::Register => {
                let register = instruction.op_register(index);
                let value = state.values[general(register)?];
                match register.size() {
                    8 => Some(value),
                    4 => Some(self.values.lower(value, 32, false)),
                    2 if !is_high(register) => Some(self.values.lower(value, 16, false)),
                    1 if !is_high(register) => Some(self.values.lower(value, 8, false)),
                    _ => None,
                }
            }
            OpKind::Memory => memory,
            _ => Some(self.values.constant(instruction.immediate(index) as i64)),
        }
    }

    /// Returns the value of the first operand after an instruction, if it can be said.
    fn result(
        &mut self,
        instruction: &Instruction,
        state: &State,
        memory: Option<Value>,
    ) -> Option<Value> {
        use Mnemonic::{
            Add, And, Dec, Imul, Inc, Mov, Movsx, Movsxd, Movzx, Neg, Not, Or, Sar, Shl, Shr, Sub,
            Xor,
        };
        let count = instruction.op_count();
        if !(1..=3).contains(&count) {
            return None;
        }
        let mnemonic = instruction.mnemonic();
        let operand = |visit: &mut Self, index| visit.value_of(instruction, index, state, memory);
        match mnemonic {
            Mov => {
                let moved = operand(self, 1)?;
                Some(moved)
            }
            Movzx => operand(self, 1),
            Movsx | Movsxd => {
                let bits = match instruction.op1_kind() {
                    OpKind::Register => instruction.op1_register().size() * 8,
                    _ => instruction.memory_size().size() * 8,
                };
                let value = operand(self, 1)?;
                Some(self.values.lower(value, bits as u8, true))
            }
            Add | Sub => {
                let (one, other) = (operand(self, 0)?, operand(self, 1)?);
                let factor = if mnemonic == Add { 1 } else { -1 };
                Some(self.values.add(one, other, factor))
            }
            Inc | Dec => {
                let one = operand(self, 0)?;
                Some(
                    self.values
                        .offset(one, if mnemonic == Inc { 1 } else { -1 }),
                )
            }
            Shl if instruction.op1_kind() != OpKind::Register => {
                let one = operand(self, 0)?;
                let zero = self.values.constant(0);
                let by = (instruction.immediate(1) & 63) as u32;
                Some(self.values.add(zero, one, 1i64.checked_shl(by)?))
            }
            And | Or | Xor | Imul | Sar | Shr | Neg | Not => {
                let zero = self.values.constant(0);
                let operands = match (mnemonic, count) {
                    (Neg | Not, _) => (operand(self, 0)?, zero),
                    (_, 2) => (operand(self, 0)?, operand(self, 1)?),
                    (Imul, 3) => (operand(self, 1)?, operand(self, 2)?),
                    _ => return None,
                };
                let operation = instruction.code() as u32;
                Some(
                    self.values
                        .atom(Atom::Result(operation, operands.0, operands.1)),
                )
            }
            _ => None,
        }
    }
}

/// True if an instruction clears a register, whatever is in it.
fn is_zero(instruction: &Instruction) -> bool {
    use Mnemonic::{Pxor, Sub, Vpxor, Vxorps, Xor, Xorpd, Xorps};
    let same = |one: u32, other: u32| {
        instruction.op_kind(one) == OpKind::Register
            && instruction.op_kind(other) == OpKind::Register
            && instruction.op_register(one) == instruction.op_register(other)
    };
    match instruction.mnemonic() {
        Xor | Sub => same(0, 1) && instruction.op0_register().size() >= 4,
        Pxor | Xorps | Xorpd => same(0, 1) && instruction.op0_register().is_xmm(),
        Vpxor | Vxorps => same(1, 2) && instruction.op0_register().is_xmm(),
        _ => false,
    }
}

fn is_high(register: Register) -> bool {
    use Register::{AH, BH, CH, DH};
    matches!(register, AH | BH | CH | DH)
}

/// True for instructions of the old floating-point unit, whose registers are a stack.
fn is_floating(instruction: &Instruction) -> bool {
    use CpuidFeature::{FPU, FPU287, FPU387};
    let features = instruction.cpuid_features();
    features
        .iter()
        .any(|feature| matches!(feature, FPU | FPU287 | FPU387))
}

/// True for registers that are not told apart.
fn is_other(register: Register) -> bool {
    register.is_st() || register.is_mm() || register.is_k()
}

/// True if an instruction writes all of an xmm register.
fn is_whole(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Cvtdq2pd, Cvtdq2ps, Movapd, Movaps, Movd, Movdqa, Movdqu, Movq, Movsd, Movss, Movupd,
        Movups, Pshufd,
    };
    match instruction.mnemonic() {
        Movapd | Movaps | Movd | Movdqa | Movdqu | Movq | Movupd | Movups | Pshufd | Cvtdq2ps
        | Cvtdq2pd => true,
        // A load clears the rest.
        Movsd | Movss => instruction.op1_kind() == OpKind::Memory,
        _ => false,
    }
}

fn size_of(size: MemorySize) -> i64 {
    match size.size() {
        // Unknown sizes are those of saved states.
        0 => 4096,
        size => size as i64,
    }
}
