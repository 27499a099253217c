//! The structures with loom's types.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, fence};
use loom::thread::{spawn, yield_now};

#[path = "structures.rs"]
pub(super) mod structures;
