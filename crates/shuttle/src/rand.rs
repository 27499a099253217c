//! Random numbers, with the traits of the crate `rand` 0.8.
//!
//! A number is drawn by the scheduler: it is part of the schedule, and the same when that is replayed.

use raddle_check::runtime;

use crate::current::{Draws, with_state};

pub use rand::{Rng, RngCore};

/// Bits of one choice of the search. A failure lists the alternatives of its choices, so there must be few.
const BITS: u32 = 8;

/// Returns the next number of a sequence, as SplitMix64.
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The choice with this number among those that make up a random number.
pub(crate) fn part(number: u64, index: u32) -> u32 {
    ((number >> (index * BITS)) & ((1 << BITS) - 1)) as u32
}

/// Number of choices that make up a random number.
pub(crate) const PARTS: u32 = u64::BITS.div_ceil(BITS);

/// Draws a number.
///
/// # Panics
///
/// Outside a test.
#[track_caller]
fn draw() -> u64 {
    assert!(
        runtime::current().is_some(),
        "`ExecutionState` is not set: a random number is drawn outside a test of shuttle"
    );
    let fixed = with_state(|state| match &mut state.draws {
        Draws::Scheduler => None,
        Draws::Fixed(state) => Some(Ok(next(state))),
        Draws::Refused => Some(Err(())),
    });
    match fixed {
        Some(Ok(number)) => number,
        Some(Err(())) => {
            panic!("requested random data from DFS scheduler with allow_random_data = false")
        }
        None => (0..PARTS).fold(0, |number, index| {
            number | u64::from(raddle::choose(0..1_u32 << BITS)) << (index * BITS)
        }),
    }
}

/// Returns a generator whose numbers the scheduler draws.
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng { _private: () }
}

/// Generators.
pub mod rngs {
    use rand::{CryptoRng, Error, RngCore};

    /// The generator of [`thread_rng`](super::thread_rng).
    #[derive(Clone, Debug, Default)]
    pub struct ThreadRng {
        pub(super) _private: (),
    }

    impl RngCore for ThreadRng {
        #[track_caller]
        fn next_u32(&mut self) -> u32 {
            self.next_u64() as u32
        }

        #[track_caller]
        fn next_u64(&mut self) -> u64 {
            super::draw()
        }

        #[track_caller]
        fn fill_bytes(&mut self, dest: &mut [u8]) {
            for bytes in dest.chunks_mut(8) {
                let number = self.next_u64().to_le_bytes();
                bytes.copy_from_slice(&number[..bytes.len()]);
            }
        }

        #[track_caller]
        fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
            self.fill_bytes(dest);
            Ok(())
        }
    }

    impl CryptoRng for ThreadRng {}
}
