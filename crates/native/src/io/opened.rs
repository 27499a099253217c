//! Descriptors that the program has opened in the running execution. They are closed when the next
//! one begins.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::{DescriptorKind, inherited, status};
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::execution::part::{Part, PartCell};
use crate::host::mode;
use crate::host::system::outcome;
use crate::threads::interpose::system_calls;
use crate::threads::queues;

/// Identity of a file: its device and its number there.
type Identity = (u64, u64);

fn identity(status: &libc::stat) -> Identity {
    (status.st_dev, status.st_ino)
}

/// Files of which the program has both ends; those from before the check are first.
static OWN: Mutex<Vec<Identity>> = Mutex::new(Vec::new());
/// Number of those from before the check.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

/// Changes of descriptors by the execution. They are undone at its end.
#[derive(Default)]
pub(crate) struct Descriptors {
    /// Descriptors that the execution has opened, and may have closed.
    opened: Vec<(c_int, Identity)>,
    /// True if the execution has closed or replaced an inherited descriptor.
    is_inherited_disturbed: bool,
}

impl Part for Descriptors {}

pub(crate) static DESCRIPTORS: PartCell<Descriptors> = PartCell::new();

impl Drop for Descriptors {
    fn drop(&mut self) {
        for &(descriptor, before) in &self.opened {
            // The number may be that of another file by now.
            if status(descriptor).is_some_and(|now| identity(&now) == before) {
                // SAFETY: the program has opened the descriptor in an execution that is over, so that it is
                // not used any more.
                unsafe { libc::close(descriptor) };
            }
        }
        lock(&OWN).truncate(BEFORE.load(Relaxed));
        inherited::restore(self.is_inherited_disturbed);
    }
}

