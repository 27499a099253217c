//! Cargo, compilers, test binaries and the library for native programs.

pub mod binaries;
pub mod c_compiler;
pub mod cargo;
pub mod elf;
pub mod error;
pub mod library;
pub mod rust;
