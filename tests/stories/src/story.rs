//! A program with a bug, its twin without, and what is known.

pub use raddle::FailureKind;

/// A bug, told by a small program.
#[derive(Clone, Copy, Debug)]
pub struct Story {
    /// What it is called.
    pub name: &'static str,
    /// The mistake in a few words.
    pub pattern: &'static str,
    /// Fails in some of its executions.
    pub buggy: fn(),
    /// Does the same without the mistake, and never fails.
    pub correct: fn(),
    /// What is known about the bug.
    pub facts: Facts,
}

/// What is known about a bug.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// What goes wrong.
    pub kind: FailureKind,
    /// How many threads the program starts.
    pub threads: usize,
    /// With how few preemptions it can go wrong: switches from a thread that could have gone on.
    /// `None` where the program is too large to show that fewer are not enough.
    pub preemptions: Option<u32>,
    /// What it takes of the memory.
    pub memory: Memory,
}

/// Which memory a bug needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// It shows even if every read sees the latest write.
    Sc,
    /// It takes a read that does not, as the orderings in the program allow.
    Weak,
}

impl Facts {
    /// A bug that shows under sequential consistency.
    pub const fn new(kind: FailureKind, threads: usize, preemptions: u32) -> Self {
        Facts {
            kind,
            threads,
            preemptions: Some(preemptions),
            memory: Memory::Sc,
        }
    }

    /// The same in a program that is too large to be searched to its end.
    pub const fn large(kind: FailureKind, threads: usize) -> Self {
        Facts {
            kind,
            threads,
            preemptions: None,
            memory: Memory::Sc,
        }
    }

    /// The same bug, if it takes weak memory.
    pub const fn weak(self) -> Self {
        Facts {
            memory: Memory::Weak,
            ..self
        }
    }
}
