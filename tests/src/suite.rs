//! The driver of the suites on random programs.
//!
//! A suite draws programs and compares raddle's results with an oracle's, until the wanted number
//! of programs was compared. Each program is drawn from a seed of its own, and a failure prints the
//! seed with which the same program is drawn first.
//!
//! `RADDLE_TEST_PROGRAMS` sets the number of programs (`5000`), or multiplies each suite's usual number
//! (`3x`). `RADDLE_TEST_SEED` sets the first program's seed. CONTRIBUTING.md has the table of suites.

use std::env;
use std::fmt::Debug;

use fastrand::Rng;

const PROGRAMS: &str = "RADDLE_TEST_PROGRAMS";
const SEED: &str = "RADDLE_TEST_SEED";

/// The interval between two lines of progress, in programs; shown with `--nocapture`.
const PROGRESS: u64 = 5_000;

/// A suite on random programs.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    programs: u64,
    seed: u64,
}

/// The answer of the oracle for a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// raddle and the oracle agree; a disagreement is a panic.
    Agreed,
    /// The program is too large for the oracle, or not of the wanted kind: another one is drawn.
    Skipped,
}

impl From<Option<()>> for Verdict {
    fn from(agreed: Option<()>) -> Self {
        match agreed {
            Some(()) => Verdict::Agreed,
            None => Verdict::Skipped,
        }
    }
}

impl Suite {
    /// Creates a suite of this number of programs, unless the environment sets another number or
    /// another seed.
    ///
    /// # Panics
    ///
    /// If a variable of the environment is no number.
    pub fn new(programs: u64, seed: u64) -> Self {
        let number = |name| env::var(name).ok();
        Suite {
            programs: number(PROGRAMS).map_or(programs, |text| wanted(&text, programs)),
            seed: number(SEED).map_or(seed, |text| parse(SEED, &text)),
        }
    }

    /// True when the environment sets nothing: what some of these programs show is known then.
    pub fn is_usual(self) -> bool {
        [PROGRAMS, SEED]
            .iter()
            .all(|name| env::var_os(name).is_none())
    }

    /// Compares programs until the wanted number has agreed; returns that number.
    ///
    /// `compare` may draw more from the generator that has drawn the program.
    pub fn run<P: Debug>(
        self,
        mut draw: impl FnMut(&mut Rng) -> P,
        mut compare: impl FnMut(&P, &mut Rng) -> Verdict,
    ) -> u64 {
        let (mut agreed, mut skipped, mut seed) = (0, 0_u64, self.seed);
        while agreed < self.programs {
            let mut rng = Rng::with_seed(seed);
            let next = rng.u64(..);
            let program = draw(&mut rng);
            let _shown = ShownOnPanic {
                seed,
                program: &program,
            };
            match compare(&program, &mut rng) {
                Verdict::Agreed => agreed += 1,
                Verdict::Skipped => skipped += 1,
            }
            if agreed % PROGRESS == 0 && agreed > 0 {
                println!("{agreed} of {} programs", self.programs);
            }
            seed = next;
        }
        println!(
            "{agreed} programs from seed {}, {skipped} skipped",
            self.seed
        );
        agreed
    }
}

/// Returns the number of programs that a text requests.
fn wanted(text: &str, usual: u64) -> u64 {
    match text.strip_suffix('x') {
        Some(times) => usual * parse(PROGRAMS, times),
        None => parse(PROGRAMS, text),
    }
}

fn parse(name: &str, text: &str) -> u64 {
    let number = text.parse();
    number.unwrap_or_else(|_| panic!("{name}: `{text}` is no number"))
}

/// Prints a program and its seed, if it is dropped by a panic.
struct ShownOnPanic<'a, P: Debug> {
    seed: u64,
    program: &'a P,
}

impl<P: Debug> Drop for ShownOnPanic<'_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!(
                "the program was {:?}\nagain: {PROGRAMS}=1 {SEED}={}",
                self.program, self.seed
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn drawn(programs: u64, seed: u64) -> Vec<u64> {
        let all = RefCell::new(Vec::new());
        let suite = Suite { programs, seed };
        suite.run(
            |rng| rng.u64(..),
            |program, _| {
                all.borrow_mut().push(*program);
                Verdict::Agreed
            },
        );
        all.into_inner()
    }

    #[test]
    fn a_program_is_drawn_first_from_its_own_seed() {
        let second = Rng::with_seed(7).u64(..);
        assert_eq!(drawn(3, 7)[1..], drawn(2, second));
        assert_ne!(drawn(1, 7), drawn(1, 8));
    }

    #[test]
    fn skipped_programs_do_not_count() {
        let mut number = 0;
        let suite = Suite {
            programs: 5,
            seed: 1,
        };
        let agreed = suite.run(
            |_| (),
            |(), _| {
                number += 1;
                (number % 2 == 0).then_some(()).into()
            },
        );
        assert_eq!((agreed, number), (5, 10));
    }

    #[test]
    fn the_number_of_programs_is_a_number_or_a_multiple() {
        assert_eq!(wanted("20", 3), 20);
        assert_eq!(wanted("20x", 3), 60);
    }
}
