//! Where the values that a native program reads from shared memory can flow.
//!
//! A program that was compiled with the instrumentation of ThreadSanitizer calls a function before every read of
//! memory that threads may share. [`analyse`] follows the value of each such read through the linked code for x86-64:
//! registers, flags, the stack, and calls. Its [`Verdict`] says whether the value can decide a branch, be a part of an
//! address, or be stored again; whatever cannot be followed is *unknown*, and counts as relevant.
//!
//! The analysis does not follow values through shared memory: a value that is stored, and read again elsewhere, is
//! another read. Verdicts are of one build, because optimised code has other branches than code that is not.

#![warn(missing_docs)]

mod analysis;
mod exceptions;
mod flow;
mod image;
mod labels;
mod sets;
mod summary;
mod values;

use std::fmt;

/// The reads of a program or library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// The identity that the linker gave the file.
    pub build_id: Option<Vec<u8>>,
    /// All reads, in the order of their addresses.
    pub reads: Vec<Read>,
    /// Number of functions that were analysed.
    pub functions: usize,
    /// Number of those that could not be followed; their reads are unknown.
    pub unknown_functions: usize,
    /// Number of functions without callbacks that were not analysed, as no analysed function calls them or they are long,
    /// and that access memory through pointers. They may load what is stored.
    pub hidden_functions: usize,
    /// Loads of memory that threads may share for which no callback is called. A stored value may be loaded there
    /// without an event.
    pub unseen_loads: Vec<UnseenLoad>,
}

/// A load of memory that threads may share, without a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenLoad {
    /// The instruction; 0 in a function that was not analysed.
    pub code: u64,
    /// Address of the memory, if it is always the same.
    pub address: Option<u64>,
    /// Number of bytes.
    pub size: u64,
    /// What the value can do.
    pub verdict: Verdict,
}

impl UnseenLoad {
    /// True if the load may be of memory at an address.
    pub fn may_be_of(&self, address: u64, size: u64) -> bool {
        self.address
            .is_none_or(|own| own < address + size && address < own + self.size)
    }
}

/// A place in the code that reads memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Return address of the callback, as an address in the file.
    pub code: u64,
    /// The symbol of the function.
    pub function: Option<String>,
    /// Address of the variable, if it is always the same.
    pub variable: Option<u64>,
    /// True for atomic reads and updates.
    pub is_atomic: bool,
    /// True for atomic read-modify-writes.
    pub is_update: bool,
    /// What the value can do.
    pub verdict: Verdict,
}

/// What the value of a read can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// True if the value flows to where it cannot be followed.
    pub is_unknown: bool,
    /// True if the value is a part of an address, a size, or an operand of a lock.
    pub is_in_address: bool,
    /// Instructions whose branch depends on the value.
    pub branches: Vec<u64>,
    /// Return addresses of the callbacks of writes that store the value, or one computed from it.
    pub stores: Vec<u64>,
    /// Instructions from which the value is not followed further.
    pub unknown_at: Vec<u64>,
}

/// The most that the value of a read can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relevance {
    /// Nothing: the value is not used.
    None,
    /// It is stored, and what later reads of it do is to be asked for these.
    Stored,
    /// It is a part of an address.
    Address,
    /// It decides a branch.
    Branch,
    /// It may do anything.
    Unknown,
}

impl Verdict {
    /// Returns the most that the value can do.
    pub fn relevance(&self) -> Relevance {
        if self.is_unknown {
            Relevance::Unknown
        } else if !self.branches.is_empty() {
            Relevance::Branch
        } else if self.is_in_address {
            Relevance::Address
        } else if !self.stores.is_empty() {
            Relevance::Stored
        } else {
            Relevance::None
        }
    }
}

impl Analysis {
    /// Returns the read whose callback returns to an address of the file.
    pub fn read(&self, code: u64) -> Option<&Read> {
        let index = self.reads.binary_search_by_key(&code, |read| read.code);
        index.ok().map(|index| &self.reads[index])
    }
}

/// Why a file cannot be analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
}

impl Error {
    fn new(message: &str) -> Self {
        let message = message.to_owned();
        Self { message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the file cannot be analysed: {}", self.message)
    }
}

impl std::error::Error for Error {}

/// Analyses a linked program or library, given the contents of its file.
///
/// # Errors
///
/// If the file is no program or library for x86-64.
pub fn analyse(file: &[u8]) -> Result<Analysis, Error> {
    let image = image::Image::parse(file)?;
    Ok(analysis::analyse(&image))
}
