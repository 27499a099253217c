//! The structures with loom's types.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, fence};
use loom::thread::{spawn, yield_now};

#[path = "structures.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the same text with other types is the point"
)]
pub(super) mod structures;
