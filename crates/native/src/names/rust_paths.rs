//! Functions of a Rust program by their paths: their owner, the user or the standard library, and
//! the treatment of their accesses.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Kinds of functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum FunctionKind {
    /// The user's, or of a library that the program depends on.
    User,
    /// Transparent: acts on the caller's values for the caller, such as collections, iterators, cells and
    /// atomics.
    Passes,
    /// Counts references in its own atomics, whose accesses are not events.
    Counts,
    /// Reads such a count, or drops the last reference.
    AsksCount,
    DropsLast,
    /// Wraps a lock, which is identified by its word of 32 bits; accesses of its other atomics are
    /// not events.
    Locks,
    /// Internal to the standard library.
    Inside,
    /// Waits for the threads of a scope.
    Scope,
    /// Starts a thread.
    Spawn,
    /// Checks if a thread has ended.
    IsFinished,
    /// Makes an unbounded channel, a bounded one, or a slot of its buffer.
    MakeUnbounded,
    MakeBounded,
    MakeSlot,
    /// Uses a channel.
    ChannelSend,
    ChannelTrySend,
    ChannelReceive,
    ChannelTryReceive,
    /// Receives with a deadline.
    Deadline,
    /// Waits for the other side of a channel.
    ChannelWait,
    SenderClone,
    SenderDrop,
    ReceiverDrop,
}

impl FunctionKind {
    /// All kinds, by number.
    const ALL: [FunctionKind; 22] = [
        FunctionKind::User,
        FunctionKind::Passes,
        FunctionKind::Counts,
        FunctionKind::AsksCount,
        FunctionKind::DropsLast,
        FunctionKind::Locks,
        FunctionKind::Inside,
        FunctionKind::Scope,
        FunctionKind::Spawn,
        FunctionKind::IsFinished,
        FunctionKind::MakeUnbounded,
        FunctionKind::MakeBounded,
        FunctionKind::MakeSlot,
        FunctionKind::ChannelSend,
        FunctionKind::ChannelTrySend,
        FunctionKind::ChannelReceive,
        FunctionKind::ChannelTryReceive,
        FunctionKind::Deadline,
        FunctionKind::ChannelWait,
        FunctionKind::SenderClone,
        FunctionKind::SenderDrop,
        FunctionKind::ReceiverDrop,
    ];

    #[inline]
    pub(crate) fn of_number(number: u8) -> FunctionKind {
        FunctionKind::ALL[usize::from(number)]
    }

    /// Returns the kind of a thread that enters such a function from code of kind `before`.
    #[inline]
    pub(crate) fn entered_from(self, before: FunctionKind) -> FunctionKind {
        match self {
            FunctionKind::Passes => before,
            // Calls inside of the standard library have the kind of the outermost function.
            kind if kind.is_plain() && before.is_inside() => before,
            FunctionKind::Counts if before == FunctionKind::AsksCount => before,
            kind => kind,
        }
    }

    /// True if the function is internal to the standard library.
    #[inline]
    pub(crate) fn is_inside(self) -> bool {
        !matches!(
            self,
            FunctionKind::User | FunctionKind::Passes | FunctionKind::Locks
        ) && !self.is_of_counts()
    }

    /// True if the function uses reference counts.
    #[inline]
    pub(crate) fn is_of_counts(self) -> bool {
        matches!(
            self,
            FunctionKind::Counts | FunctionKind::AsksCount | FunctionKind::DropsLast
        )
    }

    /// True if an atomic access of this many bits in the function is not an event.
    #[inline]
    pub(crate) fn is_no_event(self, bits: u8) -> bool {
        match self {
            FunctionKind::User | FunctionKind::Passes => false,
            FunctionKind::Locks => bits != u32::BITS as u8,
            _ => true,
        }
    }

    /// True if a call inside of the standard library leaves the thread's kind as it is.
    fn is_plain(self) -> bool {
        matches!(self, FunctionKind::Inside | FunctionKind::Locks) || self.is_of_counts()
    }

    /// True if the first access of memory in the function is an operation.
    #[inline]
    pub(crate) fn is_special(self) -> bool {
        self.is_inside() && self != FunctionKind::Inside
    }
}

/// Crates that the standard library contains.
const INNER: [&str; 9] = [
    "gimli",
    "addr2line",
    "miniz_oxide",
    "rustc_demangle",
    "panic_unwind",
    "panic_abort",
    "std_detect",
    "unwind",
    "compiler_builtins",
];

