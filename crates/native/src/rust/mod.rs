//! Programs in Rust: which of their functions are the user's, and the operations of the standard library.
//!
//! The user's code is instrumented, and with it all generic code; the rest of the standard library is not.
//! Stories show neither: a thread is spawned, a lock is taken, a message is sent. So every function has a
//! [kind](FunctionKind) by its path, and accesses inside of the standard library's functions are [no
//! events](std_atomics). Where threads wait for each other, there is an operation ([`sync`]).

pub(crate) mod arc_counts;
pub(crate) mod channels;
pub(crate) mod handling;
pub(crate) mod std_atomics;
pub(crate) mod sync;
pub(crate) mod threads;

use crate::execution::shadow_stack::{self, Entered};
use crate::names::rust_paths::FunctionKind;

/// In guest mode: a function was entered.
#[inline]
pub(crate) fn enter(
    Entered {
        kind,
        before,
        depth,
    }: Entered,
) {
    if before == FunctionKind::DropsLast {
        arc_counts::destroy(kind, depth);
    }
    if kind == FunctionKind::DropsLast {
        arc_counts::drop_last(depth);
    }
    if kind.is_special() {
        enter_special(kind);
    }
}

/// In guest mode: a function of a special kind was entered.
#[cold]
fn enter_special(kind: FunctionKind) {
    match kind {
        FunctionKind::MakeBounded | FunctionKind::MakeSlot => channels::enter(kind),
        FunctionKind::Spawn => threads::starts(),
        _ => {}
    }
}

/// In guest mode: the running thread is inside of the standard library, and is about to use a word of memory
/// for the first time. Performs the operation that it is there for; returns the value to be found there, if
/// that is known.
#[cold]
pub(crate) fn touch(address: usize, code: usize) -> Option<u64> {
    match shadow_stack::region() {
        FunctionKind::IsFinished => return threads::look(address, code),
        FunctionKind::Spawn | FunctionKind::Scope => {}
        _ => channels::touch(address, code),
    }
    None
}
