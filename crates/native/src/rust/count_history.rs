//! Changes of one reference count, and the orders in which they could have happened.
//!
//! A thread that owns a reference may take another one at any time. A thread that takes one by a raw pointer relies on
//! a reference of others, which they may drop first. The changes that could come before an increment are closed under
//! happens-before: the smallest count at the increment is that after the best such set. Decrements lower the count by
//! one, but some need increments that happen before them. So the largest decrease is the number of decrements without
//! those that a maximum matching assigns to increments that they need (selection of projects with unit profits).

use super::arc_counts::Change;

/// Maximum number of changes that are kept. The older half is taken for done then.
const LONGEST: usize = 128;

/// The changes of a count in an execution.
#[derive(Default)]
pub(super) struct History {
    /// The count before the first change.
    start: i64,
    steps: Vec<Step>,
    /// Clocks of the steps.
    clocks: Vec<Vec<u32>>,
}

#[derive(Clone, Copy)]
struct Step {
    thread: usize,
    by: i64,
    /// True for an increment that does not depend on the count.
    is_bare: bool,
}

impl History {
    pub(super) fn clear(&mut self) {
        self.start = 0;
        self.steps.clear();
    }

    /// Adds a change; true if an increment could have come after the count was zero. `is_bare` is false for a change
    /// whose code looks at the count.
    pub(super) fn add(
        &mut self,
        thread: usize,
        clock: &[u32],
        change: Change,
        is_bare: bool,
    ) -> bool {
        let now: i64 = self.steps.iter().map(|step| step.by).sum();
        if self.steps.is_empty() || self.start + now != change.before as i64 {
            // A new value, or the memory is used again.
            self.start = change.before as i64;
            self.steps.clear();
        }
        if self.steps.len() == LONGEST {
            let half = LONGEST / 2;
            self.start += self.steps.drain(..half).map(|step| step.by).sum::<i64>();
            self.clocks.rotate_left(half);
        }
        let last = self.steps.len();
        if self.clocks.len() == last {
            self.clocks.push(Vec::new());
        }
        self.clocks[last].clear();
        self.clocks[last].extend_from_slice(clock);
        let by = change.by;
        let is_bare = is_bare && by > 0;
        self.steps.push(Step {
            thread,
            by,
            is_bare,
        });
        let could_be_late = match by > 0 {
            true => is_bare && self.could_be_late(last),
            false => (0..last).any(|number| {
                let is_concerned = self.steps[number].is_bare && !self.is_before(number, last);
                is_concerned && self.could_be_late(number)
            }),
        };
        if self.start + now + by == 0 {
            self.clear();
        }
        could_be_late
    }

    /// True if one step happens before a later one.
    fn is_before(&self, first: usize, second: usize) -> bool {
        let thread = self.steps[first].thread;
        let count = |step: usize| self.clocks[step].get(thread).copied().unwrap_or(0);
        thread == self.steps[second].thread || count(first) <= count(second)
    }

    /// True if the count may be zero before this increment.
    fn could_be_late(&self, increment: usize) -> bool {
        let mut least = self.start;
        let (mut needed, mut decrements) = (Vec::new(), Vec::new());
        for (number, step) in self.steps.iter().enumerate() {
            let is_later = number >= increment && self.is_before(increment, number);
            if number < increment && self.is_before(number, increment) {
                least += step.by;
            } else if !is_later && step.by > 0 {
                needed.push(number);
            } else if !is_later {
                decrements.push(number);
            }
        }
        if least > decrements.len() as i64 {
            return false;
        }
        let mut assigned = vec![None; needed.len()];
        let mut free = 0;
        for &decrement in &decrements {
            let mut seen = vec![false; needed.len()];
            free += i64::from(!self.assign(decrement, &needed, &mut assigned, &mut seen));
        }
        least <= free
    }

    /// Assigns an increment that happens before the decrement to it; false if there is none.
    fn assign(
        &self,
        decrement: usize,
        needed: &[usize],
        assigned: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        for (index, &increment) in needed.iter().enumerate() {
            if seen[index] || increment > decrement || !self.is_before(increment, decrement) {
                continue;
            }
            seen[index] = true;
            let is_free = match assigned[index] {
                None => true,
                Some(other) => self.assign(other, needed, assigned, seen),
            };
            if is_free {
                assigned[index] = Some(decrement);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    /// A program of changes: what the clock of each is follows from messages between the threads.
    struct Random {
        history: History,
        clocks: [[u32; 3]; 3],
        count: i64,
        could_be_late: bool,
    }

    impl Random {
        fn step(&mut self, thread: usize, by: i64) {
            self.clocks[thread][thread] += 1;
            let before = self.count as u64;
            self.count += by;
            let change = Change { before, by };
            let clock = self.clocks[thread];
            self.could_be_late |= self.history.add(thread, &clock, change, true);
        }

        fn message(&mut self, from: usize, to: usize) {
            for other in 0..3 {
                let sent = self.clocks[from][other];
                self.clocks[to][other] = self.clocks[to][other].max(sent);
            }
        }
    }

    /// True if a set of changes that is closed under happens-before, without an increment and what comes after it,
    /// leaves no reference: by all sets.
    fn by_all_sets(history: &History) -> bool {
        let count = history.steps.len();
        let is_closed = |set: u32| {
            (0..count).all(|second| {
                set >> second & 1 == 0
                    || (0..second)
                        .all(|first| set >> first & 1 == 1 || !history.is_before(first, second))
            })
        };
        let sum = |set: u32| {
            let steps = history.steps.iter().enumerate();
            let chosen = steps.filter(|(number, _)| set >> number & 1 == 1);
            history.start + chosen.map(|(_, step)| step.by).sum::<i64>()
        };
        let mut sets = (0..1_u32 << count).filter(|&set| is_closed(set) && sum(set) <= 0);
        sets.any(|set| {
            let next = |number: usize| {
                let is_ready = set >> number & 1 == 0 && is_closed(set | 1 << number);
                is_ready && history.steps[number].by > 0
            };
            (0..count).any(next)
        })
    }

    #[test]
    fn an_increment_may_be_late_in_some_order_of_the_changes() {
        let mut inputs = Inputs::new(5);
        let mut late = 0;
        for _ in 0..2_000 {
            let mut random = Random {
                history: History::default(),
                clocks: [[0; 3]; 3],
                count: 1 + inputs.below(3) as i64,
                could_be_late: false,
            };
            for _ in 0..inputs.below(10) {
                let (thread, other) = (inputs.below(3) as usize, inputs.below(3) as usize);
                match inputs.below(3) {
                    0 => random.message(thread, other),
                    1 => random.step(thread, 1),
                    // What is observed is in order.
                    _ if random.count > 1 => random.step(thread, -1),
                    _ => {}
                }
            }
            assert_eq!(random.could_be_late, by_all_sets(&random.history));
            late += u32::from(random.could_be_late);
        }
        assert!((200..1_800).contains(&late), "{late}");
    }

    #[test]
    fn a_long_history_is_cut() {
        let mut history = History::default();
        for round in 0..500 {
            let thread = round % 2;
            let mut clock = [0; 2];
            clock[thread] = round as u32 + 1;
            for (by, before) in [(1, 2), (-1, 3)] {
                let change = Change { before, by };
                assert!(!history.add(thread, &clock, change, true), "{round}");
            }
            assert!(history.steps.len() <= LONGEST);
        }
    }
}
