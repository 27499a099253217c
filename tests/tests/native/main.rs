//! C and C++ programs under control: the programs of `tests/native/`, built with the system's compilers.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod support;

mod calls;
mod compilers;
mod races;
mod rust_regions;
mod rust_std;
mod substrate;
mod threads;