/// Kinds by prefix of a function's path; the first rule that matches applies.
const RULES: &[(&str, FunctionKind)] = &[
    ("core::", FunctionKind::Passes),
    // Functions that the compiler generates between a program and its standard library.
    ("__rustc::__r", FunctionKind::Passes),
    ("__rustc::", FunctionKind::Inside),
    ("__rust_try", FunctionKind::Passes),
    ("rust_eh_personality", FunctionKind::Inside),
    ("hashbrown::", FunctionKind::Passes),
    ("alloc::sync::Arc::strong_count", FunctionKind::AsksCount),
    ("alloc::sync::Arc::weak_count", FunctionKind::AsksCount),
    ("alloc::sync::Arc::try_unwrap", FunctionKind::AsksCount),
    ("alloc::sync::Arc::unwrap_or_clone", FunctionKind::AsksCount),
    ("alloc::sync::Arc::into_inner", FunctionKind::AsksCount),
    ("alloc::sync::Arc::get_mut", FunctionKind::AsksCount),
    ("alloc::sync::Arc::make_mut", FunctionKind::AsksCount),
    ("alloc::sync::Arc::is_unique", FunctionKind::AsksCount),
    ("alloc::sync::Weak::upgrade", FunctionKind::AsksCount),
    ("alloc::sync::Weak::strong_count", FunctionKind::AsksCount),
    ("alloc::sync::Weak::weak_count", FunctionKind::AsksCount),
    ("alloc::sync::Arc::drop_slow", FunctionKind::DropsLast),
    ("alloc::sync::", FunctionKind::Counts),
    ("alloc::", FunctionKind::Passes),
    ("std::thread::local::", FunctionKind::Passes),
    ("std::thread::scoped::scope::", FunctionKind::Inside),
    ("std::thread::scoped::scope", FunctionKind::Scope),
    (
        "std::thread::lifecycle::spawn_unchecked::",
        FunctionKind::Inside,
    ),
    (
        "std::thread::lifecycle::spawn_unchecked",
        FunctionKind::Spawn,
    ),
    (
        "std::thread::lifecycle::JoinInner::is_finished",
        FunctionKind::IsFinished,
    ),
    (
        "std::thread::join_handle::JoinHandle::is_finished",
        FunctionKind::IsFinished,
    ),
    (
        "std::thread::scoped::ScopedJoinHandle::is_finished",
        FunctionKind::IsFinished,
    ),
    ("std::thread::thread::Thread::unpark", FunctionKind::Locks),
    ("std::thread::Thread::unpark", FunctionKind::Locks),
    ("std::thread::", FunctionKind::Inside),
    ("std::sync::mpmc::channel", FunctionKind::MakeUnbounded),
    ("std::sync::mpmc::sync_channel", FunctionKind::MakeBounded),
    ("std::sync::mpmc::counter::new", FunctionKind::Passes),
    (
        "std::sync::mpmc::counter::Sender::acquire",
        FunctionKind::SenderClone,
    ),
    (
        "std::sync::mpmc::counter::Sender::release",
        FunctionKind::SenderDrop,
    ),
    (
        "std::sync::mpmc::counter::Receiver::release",
        FunctionKind::ReceiverDrop,
    ),
    (
        "std::sync::mpmc::array::Channel::with_capacity::{",
        FunctionKind::MakeSlot,
    ),
    (
        "std::sync::mpmc::Receiver::recv_deadline",
        FunctionKind::Deadline,
    ),
    (
        "std::sync::mpmc::context::Context::wait_until",
        FunctionKind::ChannelWait,
    ),
    ("std::sync::poison::", FunctionKind::Locks),
    ("std::sync::nonpoison::", FunctionKind::Locks),
    ("std::sync::once", FunctionKind::Locks),
    ("std::sync::lazy_lock::", FunctionKind::Locks),
    ("std::sync::barrier::", FunctionKind::Locks),
    ("std::sync::reentrant_lock::", FunctionKind::Inside),
    ("std::sync::", FunctionKind::Inside),
    (
        "std::sys::sync::thread_parking::futex::Parker::park",
        FunctionKind::Inside,
    ),
    // A `Once` is one operation as a whole.
    (
        "std::sys::sync::once::futex::Once::call",
        FunctionKind::Inside,
    ),
    (
        "std::sys::sync::once::futex::Once::wait",
        FunctionKind::Inside,
    ),
    (
        "std::sys::sync::once::futex::CompletionGuard::",
        FunctionKind::Inside,
    ),
    ("std::sys::sync::", FunctionKind::Locks),
    // Calls the function of a thread; optimising compilers inline that function here.
    (
        "std::sys::backtrace::__rust_begin_short_backtrace",
        FunctionKind::User,
    ),
    ("std::sys::", FunctionKind::Inside),
    ("std::rt::", FunctionKind::Inside),
    ("std::panicking::", FunctionKind::Counts),
    ("std::io::", FunctionKind::Counts),
    ("std::fs::", FunctionKind::Counts),
    ("std::net::", FunctionKind::Counts),
    ("std::process::", FunctionKind::Counts),
    ("std::env::", FunctionKind::Counts),
    ("std::time::", FunctionKind::Counts),
    ("std::backtrace", FunctionKind::Inside),
    ("std::", FunctionKind::Passes),
    ("test::", FunctionKind::Inside),
    ("proc_macro::", FunctionKind::Inside),
];

