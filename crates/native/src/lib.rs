//! `libraddle_native.so`: programs in C, C++ and Rust under raddle's control.
//!
//! A program that is compiled with `-fsanitize=thread` calls functions of ThreadSanitizer's runtime
//! before every access of memory and instead of every atomic operation. This library has those
//! functions, and takes the place of the C library's threads, locks, clocks and memory. Linked or
//! preloaded instead of the real runtime, it runs the program's threads one at a time, usually as
//! coroutines on one OS thread. Their operations go to the same engine that checks Rust tests.
//!
//! The one idea to know is in `host/mode.rs`: program code and raddle's own code never run with the
//! same thread-local storage. Every switch from one to the other is in that module.
//!
//! Folders are layers. A module uses only its own layer and those below it:
//!
//! ```text
//! check                        the subject of a check, and the beginning of an execution
//! entry                        ThreadSanitizer's callbacks, malloc, mmap, syscall
//! pthread  io  openmp  rust    synchronisation and communication of programs
//! process                      beginning and end of the program, its faults, children and output
//! threads                      the program's threads, and waiting
//! memory                       the program's heap, and data about addresses
//! execution                    the running execution, and the code positions of its threads
//! names                        names of addresses
//! host                         the platform of raddle's own code
//! abi                          registers, stacks and the calling convention
//! engine                       imports from raddle's other crates
//! ```
//!
//! Only for x86-64 Linux with glibc; elsewhere the library is empty.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
// The unit tests are an ordinary program: their copy of this library replaces no function. So
// functions that only a program under test calls are unused, and they have ordinary names.
#![cfg_attr(test, allow(dead_code, non_snake_case))]

mod abi;
mod check;
mod engine;
mod entry;
mod execution;
mod host;
mod io;
mod memory;
mod names;
mod openmp;
mod process;
mod pthread;
#[cfg(test)]
mod random_inputs;
mod rust;
mod threads;

#[cfg_attr(not(test), global_allocator)]
static MEMORY: host::arena::Arena = host::arena::Arena;
