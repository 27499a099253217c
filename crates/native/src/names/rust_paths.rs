//! Functions of a Rust program by their paths: whose they are, and what to make of what they do.

/// What a function is to a reader of stories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The user's, or of a library that the program depends on.
    User,
    /// Does what its caller wants with its caller's values: collections, iterators, cells, atomics.
    Passes,
    /// Counts in atomics of its own, which nobody wants to hear of.
    Counts,
    /// Asks for such a count, or gives up the last of what was counted.
    AsksCount,
    DropsLast,
    /// Wraps a lock, which is known by its word of 32 bits; what else it does atomically says nothing.
    Locks,
    /// The standard library's own business.
    Inside,
    /// Waits for the threads of a scope.
    Scope,
    /// Starts a thread.
    Spawn,
    /// Asks whether a thread has ended.
    IsFinished,
    /// Makes a channel whose senders never wait, one whose senders do, or a slot of its buffer.
    MakeUnbounded,
    MakeBounded,
    MakeSlot,
    /// Uses a channel.
    ChannelSend,
    ChannelTrySend,
    ChannelReceive,
    ChannelTryReceive,
    /// Receives in time.
    Deadline,
    /// Waits for the other side of a channel.
    ChannelWait,
    SenderClone,
    SenderDrop,
    ReceiverDrop,
}

impl Kind {
    /// All of them, by number.
    const ALL: [Kind; 22] = [
        Kind::User,
        Kind::Passes,
        Kind::Counts,
        Kind::AsksCount,
        Kind::DropsLast,
        Kind::Locks,
        Kind::Inside,
        Kind::Scope,
        Kind::Spawn,
        Kind::IsFinished,
        Kind::MakeUnbounded,
        Kind::MakeBounded,
        Kind::MakeSlot,
        Kind::ChannelSend,
        Kind::ChannelTrySend,
        Kind::ChannelReceive,
        Kind::ChannelTryReceive,
        Kind::Deadline,
        Kind::ChannelWait,
        Kind::SenderClone,
        Kind::SenderDrop,
        Kind::ReceiverDrop,
    ];

    #[inline]
    pub(crate) fn of_number(number: u8) -> Kind {
        Kind::ALL[usize::from(number)]
    }

    /// Where a thread is that comes from somewhere into such a function.
    #[inline]
    pub(crate) fn entered_from(self, before: Kind) -> Kind {
        match self {
            Kind::Passes => before,
            // What the standard library does for itself there, it does in the name of the first.
            kind if kind.is_plain() && before.is_inside() => before,
            Kind::Counts if before == Kind::AsksCount => before,
            kind => kind,
        }
    }

    /// Whether it is the standard library's own business what is done there.
    #[inline]
    pub(crate) fn is_inside(self) -> bool {
        !matches!(self, Kind::User | Kind::Passes | Kind::Locks) && !self.is_of_counts()
    }

    /// Whether it is about counts.
    #[inline]
    pub(crate) fn is_of_counts(self) -> bool {
        matches!(self, Kind::Counts | Kind::AsksCount | Kind::DropsLast)
    }

    /// Whether what is done there atomically to a word of so many bits is no event.
    #[inline]
    pub(crate) fn is_quiet(self, bits: u8) -> bool {
        match self {
            Kind::User | Kind::Passes => false,
            Kind::Locks => bits != u32::BITS as u8,
            _ => true,
        }
    }

    /// Whether it is nothing by itself to who is in the standard library anyway.
    fn is_plain(self) -> bool {
        matches!(self, Kind::Inside | Kind::Locks) || self.is_of_counts()
    }

    /// Whether the first use of memory there is an operation.
    #[inline]
    pub(crate) fn is_special(self) -> bool {
        self.is_inside() && self != Kind::Inside
    }
}

/// Crates that the standard library has inside.
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