/// Functions of parking_lot that are transparent if its locks are modelled.
const PARKING_LOT: [&str; 5] = [
    "lock_api::mutex::",
    "lock_api::rwlock::",
    "lock_api::remutex::",
    "parking_lot::raw_",
    "parking_lot::condvar::Condvar::",
];

static HIDES_PARKING_LOT: AtomicBool = AtomicBool::new(false);

/// Sets the transparency of parking_lot's functions, before kinds are computed.
pub(crate) fn hide_parking_lot(hides: bool) {
    HIDES_PARKING_LOT.store(hides, Relaxed);
}

/// True when the functions of parking_lot are transparent.
pub(crate) fn hides_parking_lot() -> bool {
    HIDES_PARKING_LOT.load(Relaxed)
}

/// Returns the kind of a function with this demangled name.
pub(crate) fn kind(name: &str) -> FunctionKind {
    kind_of(&path(name))
}

/// Returns the kind of a function with this path.
pub(crate) fn kind_of(path: &str) -> FunctionKind {
    let first = path.split("::").next().unwrap_or_default();
    if INNER.contains(&first) {
        return FunctionKind::Inside;
    }
    if let Some(kind) = of_channel(path) {
        return kind;
    }
    if hides_parking_lot() && PARKING_LOT.iter().any(|start| path.starts_with(start)) {
        return FunctionKind::Passes;
    }
    let rule = RULES.iter().find(|(start, _)| path.starts_with(start));
    rule.map_or(FunctionKind::User, |&(_, kind)| kind)
}

/// Returns the kind of a channel's method whose name is the same in all flavours.
fn of_channel(path: &str) -> Option<FunctionKind> {
    let (_, method) = path
        .strip_prefix("std::sync::mpmc::")?
        .split_once("::Channel::")?;
    match method {
        "send" => Some(FunctionKind::ChannelSend),
        "try_send" => Some(FunctionKind::ChannelTrySend),
        "recv" => Some(FunctionKind::ChannelReceive),
        "try_recv" => Some(FunctionKind::ChannelTryReceive),
        _ => None,
    }
}

/// Returns the path of a function without generic arguments. For a method it is the path of its
/// type, or of the trait if the type is a parameter or a primitive one.
pub(crate) fn path(name: &str) -> String {
    let mut path = String::new();
    let mut rest = name;
    // Some versions of names contain hashes of crates.
    while let Some(c) = rest.chars().next() {
        match c {
            '<' if path.is_empty() => {
                let (inside, after) = bracket(rest);
                path = of_type(inside);
                rest = after;
            }
            '<' => {
                let (inside, after) = bracket(rest);
                // `<impl Trait for Type>` names the type of a method.
                let own = inside.strip_prefix("impl ").map(|own| {
                    let own = own.rsplit_once(" for ").map_or(own, |(_, own)| own);
                    head(own)
                });
                match own {
                    Some(own) if is_in_a_crate(&own) => path = own,
                    _ => path.truncate(path.trim_end_matches("::").len()),
                }
                rest = after;
            }
            '[' => rest = rest.split_once(']').map_or("", |(_, after)| after),
            ' ' if !path.is_empty() => break,
            _ => {
                path.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    path
}

/// Returns the contents of the brackets that a text begins with, and the text after them.
fn bracket(text: &str) -> (&str, &str) {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        before = c;
        if depth == 0 {
            return (&text[1..at], &text[at + 1..]);
        }
    }
    (text.get(1..).unwrap_or_default(), "")
}

/// Returns the path of `Type` or `Type as Trait`.
fn of_type(text: &str) -> String {
    let mut depth = 0;
    let mut split = None;
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ' ' if depth == 0 && text[at..].starts_with(" as ") => {
                split = Some(at);
                break;
            }
            _ => {}
        }
    }
    let Some(at) = split else {
        return head(text);
    };
    let (own, of_trait) = (head(&text[..at]), path(&text[at + 4..]));
    match is_in_a_crate(&own) {
        true => own,
        false => of_trait,
    }
}

/// Returns the path of a type, without references to it.
fn head(text: &str) -> String {
    let text = text.trim_start_matches(['&', '*', '(', '[', ' ']);
    let prefixes = ["mut ", "const ", "dyn ", "impl "];
    match prefixes.iter().find_map(|it| text.strip_prefix(it)) {
        Some(rest) => head(rest),
        None => path(text),
    }
}

/// True if the path is of an item in a crate, and not of a primitive type or parameter.
fn is_in_a_crate(path: &str) -> bool {
    path.contains("::")
}

