//! Roles of atomic operations in the program's code.
//!
//! An operation belongs to a function of std's if that is the innermost function around it which is
//! no method of an atomic type. Functions may be inlined into each other or call each other. The
//! functions around an instruction do not change, so they are looked up once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::modules;
use super::parking_lot::{self, Wanted};
use super::poison::Of;
use super::rwlock::Shared;
use crate::execution::shadow_stack;
use crate::host::addresses::Table;
use crate::host::mode::host;
use crate::host::process_state::ProcessState;
use crate::names::rust_paths::{self, FunctionKind};

/// Role of an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Lock,
    TryLock,
    Unlock,
    Shared(Shared),
    Unpark,
    /// `Once::is_completed` and similar functions.
    IsCompleted,
    /// Query by a function that calls the closure if the `Once` is not completed.
    OnceBegins,
    /// Store of the poison flag by a thread that panics while it holds a lock.
    Poison,
    /// Reads or clears the poison flag.
    IsPoisoned(Of),
    ClearsPoison(Of),
    Parking(Wanted),
}

/// A function, by its atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    /// A method of an atomic type.
    Atomic,
    Is(Role),
    /// Queries if a `Once` is completed.
    Looks,
    /// Calls the function of a `Once` if it is not completed.
    Begins,
    Other,
}

/// Functions around an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Site {
    /// Only functions of atomic types; the role is that of the caller.
    Atomic,
    /// Only functions that query if a `Once` is completed; the role depends on the caller.
    Looks,
    Begins,
    Is(Role),
    Other,
}

/// Role of an instruction, and the kinds of the functions inlined there, the outermost first.
#[derive(Clone, Copy)]
struct KnownSite {
    site: Site,
    inlined: &'static [FunctionKind],
}

/// True if functions that use atomics may be inlined into methods of atomics.
static IS_OPTIMISED: AtomicBool = AtomicBool::new(false);

static SITES: ProcessState<Table<KnownSite>> = ProcessState::new(Table::new());
/// Cache of instructions without inlined functions around them, which most are; each has one slot.
static ALONE: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];
/// Cache of instructions in functions internal to std; each has one slot. The lowest bit is set if the code
/// is internal there, too. The assembly of `entry/plain.rs` reads it.
pub(crate) static INSIDE: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];
/// Number of slots of these caches; a power of two. Places in different functions often differ in few bits only: with
/// 4096, a tenth of those of a small test shared a slot.
const SLOTS: usize = 1 << 14;
/// Maximum depth of calls between functions of atomic types.
const DEEPEST: usize = 8;

/// Records that methods of atomics were inlined into their callers; functions that they call may
/// not be.
pub(super) fn expect_inlined() {
    IS_OPTIMISED.store(true, Relaxed);
}

/// In guest mode: returns the call of an operation by code other than methods of atomic types, if
/// its instruction is only in such methods.
fn beyond_atomics(code: usize) -> usize {
    let mut at = code;
    for depth in 0..DEEPEST {
        match shadow_stack::caller(depth) {
            Some(caller) if site(at) == Site::Atomic => at = caller,
            _ => break,
        }
    }
    at
}

/// In guest mode: returns the role of the operation with this return address.
pub(super) fn role(code: usize) -> Option<Role> {
    let mut looks = false;
    let mut next = Some(code);
    for depth in 0..DEEPEST {
        match site(next?) {
            Site::Atomic => {}
            Site::Looks => looks = true,
            Site::Begins => return Some(Role::OnceBegins),
            Site::Is(Role::IsCompleted) | Site::Other if looks => return Some(Role::IsCompleted),
            Site::Is(role) => return Some(role),
            Site::Other => return None,
        }
        next = shadow_stack::caller(depth);
    }
    looks.then_some(Role::IsCompleted)
}

/// In guest mode: returns the kind of the code at the instruction before this address, in a
/// function of kind `entered`. Other functions may be inlined there.
#[inline]
pub(super) fn region(code: usize, entered: FunctionKind) -> FunctionKind {
    let alone = &ALONE[code % ALONE.len()];
    if alone.load(Relaxed) == code {
        return entered;
    }
    let at = match IS_OPTIMISED.load(Relaxed) {
        true => beyond_atomics(code),
        false => code,
    };
    let inlined = known(at).inlined;
    if inlined.is_empty() && at == code {
        alone.store(code, Relaxed);
    }
    let inlined = inlined.iter();
    inlined.fold(entered, |before, kind| kind.entered_from(before))
}

/// In guest mode, in a function internal to std: true if the instruction before this address is, too. Which
/// of these functions it is in makes no difference.
#[inline]
pub(super) fn is_inside(code: usize) -> bool {
    let known = &INSIDE[code % INSIDE.len()];
    match known.load(Relaxed) {
        found if found >> 1 == code => found & 1 != 0,
        _ => find_if_inside(code, known),
    }
}

#[cold]
fn find_if_inside(code: usize, known: &AtomicUsize) -> bool {
    let is_inside = region(code, FunctionKind::Inside).is_inside();
    // Otherwise it depends on the caller.
    if !IS_OPTIMISED.load(Relaxed) || site(code) != Site::Atomic {
        known.store(code << 1 | usize::from(is_inside), Relaxed);
    }
    is_inside
}