/// The first rule whose path begins a function's is the one that holds.
const RULES: &[(&str, Kind)] = &[
    ("core::", Kind::Passes),
    // What the compiler puts between a program and its standard library.
    ("__rustc::__r", Kind::Passes),
    ("__rustc::", Kind::Inside),
    ("__rust_try", Kind::Passes),
    ("rust_eh_personality", Kind::Inside),
    ("hashbrown::", Kind::Passes),
    // Locks that are known as std's are.
    ("lock_api::mutex::", Kind::Passes),
    ("lock_api::rwlock::", Kind::Passes),
    ("lock_api::remutex::", Kind::Passes),
    ("parking_lot::raw_", Kind::Passes),
    ("parking_lot::condvar::Condvar::", Kind::Passes),
    ("alloc::sync::Arc::strong_count", Kind::AsksCount),
    ("alloc::sync::Arc::weak_count", Kind::AsksCount),
    ("alloc::sync::Arc::try_unwrap", Kind::AsksCount),
    ("alloc::sync::Arc::unwrap_or_clone", Kind::AsksCount),
    ("alloc::sync::Arc::into_inner", Kind::AsksCount),
    ("alloc::sync::Arc::get_mut", Kind::AsksCount),
    ("alloc::sync::Arc::make_mut", Kind::AsksCount),
    ("alloc::sync::Arc::is_unique", Kind::AsksCount),
    ("alloc::sync::Weak::upgrade", Kind::AsksCount),
    ("alloc::sync::Weak::strong_count", Kind::AsksCount),
    ("alloc::sync::Weak::weak_count", Kind::AsksCount),
    ("alloc::sync::Arc::drop_slow", Kind::DropsLast),
    ("alloc::sync::", Kind::Counts),
    ("alloc::", Kind::Passes),
    ("std::thread::local::", Kind::Passes),
    ("std::thread::scoped::scope::", Kind::Inside),
    ("std::thread::scoped::scope", Kind::Scope),
    ("std::thread::lifecycle::spawn_unchecked::", Kind::Inside),
    ("std::thread::lifecycle::spawn_unchecked", Kind::Spawn),
    (
        "std::thread::lifecycle::JoinInner::is_finished",
        Kind::IsFinished,
    ),
    (
        "std::thread::join_handle::JoinHandle::is_finished",
        Kind::IsFinished,
    ),
    (
        "std::thread::scoped::ScopedJoinHandle::is_finished",
        Kind::IsFinished,
    ),
    ("std::thread::thread::Thread::unpark", Kind::Locks),
    ("std::thread::Thread::unpark", Kind::Locks),
    ("std::thread::", Kind::Inside),
    ("std::sync::mpmc::channel", Kind::MakeUnbounded),
    ("std::sync::mpmc::sync_channel", Kind::MakeBounded),
    ("std::sync::mpmc::counter::new", Kind::Passes),
    (
        "std::sync::mpmc::counter::Sender::acquire",
        Kind::SenderClone,
    ),
    (
        "std::sync::mpmc::counter::Sender::release",
        Kind::SenderDrop,
    ),
    (
        "std::sync::mpmc::counter::Receiver::release",
        Kind::ReceiverDrop,
    ),
    (
        "std::sync::mpmc::array::Channel::with_capacity::{",
        Kind::MakeSlot,
    ),
    ("std::sync::mpmc::Receiver::recv_deadline", Kind::Deadline),
    (
        "std::sync::mpmc::context::Context::wait_until",
        Kind::ChannelWait,
    ),
    ("std::sync::poison::", Kind::Locks),
    ("std::sync::nonpoison::", Kind::Locks),
    ("std::sync::once", Kind::Locks),
    ("std::sync::lazy_lock::", Kind::Locks),
    ("std::sync::barrier::", Kind::Locks),
    ("std::sync::reentrant_lock::", Kind::Inside),
    ("std::sync::", Kind::Inside),
    (
        "std::sys::sync::thread_parking::futex::Parker::park",
        Kind::Inside,
    ),
    // What is done once is an operation as a whole.
    ("std::sys::sync::once::futex::Once::call", Kind::Inside),
    ("std::sys::sync::once::futex::Once::wait", Kind::Inside),
    (
        "std::sys::sync::once::futex::CompletionGuard::",
        Kind::Inside,
    ),
    ("std::sys::sync::", Kind::Locks),
    // Does nothing but call what the user wants a thread to do, which optimising compilers inline here.
    (
        "std::sys::backtrace::__rust_begin_short_backtrace",
        Kind::User,
    ),
    ("std::sys::", Kind::Inside),
    ("std::rt::", Kind::Inside),
    ("std::panicking::", Kind::Counts),
    ("std::io::", Kind::Counts),
    ("std::fs::", Kind::Counts),
    ("std::net::", Kind::Counts),
    ("std::process::", Kind::Counts),
    ("std::env::", Kind::Counts),
    ("std::time::", Kind::Counts),
    ("std::backtrace", Kind::Inside),
    ("std::", Kind::Passes),
    ("test::", Kind::Inside),
    ("proc_macro::", Kind::Inside),
];

