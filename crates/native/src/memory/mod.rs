//! The program's memory: its heap, the state of each address, and its restoration between
//! executions.

pub(crate) mod blocks;
pub(crate) mod granule;
pub(crate) mod heap;
pub(crate) mod heap_range;
pub(crate) mod locations;
pub(crate) mod objects;
pub(crate) mod own_accesses;
pub(crate) mod plain_choices;
pub(crate) mod relevance;
pub(crate) mod shadow;
pub(crate) mod snapshot;
pub(crate) mod stacks;
pub(crate) mod thread_heaps;
pub(crate) mod unwritten;
pub(crate) mod written_pages;