/// In guest mode: true if the operation with this return address, which reads a count, checks if
/// another thread has ended.
#[inline]
pub(super) fn is_question(code: usize, entered: FunctionKind) -> bool {
    let asks = |code| known(code).inlined.contains(&FunctionKind::IsFinished);
    match entered {
        _ if !IS_OPTIMISED.load(Relaxed) => false,
        FunctionKind::AsksCount => shadow_stack::caller(0).is_some_and(asks),
        _ => asks(beyond_atomics(code)),
    }
}

fn site(code: usize) -> Site {
    known(code).site
}

fn known(code: usize) -> KnownSite {
    let known = SITES.get().get(code).copied();
    known.unwrap_or_else(|| {
        let known = host(|| {
            let functions = modules::functions(code);
            // The last one is the function itself.
            let inlined = functions[..functions.len() - 1].iter().rev();
            let kinds = inlined.map(|path| rust_paths::kind_of(path));
            let kinds: Vec<FunctionKind> =
                kinds.filter(|&kind| kind != FunctionKind::Passes).collect();
            KnownSite {
                site: classify(&functions),
                inlined: kinds.leak(),
            }
        });
        *SITES.get().insert(code, known)
    })
}

fn classify(paths: &[String]) -> Site {
    let mut looks = false;
    for path in paths {
        match function(path) {
            Function::Atomic => {}
            Function::Looks => looks = true,
            Function::Begins => return Site::Begins,
            Function::Is(role) if !looks => return Site::Is(role),
            Function::Is(_) | Function::Other if looks => return Site::Is(Role::IsCompleted),
            Function::Is(_) | Function::Other => return Site::Other,
        }
    }
    match looks {
        true => Site::Looks,
        false => Site::Atomic,
    }
}

/// Modules of std that have functions with a role, in any of its versions.
const MODULES: [&str; 5] = [
    "std::sys::sync::",
    "std::sync::poison::",
    "std::sync::nonpoison::",
    "std::sync::",
    "std::thread::",
];

fn function(path: &str) -> Function {
    if path.starts_with("core::sync::atomic::") || path.starts_with("core::intrinsics::") {
        return Function::Atomic;
    }
    if parking_lot::is_used() {
        if parking_lot::is_part(path) {
            return Function::Atomic;
        }
        if let Some(wanted) = parking_lot::wanted(path) {
            return Function::Is(Role::Parking(wanted));
        }
    }
    let mut names = MODULES
        .iter()
        .filter_map(|module| path.strip_prefix(module));
    match names.next() {
        Some(name) => in_std(name),
        None => Function::Other,
    }
}

fn in_std(name: &str) -> Function {
    Function::Is(match name {
        "mutex::futex::Mutex::lock" | "mutex::Mutex::lock" => Role::Lock,
        "mutex::futex::Mutex::try_lock" | "mutex::Mutex::try_lock" => Role::TryLock,
        "mutex::futex::Mutex::unlock" | "mutex::MutexGuard::drop" => Role::Unlock,
        "rwlock::futex::RwLock::read" | "rwlock::RwLock::read" => Role::Shared(Shared::Read),
        "rwlock::futex::RwLock::try_read" | "rwlock::RwLock::try_read" => {
            Role::Shared(Shared::TryRead)
        }
        "rwlock::futex::RwLock::write" | "rwlock::RwLock::write" => Role::Shared(Shared::Write),
        "rwlock::futex::RwLock::try_write" | "rwlock::RwLock::try_write" => {
            Role::Shared(Shared::TryWrite)
        }
        "rwlock::futex::RwLock::read_unlock" | "rwlock::RwLockReadGuard::drop" => {
            Role::Shared(Shared::ReadUnlock)
        }
        "rwlock::futex::RwLock::write_unlock" | "rwlock::RwLockWriteGuard::drop" => {
            Role::Shared(Shared::WriteUnlock)
        }
        "rwlock::futex::RwLock::downgrade" | "rwlock::RwLockWriteGuard::downgrade" => {
            Role::Shared(Shared::Downgrade)
        }
        "thread_parking::futex::Parker::unpark" | "thread::Thread::unpark" | "Thread::unpark" => {
            Role::Unpark
        }
        "Flag::done" => Role::Poison,
        "mutex::Mutex::is_poisoned" => Role::IsPoisoned(Of::Mutex),
        "mutex::Mutex::clear_poison" => Role::ClearsPoison(Of::Mutex),
        "rwlock::RwLock::is_poisoned" => Role::IsPoisoned(Of::RwLock),
        "rwlock::RwLock::clear_poison" => Role::ClearsPoison(Of::RwLock),
        // The role is that of the caller.
        "Flag::get" | "Flag::clear" => return Function::Atomic,
        "once::futex::Once::is_completed"
        | "once::Once::is_completed"
        | "once_lock::OnceLock::initialized"
        | "once_lock::OnceLock::is_initialized"
        | "once_lock::OnceLock::get" => return Function::Looks,
        "once::Once::call_once"
        | "once::Once::call_once_force"
        | "once_lock::OnceLock::get_or_init"
        | "once_lock::OnceLock::get_or_try_init"
        | "once_lock::OnceLock::initialize"
        | "once_lock::OnceLock::try_insert"
        | "lazy_lock::LazyLock::force" => return Function::Begins,
        _ => return Function::Other,
    })
}