/// The kind of a function with this name, demangled.
pub(crate) fn kind(name: &str) -> Kind {
    kind_of(&path(name))
}

/// The kind of a function with this path.
pub(crate) fn kind_of(path: &str) -> Kind {
    let first = path.split("::").next().unwrap_or_default();
    if INNER.contains(&first) {
        return Kind::Inside;
    }
    if let Some(kind) = of_channel(path) {
        return kind;
    }
    let rule = RULES.iter().find(|(start, _)| path.starts_with(start));
    rule.map_or(Kind::User, |&(_, kind)| kind)
}

/// The kind of a method of a channel that has the same name in all flavours.
fn of_channel(path: &str) -> Option<Kind> {
    let (_, method) = path
        .strip_prefix("std::sync::mpmc::")?
        .split_once("::Channel::")?;
    match method {
        "send" => Some(Kind::ChannelSend),
        "try_send" => Some(Kind::ChannelTrySend),
        "recv" => Some(Kind::ChannelReceive),
        "try_recv" => Some(Kind::ChannelTryReceive),
        _ => None,
    }
}

/// The path of a function without what it is generic over. Of a method, that of its type; if the type is
/// anything or nobody's, that of the trait.
pub(crate) fn path(name: &str) -> String {
    let mut path = String::new();
    let mut rest = name;
    // Hashes of crates come with some versions of names.
    while let Some(c) = rest.chars().next() {
        match c {
            '<' if path.is_empty() => {
                let (inside, after) = bracket(rest);
                path = of_type(inside);
                rest = after;
            }
            '<' => {
                let (inside, after) = bracket(rest);
                // `<impl Trait for Type>` says which type a method of a module is of.
                let own = inside.strip_prefix("impl ").map(|own| {
                    let own = own.rsplit_once(" for ").map_or(own, |(_, own)| own);
                    head(own)
                });
                match own {
                    Some(own) if is_somebodys(&own) => path = own,
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

/// What is in the brackets that a text begins with, and what comes after them.
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

/// The path of `Type` or `Type as Trait`.
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
    match is_somebodys(&own) {
        true => own,
        false => of_trait,
    }
}

/// The path of a type, without references to it.
fn head(text: &str) -> String {
    let text = text.trim_start_matches(['&', '*', '(', '[', ' ']);
    let prefixes = ["mut ", "const ", "dyn ", "impl "];
    match prefixes.iter().find_map(|it| text.strip_prefix(it)) {
        Some(rest) => head(rest),
        None => path(text),
    }
}

/// Whether it is the path of something in a crate, and no primitive type or parameter.
fn is_somebodys(path: &str) -> bool {
    path.contains("::")
}

/// The atomic type whose function this is, by its whole name.
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
