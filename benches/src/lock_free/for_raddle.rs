//! The structures with raddle's types.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, fence};
use raddle::thread::{spawn, yield_now};

#[path = "structures.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the same text with other types is the point"
)]
pub(super) mod structures;
