//! `libraddle_native.so`: programs in C, C++ and Rust under raddle's control.
//!
//! A program that is compiled with `-fsanitize=thread` calls functions of ThreadSanitizer's runtime
//! before every access of memory and instead of every atomic operation. This library has those
//! functions, and takes the place of the C library's threads, locks, clocks and memory. Linked or
//! preloaded instead of the real runtime, it runs the program's threads one at a time, usually as
//! coroutines on one OS thread, and hands what they do to the same engine that checks Rust tests.
//!
//! The one idea to know is in `mode.rs`: program code and raddle's own code never run with the same
//! thread-local storage, and every way from one to the other goes through that module.
//!
//! Only for x86-64 Linux with glibc; elsewhere the library is empty.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod addresses;
mod arena;
mod blocks;
mod check;
mod dispatch;
mod end;
mod engine;
mod exceptions;
mod execution;
mod faults;
mod fork;
mod futex;
mod granule;
mod harness;
mod heap;
mod imports;
mod interrupts;
mod io;
mod lanes;
mod loaded;
mod lock;
mod mode;
mod objects;
mod openmp;
mod output;
mod panics;
mod program;
mod pthread;
mod queues;
mod random;
mod real;
mod restart;
mod rust;
mod shadow;
mod signals;
mod snapshot;
mod solo;
mod substrate;
mod symbols;
mod system;
mod threads;
mod time;
mod tls;
mod trace;
mod trampoline;
mod tsan;
mod types;
mod uncontrolled;
mod unwind;
mod whereabouts;
mod written;

#[global_allocator]
static MEMORY: arena::Arena = arena::Arena;
