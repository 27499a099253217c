//! Programs in Rust, as they are: which of their functions are the user's, and what the standard library
//! does for them.
//!
//! The user's code is compiled for this, and with it all that is generic; the rest of the standard library
//! is as it came. A reader wants to hear of neither: a thread is spawned, a lock is taken, a message is sent.
//! So every function is put into a [kind](Kind) by its path, and while a thread is inside one of the
//! standard library's, what it does there is [quiet](std_atomics). Where threads wait for each other, it is an operation
//! ([`sync`]).

pub(crate) mod arc_counts;
pub(crate) mod channels;
mod clocks;
pub(crate) mod manner;
pub(crate) mod std_atomics;
pub(crate) mod sync;
pub(crate) mod threads;

use crate::execution::shadow_stack::{self, Entered};
use crate::names::rust_paths::Kind;

/// In guest mode: a function was entered.
#[inline]
pub(crate) fn enter(
    Entered {
        kind,
        before,
        depth,
    }: Entered,
) {
    if before == Kind::DropsLast {
        arc_counts::destroy(kind, depth);
    }
    if kind == Kind::DropsLast {
        arc_counts::drop_last(depth);
    }
    if kind.is_special() {
        enter_special(kind);
    }
}

/// In guest mode: a function of a kind was entered that is more than its callers' business.
#[cold]
fn enter_special(kind: Kind) {
    match kind {
        Kind::MakeBounded | Kind::MakeSlot => channels::enter(kind),
        Kind::Spawn => threads::starts(),
        _ => {}
    }
}

/// In guest mode: the running thread has come into the standard library, and is about to use a word of memory
/// for the first time. What it has come for is done now; what it is to find there, if that is known.
#[cold]
pub(crate) fn touch(address: usize, code: usize) -> Option<u64> {
    match shadow_stack::region() {
        Kind::IsFinished => return threads::look(address, code),
        Kind::Spawn | Kind::Scope => {}
        _ => channels::touch(address, code),
    }
    None
}
