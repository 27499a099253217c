//! States that a program marks, and the numbers of executions that reached them.

use serde::Serialize;

use crate::data::place::CodePlace;

/// A state that the program marks with `raddle::reachable!` or `raddle::sometimes!`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reached {
    /// Its name, or the text of its condition.
    pub name: String,
    /// The place of the macro.
    pub place: CodePlace,
    /// Number of executions that came to the place.
    pub came: u64,
    /// Number of executions in which the condition was true there at least once; that of [`came`](Self::came) for a
    /// state without a condition.
    pub held: u64,
}

impl Reached {
    /// Creates the counts of a state.
    pub fn new(name: String, place: CodePlace, came: u64, held: u64) -> Self {
        Reached {
            name,
            place,
            came,
            held,
        }
    }
}

/// The marked states of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReachedStates {
    /// Number of executions that were observed.
    pub executions: u64,
    /// States whose place an execution came to, by place.
    pub states: Vec<Reached>,
}

impl ReachedStates {
    /// Adds counts of a state in executions that are observed.
    pub fn add(&mut self, counts: Reached) {
        let key = |state: &Reached| (state.place.clone(), state.name.clone());
        let new = key(&counts);
        match self.states.binary_search_by(|state| key(state).cmp(&new)) {
            Ok(at) => {
                self.states[at].came += counts.came;
                self.states[at].held += counts.held;
            }
            Err(at) => self.states.insert(at, counts),
        }
    }

    /// Adds the states of other executions.
    pub fn merge(&mut self, other: ReachedStates) {
        self.executions += other.executions;
        other.states.into_iter().for_each(|state| self.add(state));
    }

    /// Returns the states whose condition was true in no execution.
    pub fn missed(&self) -> impl Iterator<Item = &Reached> {
        self.states.iter().filter(|state| state.held == 0)
    }

    /// True when a state with this name was reached.
    pub fn has(&self, name: &str) -> bool {
        let mut states = self.states.iter();
        states.any(|state| state.name == name && state.held > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(executions: u64, counts: &[(&str, u32, u64, u64)]) -> ReachedStates {
        let mut all = ReachedStates::default();
        for &(name, line, came, held) in counts {
            let place = CodePlace {
                file: "src/lib.rs".to_owned(),
                line,
                column: 1,
            };
            all.add(Reached::new(name.to_owned(), place, came, held));
        }
        ReachedStates { executions, ..all }
    }

    #[test]
    fn counts_of_one_state_are_added() {
        let mut first = states(3, &[("full", 20, 2, 0), ("empty", 9, 1, 1)]);
        first.merge(states(4, &[("full", 20, 4, 1), ("full", 30, 1, 0)]));
        let expected = [("empty", 9, 1, 1), ("full", 20, 6, 1), ("full", 30, 1, 0)];
        assert_eq!(first, states(7, &expected));
        let missed: Vec<_> = first.missed().map(|state| state.place.line).collect();
        assert_eq!(missed, [30]);
        assert!(first.has("full") && !first.has("half"));
    }
}
