//! Symbolic values, by which addresses are compared.
//!
//! A value is a constant plus a sum of multiples of *atoms*. Equal values have equal numbers. A callback of
//! ThreadSanitizer and the access that follows it often compute their address in two ways, which have one value here.

use std::collections::{BTreeMap, HashMap};

/// A symbolic value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(u32);

/// A part of a value about which only its identity is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Atom {
    /// The stack pointer when the function began.
    StackPointer,
    /// A general register when the function began.
    Entry(u8),
    /// A result of the instruction at an address.
    Made(u64, u8),
    /// Where blocks meet with different values: the block, and the register or slot.
    Joined(u64, i64),
    /// A part of the frame after the instruction at an address has changed it.
    Changed(u64, i64),
    /// The lower bits of a value, or these with their sign.
    Lower { of: Value, bits: u8, signed: bool },
    /// The result of an operation, by its number, of two values.
    Result(u32, Value, Value),
    /// An entry of a table of constants: of this many bytes, read by the instruction at an address.
    TableEntry { table: u64, size: u8, at: u64 },
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Linear {
    constant: i64,
    terms: Vec<(u32, i64)>,
}

/// All values of a function.
#[derive(Default)]
pub(crate) struct Values {
    atoms: Vec<Atom>,
    atom_numbers: HashMap<Atom, u32>,
    linears: Vec<Linear>,
    linear_numbers: HashMap<Linear, u32>,
}

impl Values {
    fn intern(&mut self, linear: Linear) -> Value {
        if let Some(&known) = self.linear_numbers.get(&linear) {
            return Value(known);
        }
        let number = self.linears.len() as u32;
        self.linears.push(linear.clone());
        self.linear_numbers.insert(linear, number);
        Value(number)
    }

    pub(crate) fn atom(&mut self, atom: Atom) -> Value {
        let next = self.atoms.len() as u32;
        let number = *self.atom_numbers.entry(atom).or_insert(next);
        if number == next {
            self.atoms.push(atom);
        }
        self.intern(Linear {
            constant: 0,
            terms: vec![(number, 1)],
        })
    }

    pub(crate) fn constant(&mut self, constant: i64) -> Value {
        let terms = Vec::new();
        self.intern(Linear { constant, terms })
    }

    /// Returns `one + factor * other`.
    pub(crate) fn add(&mut self, one: Value, other: Value, factor: i64) -> Value {
        let [one, other] = [one, other].map(|Value(number)| &self.linears[number as usize]);
        let mut terms: BTreeMap<u32, i64> = one.terms.iter().copied().collect();
        for &(atom, by) in &other.terms {
            let sum = terms.entry(atom).or_default();
            *sum = sum.wrapping_add(by.wrapping_mul(factor));
        }
        let constant = one
            .constant
            .wrapping_add(other.constant.wrapping_mul(factor));
        let terms = terms.into_iter().filter(|&(_, by)| by != 0).collect();
        self.intern(Linear { constant, terms })
    }

    pub(crate) fn offset(&mut self, value: Value, by: i64) -> Value {
        let mut linear = self.linears[value.0 as usize].clone();
        linear.constant = linear.constant.wrapping_add(by);
        self.intern(linear)
    }

    pub(crate) fn as_constant(&self, value: Value) -> Option<i64> {
        let linear = &self.linears[value.0 as usize];
        linear.terms.is_empty().then_some(linear.constant)
    }

    /// Returns the atom and the offset of a value that is one atom and a constant.
    pub(crate) fn as_offset(&self, value: Value) -> Option<(Atom, i64)> {
        let linear = &self.linears[value.0 as usize];
        match linear.terms[..] {
            [(atom, 1)] => Some((self.atoms[atom as usize], linear.constant)),
            _ => None,
        }
    }

    /// Returns the offset of an address in the frame from the stack pointer at the beginning.
    pub(crate) fn in_frame(&self, value: Value) -> Option<i64> {
        match self.as_offset(value) {
            Some((Atom::StackPointer, offset)) => Some(offset),
            _ => None,
        }
    }