/// Returns the atomic type of a method with this whole name, if it is one.
pub(crate) fn atomic(name: &str) -> Option<&'static str> {
    const TYPES: [&str; 12] = [
        "AtomicBool",
        "AtomicPtr",
        "AtomicI8",
        "AtomicI16",
        "AtomicI32",
        "AtomicI64",
        "AtomicIsize",
        "AtomicU8",
        "AtomicU16",
        "AtomicU32",
        "AtomicU64",
        "AtomicUsize",
    ];
    let path = path(name);
    let rest = path.strip_prefix("core::sync::atomic::")?;
    let end = rest.find(|c: char| !c.is_alphanumeric())?;
    TYPES.into_iter().find(|&it| it == &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_no_generic_arguments() {
        for (name, expected) in [
            ("mycrate::table::run", "mycrate::table::run"),
            ("mycrate::run::<u32, alloc::vec::Vec<u8>>", "mycrate::run"),
            ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"),
            (
                "<alloc::sync::Arc<T> as core::clone::Clone>::clone",
                "alloc::sync::Arc::clone",
            ),
            // A primitive type has the path of the trait.
            (
                "<u32 as core::fmt::Display>::fmt",
                "core::fmt::Display::fmt",
            ),
            (
                "<&mut mycrate::Table as core::ops::Drop>::drop",
                "mycrate::Table::drop",
            ),
            ("mycrate[1a2b]::run", "mycrate::run"),
            ("<mycrate::Call<fn() -> u8>>::go", "mycrate::Call::go"),
            (
                "core::ops::<impl core::clone::Clone for mycrate::Table>::clone",
                "mycrate::Table::clone",
            ),
        ] {
            assert_eq!(path(name), expected, "{name}");
        }
    }

    #[test]
    fn functions_are_the_users_unless_a_rule_says_otherwise() {
        for (name, expected) in [
            ("mycrate::run", FunctionKind::User),
            ("main", FunctionKind::User),
            ("stdx::sync::lock", FunctionKind::User),
            ("core::ptr::read", FunctionKind::Passes),
            (
                "<alloc::sync::Arc<T> as core::clone::Clone>::clone",
                FunctionKind::Counts,
            ),
            (
                "alloc::sync::Arc<T,A>::strong_count",
                FunctionKind::AsksCount,
            ),
            ("alloc::sync::Arc<T,A>::drop_slow", FunctionKind::DropsLast),
            (
                "std::sync::poison::mutex::Mutex<T>::lock",
                FunctionKind::Locks,
            ),
            (
                "std::sync::mpmc::list::Channel<T>::send",
                FunctionKind::ChannelSend,
            ),
            (
                "std::sync::mpmc::array::Channel<T>::try_recv",
                FunctionKind::ChannelTryReceive,
            ),
            (
                "std::sync::mpmc::list::Channel<T>::len",
                FunctionKind::Inside,
            ),
            ("gimli::read::line::parse", FunctionKind::Inside),
            ("std::thread::scoped::scope", FunctionKind::Scope),
            (
                "std::thread::scoped::scope::{{closure}}",
                FunctionKind::Inside,
            ),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn kinds_are_read_back_from_their_numbers() {
        for (number, kind) in FunctionKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(FunctionKind::of_number(number as u8), kind);
        }
    }

    #[test]
    fn calls_inside_of_the_library_count_as_the_outermost_function() {
        use FunctionKind::*;
        for outer in FunctionKind::ALL {
            assert_eq!(Passes.entered_from(outer), outer, "transparent functions");
            assert_eq!(User.entered_from(outer), User, "a closure of the user");
            if outer.is_inside() {
                assert_eq!(Inside.entered_from(outer), outer);
                assert_eq!(Locks.entered_from(outer), outer);
            }
        }
        assert_eq!(Inside.entered_from(User), Inside);
        assert_eq!(Counts.entered_from(AsksCount), AsksCount);
        assert_eq!(ChannelSend.entered_from(Inside), ChannelSend);
    }

    #[test]
    fn atomics_of_the_user_are_events_and_those_of_the_library_are_not() {
        assert!(!FunctionKind::User.is_no_event(64));
        assert!(!FunctionKind::Passes.is_no_event(8));
        assert!(!FunctionKind::Locks.is_no_event(32), "the word of a lock");
        assert!(FunctionKind::Locks.is_no_event(8));
        assert!(FunctionKind::Counts.is_no_event(64));
    }

    #[test]
    fn atomic_types_are_known_by_their_methods() {
        let name = "core::sync::atomic::AtomicU32::fetch_add";
        assert_eq!(atomic(name), Some("AtomicU32"));
        assert_eq!(
            atomic("core::sync::atomic::AtomicPtr<T>::load"),
            Some("AtomicPtr")
        );
        assert_eq!(atomic("core::sync::atomic::fence"), None);
        assert_eq!(atomic("mycrate::AtomicU32::load"), None);
    }
}
