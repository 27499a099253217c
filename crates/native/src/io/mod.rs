//! Reading and writing: a call that would block in the kernel blocks the thread, and others run.
//!
//! Each channel between threads of the program (pipes, sockets, event counters) has a queue
//! ([`queues`]). Using it synchronizes with its other users; then the kernel is queried if the call
//! would block. If so, the thread waits until another thread has used it. So there is no polling,
//! the engine has the write that a read depends on, and a wait that no thread can end is a
//! deadlock.
//!
//! Calls that depend on the outside (terminals, other processes) block in the kernel.

pub(crate) mod inherited;
pub(crate) mod opened;
mod polling;
mod transfer;

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::host::imports;
use crate::process::children;
use crate::threads::queues::{self, QueueKey};
use crate::threads::requests::{self, Interrupt};
use crate::threads::{guests, interrupts, signals};

/// Kinds of descriptors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DescriptorKind {
    /// A channel between threads of the program.
    Inside(QueueKey),
    /// A file, where the order of uses matters and no call waits.
    File(QueueKey),
    /// Anything else.
    Outside,
}

/// First address of queues for descriptors, beyond the program's addresses.
const FIRST: usize = 1 << 60;
const EVERYTHING: QueueKey = QueueKey {
    address: FIRST,
    kind: "descriptors",
};
const SOCKETS: QueueKey = QueueKey {
    address: FIRST + 16,
    kind: "sockets",
};
const EVENTS: QueueKey = QueueKey {
    address: FIRST + 32,
    kind: "events",
};

/// Functions that wait for several descriptors at once.
const POLLERS: &[&str] = &[
    "poll",
    "ppoll",
    "__poll_chk",
    "select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
];

/// True if the program waits for several descriptors at once. Then all of them have one queue, so
/// that polling several is one step.
fn is_one_place() -> bool {
    static IS_ONE: OnceLock<bool> = OnceLock::new();
    *IS_ONE.get_or_init(|| imports::any(POLLERS))
}

fn status(descriptor: c_int) -> Option<libc::stat> {
    // SAFETY: `stat` is a struct of numbers, in which all-zero is valid, and the kernel writes one.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &mut status) == 0).then_some(status)
    }
}

/// Returns the kind of a descriptor.
pub(crate) fn kind(descriptor: c_int) -> DescriptorKind {
    let Some(status) = status(descriptor) else {
        return DescriptorKind::Outside;
    };
    // Some file systems use the highest bits, too.
    let number = status.st_ino as usize & ((1 << 55) - 1);
    let own = |kind| QueueKey {
        address: FIRST + (number + 8) * 16,
        kind,
    };
    let place = match status.st_mode & libc::S_IFMT {
        // The file behind standard output does not affect the program.
        libc::S_IFREG if descriptor > libc::STDERR_FILENO => {
            return DescriptorKind::File(own("file"));
        }
        libc::S_IFIFO if opened::is_own(&status) => own("pipe"),
        libc::S_IFSOCK if opened::is_own(&status) => SOCKETS,
        0 if opened::is_own(&status) && !opened::is_timer(descriptor) => EVENTS,
        _ => return DescriptorKind::Outside,
    };
    match children::were_started() {
        true => DescriptorKind::Outside,
        false if is_one_place() => DescriptorKind::Inside(EVERYTHING),
        false => DescriptorKind::Inside(place),
    }
}

/// Direction of data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    In,
    Out,
}

/// True if the descriptor can be used without waiting.
fn is_ready(descriptor: c_int, way: Way) -> bool {
    let events = match way {
        Way::In => libc::POLLIN,
        Way::Out => libc::POLLOUT,
    };
    let mut asked = libc::pollfd {
        fd: descriptor,
        events,
        revents: 0,
    };
    // SAFETY: the kernel reads and writes one `pollfd`, of which there is one.
    unsafe { libc::poll(&mut asked, 1, patience(descriptor)) > 0 }
}

/// Returns the maximum delay of data that was already sent, in milliseconds.
fn patience(descriptor: c_int) -> c_int {
    let mut domain: c_int = 0;
    let mut size = size_of::<c_int>() as libc::socklen_t;
    let to = (&raw mut domain).cast();
    // SAFETY: the kernel writes at most `size` bytes, which is the size of the variable.
    let error =
        unsafe { libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_DOMAIN, to, &mut size) };
    match error == 0 && domain != libc::AF_UNIX {
        true => 2,
        false => 0,
    }
}

fn is_nonblocking(descriptor: c_int) -> bool {
    // SAFETY: `F_GETFL` has no precondition: a number that is no descriptor is an error.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    flags != -1 && flags & libc::O_NONBLOCK != 0
}

/// Returns a description of a wait. Descriptions are kept, because there are few and every
/// execution uses them.
fn wish(descriptor: c_int, way: Way) -> &'static str {
    static WISHES: Mutex<BTreeMap<(c_int, Way), &'static str>> = Mutex::new(BTreeMap::new());
    let mut wishes = WISHES.lock().unwrap_or_else(PoisonError::into_inner);
    wishes.entry((descriptor, way)).or_insert_with(|| {
        let text = match way {
            Way::In => format!("data from descriptor {descriptor}"),
            Way::Out => format!("room in descriptor {descriptor}"),
        };
        text.leak()
    })
}

/// Uses a descriptor: waits as long as the kernel would, and then performs the operation. Fails
/// with `EINTR` if the thread was cancelled or a signal interrupts the wait. With `at_once` it does
/// not wait.
pub(crate) fn operate<R>(
    descriptor: c_int,
    way: Way,
    at_once: bool,
    code: usize,
    mut operation: impl FnMut() -> Result<R, c_int>,
) -> Result<R, c_int> {
    let place = match kind(descriptor) {
        DescriptorKind::Outside => return operation(),
        DescriptorKind::File(place) => {
            queues::synchronize(place, code);
            return operation();
        }
        DescriptorKind::Inside(place) => place,
    };
    if at_once || is_nonblocking(descriptor) {
        queues::observe(place, code);
        if !is_ready(descriptor, way) {
            return operation();
        }
        queues::synchronize(place, code);
        let result = operation();
        queues::wake_all(place, code);
        return result;
    }
    loop {
        queues::synchronize(place, code);
        if is_ready(descriptor, way) || is_alone(place) {
            let result = operation();
            queues::wake_all(place, code);
            return result;
        }
        wait(place, wish(descriptor, way), code)?;
    }
}

/// True if only other processes can end a wait.
fn is_alone(place: QueueKey) -> bool {
    place == SOCKETS && guests::alive() < 2
}

/// Waits until another thread uses the queue. The running thread must have just synchronized with
/// it.
pub(crate) fn wait(place: QueueKey, wish: &'static str, code: usize) -> Result<(), c_int> {
    let waiter = queues::new_waiter(wish);
    queues::enqueue(place, waiter);
    let interrupt = requests::wait(waiter, code);
    if interrupt == Interrupt::None {
        return Ok(());
    }
    queues::synchronize(place, code);
    queues::remove(place, waiter);
    let goes_on = interrupts::act(interrupt, code);
    match goes_on && signals::restarts() {
        true => Ok(()),
        false => Err(libc::EINTR),
    }
}
