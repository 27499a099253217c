//! Self-test of coroutines on this system. It compares the C library's data structures with the
//! expected layout, and runs a guest that inspects its own state.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;

use super::{Coroutines, Substrate};
use crate::abi::guest;
use crate::abi::stack::Frame;
use crate::host::{mode, tls};

/// Reasons why coroutines do not work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    /// The environment forces a failure, for tests.
    Wanted,
    /// The C library does not allocate blocks of thread-local storage for others.
    UnknownLibrary,
    /// A field of the thread's header has another value than expected.
    Header(&'static str),
    /// The thread pointer cannot be changed.
    ThreadPointer,
    /// State that the thread shares with others.
    Shared(&'static str),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wanted => write!(f, "{VARIABLE} says so"),
            Self::UnknownLibrary => f.write_str("the C library is not one that raddle knows"),
            Self::Header(field) => write!(f, "the C library keeps the {field} somewhere else"),
            Self::ThreadPointer => f.write_str("the system does not let the thread pointer be set"),
            Self::Shared(what) => write!(f, "{what} would be shared by all threads"),
        }
    }
}

/// Variable whose value `fail` makes the test fail.
const VARIABLE: &str = "RADDLE_SELF_TEST";
/// Value that no thread has in `errno`.
const STRANGE: i32 = 4321;

thread_local! {
    static OWN: Cell<i32> = const { Cell::new(0) };
}

pub(super) fn run() -> Result<(), Problem> {
    if std::env::var_os(VARIABLE).is_some_and(|it| it == "fail") {
        return Err(Problem::Wanted);
    }
    if !tls::is_known() {
        return Err(Problem::UnknownLibrary);
    }
    look_at_header()?;
    look_around()
}

/// Checks the fields that are copied to the headers of guests, and the number of the thread.
fn look_at_header() -> Result<(), Problem> {
    let start = guest::thread_pointer();
    // SAFETY: the header of every thread is at its thread pointer, and larger than these offsets.
    let field = |at: usize| unsafe { ((start + at) as *const usize).read() };
    if tls::SELF.iter().any(|&at| field(at) != start) {
        return Err(Problem::Header("thread pointer"));
    }
    // SAFETY: AT_RANDOM is null or the address of 16 bytes that live as long as the process; the other call
    // has no precondition.
    let (number, random) = unsafe {
        let random = libc::getauxval(libc::AT_RANDOM) as *const [usize; 2];
        (libc::gettid() as u32, random.as_ref())
    };
    if field(tls::number_field()) as u32 != number {
        return Err(Problem::Header("number of a thread"));
    }
    if let Some([stack, pointer]) = random {
        // The first byte is zero and ends a string, so that strings do not run over it.
        if field(tls::STACK_GUARD) != stack & !0xff {
            return Err(Problem::Header("guard of the stack"));
        }
        if field(tls::POINTER_GUARD) != *pointer {
            return Err(Problem::Header("guard of pointers"));
        }
    }
    Ok(())
}

/// State that a guest reads.
struct Found {
    pointer: usize,
    name: usize,
    errno: i32,
    own: i32,
}

/// As guest: reads the state, and changes its own.
extern "C" fn explore(found: *mut c_void) -> usize {
    // SAFETY: the host passes the address of a `Found` that outlives the call, and `pthread_self` has no
    // precondition.
    unsafe {
        *found.cast() = Found {
            pointer: guest::thread_pointer(),
            name: libc::pthread_self() as usize,
            errno: mode::errno(),
            own: OWN.get(),
        };
    }
    mode::set_errno(STRANGE + 1);
    OWN.set(STRANGE + 1);
    0
}

fn look_around() -> Result<(), Problem> {
    let before = mode::errno();
    let pointer = Coroutines::create(0);
    mode::set_errno(STRANGE);
    OWN.set(STRANGE);
    let mut frame = Frame::default();
    let mut found = Found {
        pointer: 0,
        name: 0,
        errno: 0,
        own: 0,
    };
    let explore = explore as extern "C" fn(*mut c_void) -> usize as usize;
    let task = (explore, &raw mut found as usize);
    // SAFETY: the function is for guests and takes the address of a `Found`, which outlives the call. The
    // block of thread-local storage was just made.
    unsafe { Coroutines::run(task, pointer, &mut frame) };
    let (errno, own) = (mode::errno(), OWN.get());
    mode::set_errno(before);
    OWN.set(0);
    if found.pointer != pointer {
        return Err(Problem::ThreadPointer);
    }
    if found.name != pointer {
        return Err(Problem::Header("name of a thread"));
    }
    if (found.errno, errno) != (0, STRANGE) {
        return Err(Problem::Shared("`errno`"));
    }
    if (found.own, own) != (0, STRANGE) {
        return Err(Problem::Shared("thread-local variables"));
    }
    Ok(())
}