    /// Returns the constant part of the offset of an address in the frame, if the address contains the stack pointer.
    pub(crate) fn about_in_frame(&self, value: Value) -> Option<i64> {
        let linear = &self.linears[value.0 as usize];
        let is_stack_pointer =
            |&(atom, by): &(u32, i64)| by == 1 && self.atoms[atom as usize] == Atom::StackPointer;
        let is_found = linear.terms.iter().any(is_stack_pointer);
        is_found.then_some(linear.constant)
    }

    /// Returns the integer argument and the offset of an address that is an argument and a constant.
    pub(crate) fn behind_argument(&self, value: Value) -> Option<(u8, i64)> {
        let (Atom::Entry(register), offset) = self.as_offset(value)? else {
            return None;
        };
        let argument = ARGUMENTS.iter().position(|&known| known == register)?;
        Some((argument as u8, offset))
    }

    /// Returns the constant part, and true if there is nothing else.
    pub(crate) fn constant_part(&self, value: Value) -> (i64, bool) {
        let linear = &self.linears[value.0 as usize];
        (linear.constant, linear.terms.is_empty())
    }

    /// Returns `other - one` if that is a constant.
    pub(crate) fn distance(&mut self, one: Value, other: Value) -> Option<i64> {
        let difference = self.add(other, one, -1);
        self.as_constant(difference)
    }

    /// Returns the lower bits of a value, as an unsigned or signed number.
    pub(crate) fn lower(&mut self, value: Value, bits: u8, signed: bool) -> Value {
        if let Some(constant) = self.as_constant(value) {
            let above = 64 - u32::from(bits);
            let shifted = constant << above;
            return self.constant(match signed {
                true => shifted >> above,
                false => ((shifted as u64) >> above) as i64,
            });
        }
        // The lower bits do not depend on how they were extended before.
        let of = match self.as_offset(value) {
            Some((Atom::Lower { of, bits: same, .. }, 0)) if same == bits => of,
            _ => value,
        };
        self.atom(Atom::Lower { of, bits, signed })
    }

    /// Returns the tables whose entries the value is a sum of, and what is added to them.
    pub(crate) fn table(&self, value: Value) -> Option<(u64, u8, i64)> {
        let linear = &self.linears[value.0 as usize];
        let [(atom, 1)] = linear.terms[..] else {
            return None;
        };
        match self.atoms[atom as usize] {
            Atom::TableEntry { table, size, .. } => Some((table, size, linear.constant)),
            Atom::Lower { of, .. } => {
                let (table, size, added) = self.table(of)?;
                (added == 0).then_some((table, size, linear.constant))
            }
            _ => None,
        }
    }
}

/// Numbers of the registers of integer arguments: rdi, rsi, rdx, rcx, r8, r9, and r10 for nested functions.
pub(crate) const ARGUMENTS: [u8; 7] = [7, 6, 2, 1, 8, 9, 10];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_computed_in_two_ways_is_one_value() {
        let mut values = Values::default();
        let (base, index) = (values.atom(Atom::Entry(0)), values.atom(Atom::Entry(1)));
        let (once, eight) = (values.add(base, index, 4), values.constant(8));
        let once = values.add(once, eight, 1);
        let base_first = values.offset(base, 8);
        let again = values.add(base_first, index, 2);
        assert_eq!(values.add(again, index, 2), once);
        assert_eq!(values.distance(once, again), None);
        let back = values.add(once, index, -4);
        assert_eq!(values.distance(base, back), Some(8));
    }

    #[test]
    fn lower_bits_do_not_depend_on_an_extension() {
        let mut values = Values::default();
        let value = values.atom(Atom::Entry(0));
        let unsigned = values.lower(value, 32, false);
        let signed = values.lower(value, 32, true);
        assert_ne!(unsigned, signed);
        assert_eq!(values.lower(unsigned, 32, true), signed);
        let negative = values.constant(-1);
        let lower = values.lower(negative, 32, false);
        assert_eq!(values.as_constant(lower), Some(0xffff_ffff));
    }
}
