//! The locations or objects that the running execution has used, by their index in the world.

use std::panic::Location;

use raddle_report::Place;

use crate::program::Program;
use crate::runtime::identity::Identity;

/// Kind and place of creation of a controlled value.
#[derive(Clone, Copy)]
pub struct Made {
    /// The name of its type.
    pub kind: &'static str,
    /// Its place of creation.
    pub place: &'static Location<'static>,
}

/// The place of creation of a value identified by its address.
pub(super) const UNKNOWN: &Location<'static> = Location::caller();

impl Made {
    /// Returns the kind of a value identified by its address.
    pub(super) fn at_address(kind: &'static str) -> Self {
        let place = UNKNOWN;
        Made { kind, place }
    }

    fn is_at_address(&self) -> bool {
        *self.place == *UNKNOWN
    }
}

/// All values of one sort, in order of first use.
#[derive(Default)]
pub(super) struct Things {
    /// With the address, which is used only for values that live outside the execution.
    list: Vec<(Made, usize)>,
    /// Names that the program gave; the last one of each value is valid.
    labels: Vec<(usize, String)>,
}

impl Things {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.labels.clear();
    }

    /// Returns the index of a value without one in the execution with this stamp; `register`
    /// assigns it at the first use.
    #[inline]
    pub(super) fn index(
        &mut self,
        identity: &Identity,
        stamp: u64,
        made: Made,
        register: impl FnOnce() -> usize,
    ) -> usize {
        // A mark of a foreign thread was left before the execution, which has not used the value yet.
        let known = if identity.is_shared() && !identity.is_marked() {
            self.find_shared(identity)
        } else {
            None
        };
        let index = known.unwrap_or_else(|| self.add(identity, made, register));
        identity.set(stamp, index);
        index
    }

    /// Adds a value at its first use.
    #[inline]
    pub(super) fn add(
        &mut self,
        identity: &Identity,
        made: Made,
        register: impl FnOnce() -> usize,
    ) -> usize {
        self.list.push((made, identity.address()));
        register()
    }

    /// Adds a value identified by its address.
    pub(super) fn add_at(&mut self, address: usize, made: Made) {
        self.list.push((made, address));
    }

    /// Finds a value that another check has used since this execution did.
    #[cold]
    fn find_shared(&self, identity: &Identity) -> Option<usize> {
        self.list
            .iter()
            .position(|&(_, address)| address == identity.address())
    }

    /// Returns the index of the value that was made there, if there is one; of several, the one with
    /// this index.
    pub(super) fn find_made(
        &self,
        kind: &str,
        place: &'static Location<'static>,
        index: Option<usize>,
    ) -> Option<usize> {
        let is_it = |made: &Made| made.kind == kind && made.place == place;
        match index {
            Some(index) => (self.list.get(index))
                .is_some_and(|(made, _)| is_it(made))
                .then_some(index),
            None => self.list.iter().position(|(made, _)| is_it(made)),
        }
    }

    /// Returns the address of each value at its first use.
    pub(super) fn addresses(&self) -> impl Iterator<Item = usize> {
        self.list.iter().map(|&(_, address)| address)
    }

    /// Stores the name that the program gave it.
    pub(super) fn label(&mut self, index: usize, name: String) {
        self.labels.push((index, name));
    }

    /// Returns the name that the program gave it.
    pub(super) fn label_of(&self, index: usize) -> Option<String> {
        let labels = self.labels.iter().rev();
        let mut labels = labels.filter(|(labelled, _)| *labelled == index);
        labels.next().map(|(_, name)| name.clone())
    }

    /// Returns its name in the program's source.
    pub(super) fn variable_of(&self, index: usize, program: &dyn Program) -> Option<String> {
        let (made, address) = self.list.get(index)?;
        if made.is_at_address() {
            return program.variable(*address);
        }
        crate::program::variable::name(made.kind, made.place)
    }

    /// Describes its memory in a native program.
    pub(super) fn story_of(&self, index: usize, program: &dyn Program) -> Option<String> {
        let (made, address) = self.list.get(index)?;
        made.is_at_address().then(|| program.memory(*address))?
    }

    /// Returns its default name and its place of creation.
    pub(super) fn name(&self, index: usize) -> (&'static str, Option<Place>) {
        match self.list.get(index) {
            Some((made, _)) if made.is_at_address() => (made.kind, None),
            Some((made, _)) => (made.kind, Some(super::place(made.place))),
            None => ("?", None),
        }
    }
}