fn lock<T>(list: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the files from before the check, at its beginning.
pub(crate) fn remember() {
    BEFORE.store(lock(&OWN).len(), Relaxed);
}

/// True if the execution has changed no descriptor.
pub(crate) fn are_unused() -> bool {
    let descriptors = DESCRIPTORS.get();
    descriptors.opened.is_empty() && !descriptors.is_inherited_disturbed
}

/// Records a descriptor that the program has opened.
fn add(descriptor: c_int) {
    let Some(status) = status(descriptor) else {
        return;
    };
    let opened = (descriptor, identity(&status));
    DESCRIPTORS.get().opened.push(opened);
}

/// Records that the program is about to close this descriptor, or has replaced it.
fn disturb(descriptor: c_int) {
    if inherited::contains(descriptor) {
        DESCRIPTORS.get().is_inherited_disturbed = true;
    }
}

/// Records an open descriptor of a file of which the program has both ends.
fn add_own(descriptor: c_int) {
    if let Some(status) = status(descriptor) {
        let mut own = lock(&OWN);
        if !own.contains(&identity(&status)) {
            own.push(identity(&status));
        }
    }
}

/// Timers, which the kernel reports as anonymous files like event counters; they are not modelled.
static TIMERS: Mutex<Vec<c_int>> = Mutex::new(Vec::new());

pub(super) fn is_timer(descriptor: c_int) -> bool {
    lock(&TIMERS).contains(&descriptor)
}

/// True if the program has both ends of the file.
pub(super) fn is_own(status: &libc::stat) -> bool {
    lock(&OWN).contains(&identity(status))
}

/// Defines functions that open a descriptor; `own` if the program has both ends of the file.
macro_rules! opening {
    ($($own:ident fn $name:ident($($argument:ident: $type:ty),*) as $to:ident($register:literal);)*) => {
        $(
            crate::abi::trampoline::watched! {
                fn $name($($argument: $type),*) -> c_int as $to($register);
            }

            extern "C" fn $to($($argument: $type,)* _code: usize) -> c_int {
                let descriptor = forward!(fn $name($($argument: $type),*) -> c_int);
                if descriptor >= 0 {
                    noted(descriptor, stringify!($own) == "own", stringify!($own) == "timer");
                }
                descriptor
            }
        )*
    };
}

/// Records a descriptor that a guest or raddle has opened.
fn noted(descriptor: c_int, is_own: bool, is_timer: bool) {
    let note = || {
        if is_own {
            add_own(descriptor);
        }
        lock(&TIMERS).retain(|&timer| timer != descriptor);
        if is_timer {
            lock(&TIMERS).push(descriptor);
        }
    };
    match mode::is_guest() {
        true => mode::host(|| {
            note();
            disturb(descriptor);
            add(descriptor);
        }),
        false => note(),
    }
}

/// Records the descriptor that a system call by number has returned: some libraries open
/// descriptors so.
pub(crate) fn called(number: c_long, result: c_long) {
    let own = [
        libc::SYS_eventfd,
        libc::SYS_eventfd2,
        libc::SYS_epoll_create1,
        libc::SYS_socket,
    ];
    let (is_own, is_timer) = (own.contains(&number), number == libc::SYS_timerfd_create);
    if (is_own || is_timer) && result >= 0 {
        noted(result as c_int, is_own, is_timer);
    }
}

type Text = *const c_char;
type Stream = *mut libc::FILE;
type Address = *const libc::sockaddr;

opening! {
    own fn socket(domain: c_int, kind: c_int, protocol: c_int) as socket_opened("rcx");
    own fn eventfd(value: c_uint, flags: c_int) as counter_opened("rdx");
    timer fn timerfd_create(clock: c_int, flags: c_int) as timer_opened("rdx");
    own fn epoll_create(size: c_int) as set_opened("rsi");
    own fn epoll_create1(flags: c_int) as set_opened_too("rsi");
    other fn open(path: Text, flags: c_int, mode: c_uint) as file_opened("rcx");
    other fn open64(path: Text, flags: c_int, mode: c_uint) as file_opened_64("rcx");
    other fn openat(at: c_int, path: Text, flags: c_int, mode: c_uint) as file_opened_at("r8");
    other fn openat64(at: c_int, path: Text, flags: c_int, mode: c_uint) as file_opened_at_64("r8");
    other fn creat(path: Text, mode: c_uint) as file_made("rdx");
    other fn mkstemp(path: *mut c_char) as file_made_up("rsi");
    other fn memfd_create(name: Text, flags: c_uint) as memory_opened("rdx");
    other fn dup(descriptor: c_int) as again("rsi");
    other fn dup2(descriptor: c_int, number: c_int) as again_as("rdx");
    other fn dup3(descriptor: c_int, number: c_int, flags: c_int) as again_as_too("rcx");
}

/// Two descriptors, the ends of one channel.
type Both = GuestPtr<[c_int; 2]>;

/// Defines functions that open two descriptors.
macro_rules! opening_two {
    ($(fn $name:ident($($argument:ident: $type:ty),*) as $to:ident($register:literal) $both:ident;)*) => {
        $(
            crate::abi::trampoline::watched! {
                fn $name($($argument: $type),*) -> c_int as $to($register);
            }

            extern "C" fn $to($($argument: $type,)* _code: usize) -> c_int {
                let error = forward!(fn $name($($argument: $type),*) -> c_int);
                if error == 0 {
                    for descriptor in $both.read() {
                        noted(descriptor, true, false);
                    }
                }
                error
            }
        )*
    };
}

opening_two! {
    fn pipe(both: Both) as pipe_opened("rsi") both;
    fn pipe2(both: Both, flags: c_int) as pipe_opened_too("rdx") both;
    fn socketpair(
        domain: c_int, kind: c_int, protocol: c_int, both: Both
    ) as sockets_opened("r8") both;
}

/// Defines functions that open a stream.
macro_rules! opening_stream {
    ($(fn $name:ident($($argument:ident: $type:ty),*) as $to:ident($register:literal);)*) => {
        $(
            crate::abi::trampoline::watched! {
                fn $name($($argument: $type),*) -> *mut libc::FILE as $to($register);
            }

            extern "C" fn $to($($argument: $type,)* _code: usize) -> *mut libc::FILE {
                let stream = forward!(fn $name($($argument: $type),*) -> *mut libc::FILE);
                if !stream.is_null() {
                    // SAFETY: `fileno` needs an open stream. The C library has just opened this one, and its
                    // user has not got it yet.
                    let descriptor = unsafe { libc::fileno(stream) };
                    noted(descriptor, false, false);
                }
                stream
            }
        )*
    };
}

opening_stream! {
    fn fopen(path: Text, mode: Text) as stream_opened("rdx");
    fn fopen64(path: Text, mode: Text) as stream_opened_64("rdx");
    fn tmpfile() as stream_made_up("rdi");
    fn freopen(path: Text, mode: Text, stream: Stream) as stream_reopened("rcx");
    fn freopen64(path: Text, mode: Text, stream: Stream) as stream_reopened_64("rcx");
}

crate::abi::trampoline::watched! {
    fn fclose(stream: Stream) -> c_int as stream_closed("rsi");
}

extern "C" fn stream_closed(stream: Stream, _code: usize) -> c_int {
    let descriptor = match stream.is_null() {
        true => -1,
        // SAFETY: `fileno` needs an open stream, and so does `fclose`, which the program has called with it.
        false => unsafe { libc::fileno(stream) },
    };
    if mode::is_guest() {
        mode::host(|| disturb(descriptor));
    }
    forward!(fn fclose(stream: Stream) -> c_int)
}

/// Accepts the next connection, once there is one.
fn take_connection(
    listener: c_int,
    code: usize,
    mut real: impl FnMut() -> c_int,
) -> Result<isize, c_int> {
    let connection = super::operate(listener, super::Way::In, false, code, || {
        outcome(real() as isize)
    })?;
    add_own(connection as c_int);
    add(connection as c_int);
    Ok(connection)
}

system_calls! {
    fn accept(
        listener: c_int, from: *mut c_void, size: *mut c_void
    ) -> c_int as connection_opened("rcx") code {
        take_connection(listener, code, || {
            forward!(fn accept(listener: c_int, from: *mut c_void, size: *mut c_void) -> c_int)
        })
    }

    fn accept4(
        listener: c_int, from: *mut c_void, size: *mut c_void, flags: c_int
    ) -> c_int as connection_opened_too("r8") code {
        take_connection(listener, code, || {
            forward!(fn accept4(
                listener: c_int, from: *mut c_void, size: *mut c_void, flags: c_int
            ) -> c_int)
        })
    }

    fn connect(socket: c_int, to: Address, size: c_uint) -> c_int as connected("rcx") code {
        changed(socket, code, || {
            forward!(fn connect(socket: c_int, to: Address, size: c_uint) -> c_int)
        })
    }

    fn listen(socket: c_int, most: c_int) -> c_int as listening("rdx") code {
        changed(socket, code, || forward!(fn listen(socket: c_int, most: c_int) -> c_int))
    }

    fn shutdown(socket: c_int, how: c_int) -> c_int as shut("rdx") code {
        changed(socket, code, || forward!(fn shutdown(socket: c_int, how: c_int) -> c_int))
    }

    fn close(descriptor: c_int) -> c_int as closed("rsi") code {
        disturb(descriptor);
        changed(descriptor, code, || forward!(fn close(descriptor: c_int) -> c_int))
    }
}

/// Performs an operation that affects other users of the descriptor.
fn changed(
    descriptor: c_int,
    code: usize,
    mut real: impl FnMut() -> c_int,
) -> Result<isize, c_int> {
    match super::kind(descriptor) {
        DescriptorKind::Inside(place) => {
            queues::synchronize(place, code);
            let result = outcome(real() as isize);
            queues::wake_all(place, code);
            result
        }
        DescriptorKind::File(_) | DescriptorKind::Outside => outcome(real() as isize),
    }
}
