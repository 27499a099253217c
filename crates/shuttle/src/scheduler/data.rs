//! Sources of random numbers.

use std::fmt::Debug;

use crate::rand::next;

/// A source of random numbers.
pub trait DataSource: Debug {
    /// Determines the numbers.
    type Seed: Clone;

    /// Creates a source.
    fn initialize(seed: Self::Seed) -> Self;

    /// Begins the numbers of the next execution; returns the seed that determines them.
    fn reinitialize(&mut self) -> Self::Seed;

    /// Returns the next number.
    fn next_u64(&mut self) -> u64;
}

/// Random numbers, other ones in each execution.
#[derive(Clone, Debug)]
pub struct RandomDataSource {
    state: u64,
    is_new: bool,
}

impl DataSource for RandomDataSource {
    type Seed = u64;

    fn initialize(seed: u64) -> Self {
        RandomDataSource {
            state: seed,
            is_new: true,
        }
    }

    fn reinitialize(&mut self) -> u64 {
        if !std::mem::take(&mut self.is_new) {
            self.state = next(&mut self.state);
        }
        self.state
    }

    fn next_u64(&mut self) -> u64 {
        next(&mut self.state)
    }
}

impl RandomDataSource {
    /// Returns a number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }
}
