//! Mirrors `std::hint`.

pub use raddle::hint::spin_loop;
pub use std::hint::*;
