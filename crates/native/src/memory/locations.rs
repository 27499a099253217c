//! Atomic variables of the program: the engine's locations, by their addresses.

use std::ops::Range;

use raddle_engine::{LocationId, World};

use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;

const KIND: &str = "atomic";

/// All locations of the execution.
#[derive(Default)]
pub(crate) struct Locations {
    table: Table<LocationId>,
    /// Range of addresses of each location.
    extents: Vec<Range<usize>>,
}

impl Part for Locations {
    fn renew(&mut self) {
        let Locations { table, extents } = self;
        table.clear();
        extents.clear();
    }
}

pub(crate) static LOCATIONS: PartCell<Locations> = PartCell::new();

/// True if the location overlaps these bytes.
pub(crate) fn covers(location: LocationId, bytes: Range<usize>) -> bool {
    let locations = LOCATIONS.get();
    let extent = locations.extents.get(location.index());
    extent.is_some_and(|extent| extent.start < bytes.end && bytes.start < extent.end)
}

/// Removes the locations at these addresses, which new variables will use.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    LOCATIONS.get().table.forget(range);
}

/// A value of some width in memory.
pub(crate) trait Atom: Copy {
    const BITS: u8;
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

macro_rules! atoms {
    ($($type:ident)*) => {
        $(
            impl Atom for $type {
                const BITS: u8 = $type::BITS as u8;

                fn to_word(self) -> u64 {
                    self.into()
                }

                fn from_word(word: u64) -> Self {
                    word as $type
                }
            }
        )*
    };
}

atoms! { u8 u16 u32 u64 }

/// Returns the location at an address, if its last value is still in memory.
pub(crate) fn known(address: usize, memory: u64) -> Option<LocationId> {
    let known = LOCATIONS.get().table.get(address).copied();
    known.filter(|&location| running().last_value(location) == memory)
}

/// Returns the location of the variable that was last at an address.
pub(crate) fn last_at(address: usize) -> Option<LocationId> {
    LOCATIONS.get().table.get(address).copied()
}

/// Adds a location for a new variable.
pub(crate) fn add(world: &mut World, extent: Range<usize>, memory: u64) -> LocationId {
    let kind = shadow_stack::atomic().unwrap_or(KIND);
    let new = running().add_location(world, kind, extent.start, memory);
    let mut locations = LOCATIONS.get();
    locations.table.insert(extent.start, new);
    // Some locations have no variable in memory.
    locations.extents.resize(new.index(), 0..0);
    locations.extents.push(extent);
    new
}

#[cfg(test)]
mod tests {
    use super::Atom;
    use crate::random_inputs::Inputs;

    fn check<T: Atom + PartialEq + std::fmt::Debug>(values: impl Iterator<Item = T>) {
        for value in values {
            assert_eq!(T::from_word(value.to_word()), value);
            assert_eq!(usize::from(T::BITS), 8 * size_of::<T>());
        }
    }

    #[test]
    fn a_value_is_its_word() {
        let mut inputs = Inputs::new(2);
        let words: Vec<u64> = (0..1_000).map(|_| inputs.next()).collect();
        check((0..=u8::MAX).chain([0]));
        check(words.iter().map(|&word| word as u16));
        check(words.iter().map(|&word| word as u32));
        check(words.iter().copied());
    }
}
