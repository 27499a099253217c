//! Programs under control that do not know of raddle: those of `tests/native/`, built with the compilers for C
//! and C++ of the system, and crates in Rust.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod support;

mod alternatives;
mod calls;
mod compilers;
mod handlers;
mod harness;
mod lifetimes;
mod limits;
mod pools;
mod races;
mod retrying;
mod rust_compiled;
mod rust_crates;
mod rust_expected;
mod rust_litmus;
mod rust_regions;
mod rust_std;
mod rust_tests;
mod rust_twins;
mod since;
mod substrate;
mod threads;
mod undoing;
mod uninitialised;
