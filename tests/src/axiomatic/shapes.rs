//! The well-known litmus tests, with orderings and fences as parameters.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};

use super::program::{Litmus, Location, R0, R1, Statement, X, Y, Z, fence, load, store};

/// A litmus test in which threads with one or two accesses each form a cycle.
pub struct Shape {
    /// Its name.
    pub name: &'static str,
    /// The accesses of the threads.
    pub threads: &'static [&'static [Access]],
}

/// An access of a thread.
#[derive(Clone, Copy)]
pub enum Access {
    /// Reads.
    Read(Location),
    /// Writes.
    Write(Location, i32),
}

use Access::{Read, Write};

/// Each thread writes one location, then reads the other.
pub const STORE_BUFFERING: Shape = Shape {
    name: "SB",
    threads: &[&[Write(X, 1), Read(Y)], &[Write(Y, 1), Read(X)]],
};
/// One thread writes twice, the other reads in the opposite order.
pub const MESSAGE_PASSING: Shape = Shape {
    name: "MP",
    threads: &[&[Write(X, 1), Write(Y, 1)], &[Read(Y), Read(X)]],
};
/// Each thread reads the location that the other writes afterwards.
pub const LOAD_BUFFERING: Shape = Shape {
    name: "LB",
    threads: &[&[Read(X), Write(Y, 1)], &[Read(Y), Write(X, 1)]],
};
/// Both threads write twice, in opposite orders.
pub const TWO_PLUS_TWO: Shape = Shape {
    name: "2+2W",
    threads: &[&[Write(X, 1), Write(Y, 2)], &[Write(Y, 1), Write(X, 2)]],
};
/// One thread writes twice, the other reads the second and writes the first.
pub const S: Shape = Shape {
    name: "S",
    threads: &[&[Write(X, 2), Write(Y, 1)], &[Read(Y), Write(X, 1)]],
};
/// One thread writes twice, the other writes the second and reads the first.
pub const R: Shape = Shape {
    name: "R",
    threads: &[&[Write(X, 1), Write(Y, 1)], &[Write(Y, 2), Read(X)]],
};
/// One thread writes x; a second reads x and then writes y; a third reads y and then x.
pub const WRC: Shape = Shape {
    name: "WRC",
    threads: &[&[Write(X, 1)], &[Read(X), Write(Y, 1)], &[Read(Y), Read(X)]],
};
/// One thread writes x; a second reads x and then y; a third writes y and then reads x.
pub const RWC: Shape = Shape {
    name: "RWC",
    threads: &[&[Write(X, 1)], &[Read(X), Read(Y)], &[Write(Y, 1), Read(X)]],
};
/// Message passing by way of a third thread.
pub const ISA2: Shape = Shape {
    name: "ISA2",
    threads: &[
        &[Write(X, 1), Write(Y, 1)],
        &[Read(Y), Write(Z, 1)],
        &[Read(Z), Read(X)],
    ],
};
/// Like `RWC`, with the first write propagated by another thread.
pub const W_RWC: Shape = Shape {
    name: "W+RWC",
    threads: &[
        &[Write(X, 1), Write(Y, 1)],
        &[Read(Y), Read(Z)],
        &[Write(Z, 1), Read(X)],
    ],
};
/// Cycles of three threads with at least one conflict of two writes.
pub const Z6: [Shape; 6] = [
    Shape {
        name: "Z6.0",
        threads: &[
            &[Write(X, 1), Write(Y, 1)],
            &[Read(Y), Write(Z, 1)],
            &[Write(Z, 2), Read(X)],
        ],
    },
    Shape {
        name: "Z6.1",
        threads: &[
            &[Write(X, 2), Write(Y, 1)],
            &[Write(Y, 2), Write(Z, 1)],
            &[Read(Z), Write(X, 1)],
        ],
    },
    Shape {
        name: "Z6.2",
        threads: &[
            &[Write(X, 2), Write(Y, 1)],
            &[Read(Y), Write(Z, 1)],
            &[Read(Z), Write(X, 1)],
        ],
    },
    Shape {
        name: "Z6.3",
        threads: &[
            &[Write(X, 1), Write(Y, 1)],
            &[Write(Y, 2), Write(Z, 1)],
            &[Read(Z), Read(X)],
        ],
    },
    Shape {
        name: "Z6.4",
        threads: &[
            &[Write(X, 1), Write(Y, 1)],
            &[Write(Y, 2), Read(Z)],
            &[Write(Z, 1), Read(X)],
        ],
    },
    Shape {
        name: "Z6.5",
        threads: &[
            &[Write(X, 1), Write(Y, 1)],
            &[Write(Y, 2), Write(Z, 1)],
            &[Write(Z, 2), Read(X)],
        ],
    },
];

/// Two writes, and two threads that read them in different orders.
pub const IRIW: Shape = Shape {
    name: "IRIW",
    threads: &[
        &[Write(X, 1)],
        &[Write(Y, 1)],
        &[Read(X), Read(Y)],
        &[Read(Y), Read(X)],
    ],
};

/// A fence of each kind, or none.
pub const FENCES: [Option<Ordering>; 5] = [
    None,
    Some(Acquire),
    Some(Release),
    Some(AcqRel),
    Some(SeqCst),
];

/// True when the ordering (of a fence, or of an update) releases.
pub fn releases(ordering: Ordering) -> bool {
    matches!(ordering, Release | AcqRel | SeqCst)
}

/// True when the ordering acquires.
pub fn acquires(ordering: Ordering) -> bool {
    matches!(ordering, Acquire | AcqRel | SeqCst)
}

impl Shape {
    /// Returns the program with these orderings.
    pub fn with(&self, write: Ordering, read: Ordering) -> Litmus {
        self.fenced(write, read, |_| None)
    }

    /// Returns the program with these orderings, and with this fence between the two accesses of
    /// each thread.
    pub fn fenced(
        &self,
        write: Ordering,
        read: Ordering,
        between: impl Fn(usize) -> Option<Ordering>,
    ) -> Litmus {
        let access = |(number, access): (usize, &Access)| match *access {
            Read(location) => load([R0, R1][number], location, read),
            Write(location, value) => store(location, value, write),
        };
        let thread = |(number, accesses): (usize, &&[Access])| {
            let accesses = accesses.iter().enumerate().map(access);
            let mut body: Vec<Statement> = accesses.collect();
            if body.len() > 1 {
                let place = 1..1;
                body.splice(place, between(number).map(fence));
            }
            body
        };
        Litmus {
            threads: self.threads.iter().enumerate().map(thread).collect(),
            ..Litmus::default()
        }
    }
}
