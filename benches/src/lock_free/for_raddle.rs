//! The structures with raddle's types.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicUsize, fence};
use raddle::thread::{spawn, yield_now};

#[path = "structures.rs"]
pub(super) mod structures;
