//! States that the program marks, and the numbers of executions that reached them.

use std::panic::Location;

use raddle_report::{CodePlace, Reached, ReachedStates};

use super::Context;

/// A marked state, and what the executions of the check did there.
struct State {
    place: &'static Location<'static>,
    name: &'static str,
    /// True when the running execution came to its place, and when its condition was true there.
    has_come: bool,
    has_held: bool,
    came: u64,
    held: u64,
}

/// The marked states that executions of a check came to, in the order of the first time.
#[derive(Default)]
pub(super) struct States {
    list: Vec<State>,
    executions: u64,
}

impl States {
    fn pass(&mut self, place: &'static Location<'static>, name: &'static str, holds: bool) {
        let is_it = |state: &State| {
            // Generic code may have several copies of its place.
            (std::ptr::eq(state.place, place) || state.place == place) && state.name == name
        };
        let at = match self.list.iter().position(is_it) {
            Some(at) => at,
            None => {
                self.list.push(State {
                    place,
                    name,
                    has_come: false,
                    has_held: false,
                    came: 0,
                    held: 0,
                });
                self.list.len() - 1
            }
        };
        self.list[at].has_come = true;
        self.list[at].has_held |= holds;
    }

    /// Ends an execution, which counts or not.
    fn end(&mut self, counts: bool) {
        self.executions += u64::from(counts);
        for state in &mut self.list {
            state.came += u64::from(counts && state.has_come);
            state.held += u64::from(counts && state.has_held);
            (state.has_come, state.has_held) = (false, false);
        }
    }

    /// Returns the counts of all executions that count. A state of other executions only is left out.
    fn counts(&self) -> ReachedStates {
        let mut all = ReachedStates::default();
        for state in self.list.iter().filter(|state| state.came > 0) {
            let place = CodePlace {
                file: state.place.file().to_owned(),
                line: state.place.line(),
                column: state.place.column(),
            };
            let name = state.name.to_owned();
            all.add(Reached::new(name, place, state.came, state.held));
        }
        all.executions = self.executions;
        all
    }
}

impl Context {
    /// Notes that the running execution came to a marked state. After the execution has stopped, nothing is noted.
    pub fn pass_state(&self, place: &'static Location<'static>, name: &'static str, holds: bool) {
        if !self.has_stopped() {
            let _aside = super::alloc::aside();
            self.states.borrow_mut().pass(place, name, holds);
        }
    }

    /// Ends the execution for the marked states.
    #[inline]
    pub(crate) fn end_states(&self, counts: bool) {
        self.states.borrow_mut().end(counts);
    }

    /// Returns the marked states that executions have reached.
    pub(crate) fn reached(&self) -> ReachedStates {
        self.states.borrow().counts()
    }
}
