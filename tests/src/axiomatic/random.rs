//! Random litmus programs.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use fastrand::Rng;

use super::program::{
    Litmus, Location, R0, R1, Register, Statement, Value, compare_exchange, fence, fetch_add, load,
    store, swap, when,
};

/// How many reads, writes and updates a program may have.
const MAX_ACCESSES: usize = 8;

/// Which orderings a program uses.
#[derive(Clone, Copy)]
enum Style {
    /// All of them.
    Mixed,
    /// Hardly any but relaxed ones, so that fences matter.
    Relaxed,
    /// No sequentially consistent ones.
    ReleaseAcquire,
    /// Mostly sequentially consistent ones.
    SeqCst,
}

/// A random program of two to four threads, main among them.
pub fn random(rng: &mut Rng) -> Litmus {
    let style = *rng
        .choice(&[
            Style::Mixed,
            Style::Mixed,
            Style::Relaxed,
            Style::ReleaseAcquire,
            Style::SeqCst,
        ])
        .expect("not empty");
    let mut random = Random {
        locations: rng.usize(1..=3),
        fences: rng.u32(0..3),
        left: MAX_ACCESSES,
        style,
        rng,
    };
    let threads = *random.rng.choice(&[1, 2, 2, 2, 3]).expect("not empty");
    let mut litmus = Litmus::default();
    if random.rng.u32(0..5) == 0 {
        litmus.before = random.body(1);
    }
    if threads == 1 || random.rng.u32(0..6) == 0 {
        litmus.beside = random.body(3);
    }
    let longest = [0, 4, 4, 3][threads];
    litmus.threads = (0..threads).map(|_| random.body(longest)).collect();
    if random.rng.u32(0..4) == 0 {
        litmus.after = random.body(2);
    }
    litmus
}

struct Random<'a> {
    rng: &'a mut Rng,
    style: Style,
    locations: usize,
    /// How likely a fence is.
    fences: u32,
    /// How many accesses the program may still have.
    left: usize,
}

impl Random<'_> {
    fn body(&mut self, longest: usize) -> Vec<Statement> {
        let length = self.rng.usize(1..=longest).min(self.left);
        let mut body = Vec::new();
        while self.left > 0 && body.len() < length {
            if self.rng.u32(0..8) < self.fences {
                body.push(self.fence());
            }
            body.push(self.statement());
        }
        body
    }

    fn statement(&mut self) -> Statement {
        self.left -= 1;
        let location = Location(self.rng.usize(0..self.locations));
        let register = self.register();
        match self.rng.u32(0..20) {
            0..7 => load(register, location, self.load_ordering()),
            7..13 => store(location, self.value(), self.store_ordering()),
            13..15 => fetch_add(register, location, 1, self.update_ordering()),
            15 => swap(register, location, self.value(), self.update_ordering()),
            16..18 => {
                let (expected, new) = (self.rng.i32(0..2), self.value());
                let (success, failure) = (self.update_ordering(), self.load_ordering());
                compare_exchange(register, location, expected, new, success, failure)
            }
            _ => {
                let value = self.rng.i32(0..2);
                let mut then = vec![self.statement_inside()];
                if self.rng.u32(0..8) < self.fences {
                    then.insert(0, self.fence());
                }
                when(register, value, then)
            }
        }
    }

    /// Something for the inside of a branch; mostly a store, so that the branch matters to others.
    fn statement_inside(&mut self) -> Statement {
        let location = Location(self.rng.usize(0..self.locations));
        match self.rng.u32(0..3) {
            0 => load(self.register(), location, self.load_ordering()),
            _ => store(location, self.value(), self.store_ordering()),
        }
    }

    fn fence(&mut self) -> Statement {
        let orderings: &[Ordering] = match self.style {
            Style::ReleaseAcquire => &[Acquire, Release, AcqRel],
            _ => &[Acquire, Release, AcqRel, SeqCst, SeqCst, SeqCst],
        };
        fence(self.choice(orderings))
    }

    fn register(&mut self) -> Register {
        if self.rng.bool() { R0 } else { R1 }
    }

    fn value(&mut self) -> Value {
        let constant = self.rng.i32(1..3);
        match self.rng.u32(0..4) {
            0 => self.register() + constant,
            _ => constant.into(),
        }
    }

    fn load_ordering(&mut self) -> Ordering {
        self.ordering(&[Relaxed, Acquire, SeqCst])
    }

    fn store_ordering(&mut self) -> Ordering {
        self.ordering(&[Relaxed, Release, SeqCst])
    }

    fn update_ordering(&mut self) -> Ordering {
        self.ordering(&[Relaxed, Acquire, Release, AcqRel, SeqCst])
    }

    /// One of these, weakest first and strongest last, as the style has it.
    fn ordering(&mut self, legal: &[Ordering]) -> Ordering {
        let common = match self.style {
            Style::Mixed => legal,
            Style::Relaxed => &legal[..1],
            Style::ReleaseAcquire => &legal[..legal.len() - 1],
            Style::SeqCst => &legal[legal.len() - 1..],
        };
        let rare = !matches!(self.style, Style::ReleaseAcquire) && self.rng.u32(0..8) == 0;
        self.choice(if rare { legal } else { common })
    }

    fn choice(&mut self, orderings: &[Ordering]) -> Ordering {
        *self.rng.choice(orderings).expect("not empty")
    }
}
