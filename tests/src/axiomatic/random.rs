//! Random litmus programs.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use fastrand::Rng;

use super::program::{
    Litmus, Location, R0, R1, Register, Statement, Value, compare_exchange, fence, fetch_add, load,
    store, swap, when,
};

/// Maximum reads, writes and updates of a program.
const MAX_ACCESSES: usize = 8;

/// The orderings that a program uses.
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

/// Returns a random program of two to four threads, main among them.
pub fn random(rng: &mut Rng) -> Litmus {
    let styles = [
        Style::Mixed,
        Style::Relaxed,
        Style::ReleaseAcquire,
        Style::SeqCst,
    ];
    let mut random = Random {
        style: *rng.choice(&styles).expect("not empty"),
        locations: *rng.choice(&[1, 2, 2, 2, 2, 3]).expect("not empty"),
        fences: rng.u32(0..4),
        left: MAX_ACCESSES,
        rng,
    };
    match random.rng.u32(0..3) {
        0 => random.anything(),
        _ => random.cycle(),
    }
}

/// Returns a random program whose threads are related by sequentially consistent accesses, with
/// weaker accesses of the same locations.
pub fn mixed(rng: &mut Rng) -> Litmus {
    let mut random = Random {
        style: Style::SeqCst,
        locations: 2,
        fences: rng.u32(0..3),
        left: MAX_ACCESSES - 2,
        rng,
    };
    let mut litmus = random.cycle();
    random.style = Style::Relaxed;
    let weaker = (0..random.rng.usize(1..=2)).map(|_| {
        let location = Location(random.rng.usize(0..2));
        random.access(location)
    });
    litmus.threads.push(weaker.collect());
    litmus
}

/// Returns a random program of few locations and many fences and updates, in which each access has any ordering.
pub fn dense(rng: &mut Rng) -> Litmus {
    let mut random = Random {
        style: Style::Mixed,
        locations: rng.usize(1..=2),
        fences: rng.u32(0..6),
        left: MAX_ACCESSES - 1,
        rng,
    };
    let mut litmus = Litmus::default();
    let threads = random.rng.usize(2..=4);
    for number in 0..threads {
        let length = [0, 0, 4, 3, 2][threads].min(random.left.saturating_sub(threads - 1 - number));
        let mut body = Vec::new();
        for _ in 0..random.rng.usize(1..=length.max(1)) {
            let location = Location(random.rng.usize(0..random.locations));
            random.left = random.left.saturating_sub(1);
            let access = match random.rng.u32(0..3) {
                0 => fetch_add(random.register(), location, 1, random.update_ordering()),
                _ => random.access(location),
            };
            body.push(access);
            if random.rng.u32(0..6) < random.fences {
                body.push(random.fence());
            }
        }
        litmus.threads.push(body);
    }
    litmus
}

struct Random<'a> {
    rng: &'a mut Rng,
    style: Style,
    locations: usize,
    /// Probability of a fence.
    fences: u32,
    /// Number of accesses the program may still have.
    left: usize,
}

impl Random<'_> {
    fn anything(&mut self) -> Litmus {
        let threads = *self.rng.choice(&[1, 2, 2, 3]).expect("not empty");
        let mut litmus = Litmus::default();
        if self.rng.u32(0..5) == 0 {
            litmus.before = self.body(1);
        }
        if threads == 1 || self.rng.u32(0..6) == 0 {
            litmus.beside = self.body(3);
        }
        let longest = [0, 4, 4, 3][threads];
        litmus.threads = (0..threads).map(|_| self.body(longest)).collect();
        if self.rng.u32(0..4) == 0 {
            litmus.after = self.body(2);
        }
        litmus
    }

    /// Returns threads in a cycle, each of which shares a location with the next, and some more
    /// accesses. Most weak behaviours are of this form.
    fn cycle(&mut self) -> Litmus {
        let threads = *self.rng.choice(&[2, 2, 3]).expect("not empty");
        let mut litmus = Litmus::default();
        for number in 0..threads {
            let mut body = vec![self.access(Location(number))];
            if self.rng.u32(0..6) < self.fences {
                body.push(self.fence());
            }
            body.push(self.access(Location((number + 1) % threads)));
            litmus.threads.push(body);
        }
        self.locations = threads;
        self.left -= 2 * threads;
        for _ in 0..self.rng.usize(0..=self.left.min(3)) {
            let number = self.rng.usize(0..threads + 3);
            let body = litmus.bodies_mut().nth(number).expect("main has three");
            let place = self.rng.usize(0..=body.len());
            body.insert(place, self.statement());
        }
        if self.rng.u32(0..4) == 0 {
            litmus
                .beside
                .extend(litmus.threads.pop().expect("not empty"));
        }
        litmus
    }

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

    /// Returns a random access, perhaps conditional.
    fn statement(&mut self) -> Statement {
        self.left -= 1;
        let location = Location(self.rng.usize(0..self.locations));
        let access = self.access(location);
        if self.rng.u32(0..8) > 0 {
            return access;
        }
        let mut then = vec![access];
        if self.rng.u32(0..8) < self.fences {
            then.insert(0, self.fence());
        }
        when(self.register(), self.rng.i32(0..2), then)
    }

    fn access(&mut self, location: Location) -> Statement {
        let register = self.register();
        match self.rng.u32(0..18) {
            0..7 => load(register, location, self.load_ordering()),
            7..13 => store(location, self.value(), self.store_ordering()),
            13..15 => fetch_add(register, location, 1, self.update_ordering()),
            15 => swap(register, location, self.value(), self.update_ordering()),
            _ => {
                let (expected, new) = (self.rng.i32(0..2), self.value());
                let (success, failure) = (self.update_ordering(), self.load_ordering());
                compare_exchange(register, location, expected, new, success, failure)
            }
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

    /// Returns one of these orderings, weakest first and strongest last, by the style.
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
