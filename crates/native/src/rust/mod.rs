//! Programs in Rust: the user's functions among theirs, and the operations of the standard library.
//!
//! The user's code is instrumented, and with it all generic code; the rest of the standard library is not.
//! Stories show neither: a thread is spawned, a lock is taken, a message is sent. So every function
//! has a [kind](FunctionKind) by its path, and accesses inside of the standard library's functions
//! are [no events](std_atomics). Waits of threads for each other are operations ([`sync`]).

pub(crate) mod arc_counts;
pub(crate) mod channels;
mod count_history;
pub(crate) mod handling;
pub(crate) mod std_atomics;
pub(crate) mod sync;
pub(crate) mod threads;

use crate::execution::shadow_stack::{self, Entered};
use crate::names::rust_paths::FunctionKind;

/// In guest mode: records the entry of a function.
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
    if kind.is_special() && kind != before {
        enter_special(kind);
    }
}

/// In guest mode: records the entry of a function of a special kind.
#[cold]
fn enter_special(kind: FunctionKind) {
    match kind {
        FunctionKind::MakeBounded | FunctionKind::MakeSlot => channels::enter(kind),
        FunctionKind::Spawn => threads::starts(),
        _ => {}
    }
}

/// In guest mode, at the first access of a word of memory inside a function of the standard
/// library: performs the operation of that function. Returns the value that the access must return,
/// if it is determined.
#[cold]
pub(crate) fn touch(address: usize, code: usize) -> Option<u64> {
    match shadow_stack::region() {
        FunctionKind::IsFinished => return threads::look(address, code),
        FunctionKind::Spawn | FunctionKind::Scope => {}
        _ => channels::touch(address, code),
    }
    None
}
