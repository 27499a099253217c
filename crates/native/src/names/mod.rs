//! Names of addresses: symbols, lines and types of the files that the process was loaded from.

pub(crate) mod interrupted;
pub(crate) mod regions;
pub(crate) mod rust_paths;
pub(crate) mod symbols;
pub(crate) mod types;
