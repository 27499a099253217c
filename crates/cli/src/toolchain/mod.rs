//! Cargo, compilers, test binaries and the runtime library for native programs.

pub mod binaries;
mod bytes;
pub mod c_compiler;
pub mod cargo;
pub mod data_directory;
pub mod elf;
pub mod environment;
pub mod error;
pub mod git;
pub mod library;
pub mod native_program;
pub mod native_runtime;
pub mod rust;
