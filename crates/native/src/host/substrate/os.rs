//! Guest code on OS threads, all on one processor: 2,500 ns a switch.
//!
//! The C library makes these threads, so they have everything that real threads have. The coroutine of a
//! thread passes the token to it and waits, performs its requests, during which other threads may run, and
//! passes the token back.

use std::ffi::c_void;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::Substrate;
use super::thread::{self, Order, Request, Thread};
use crate::abi::guest::GUEST;
use crate::abi::stack::{self, Frame};
use crate::host::mode::next_epoch;
use crate::host::process_state::ProcessState;

/// The substrate with threads as OS threads.
pub(crate) struct OsThreads;

#[derive(Default)]
struct Threads {
    #[expect(
        clippy::vec_box,
        reason = "a thread must not move while the list grows"
    )]
    running: Vec<Box<Thread>>,
    /// Memory of threads that have ended.
    unused: Vec<usize>,
}

static THREADS: ProcessState<Threads> = ProcessState::new(Threads {
    running: Vec::new(),
    unused: Vec::new(),
});
/// The thread that has the token; null while the host has it.
static CURRENT: AtomicPtr<Thread> = AtomicPtr::new(std::ptr::null_mut());

fn find(pointer: usize) -> Option<*const Thread> {
    let threads = THREADS.get();
    let found = threads.running.iter().find(|it| it.pointer() == pointer);
    found.map(|thread| &raw const **thread)
}

pub(super) fn end_of_stack(pointer: usize) -> Option<usize> {
    // SAFETY: `THREADS` owns the thread until the execution ends.
    find(pointer).map(|thread| unsafe { (*thread).end_of_stack() })
}

/// Returns the end of the running guest's part of its stack. The guest has the token.
pub(super) fn bottom() -> usize {
    // SAFETY: `CURRENT` is the thread that calls this, which `THREADS` owns until the execution ends.
    unsafe { (*CURRENT.load(Relaxed)).frame().stack() }
}

/// Leaves the current function of the calling guest, which has the token.
pub(super) fn leave(result: usize) -> ! {
    // SAFETY: `CURRENT` is the thread that calls this, inside of the function of its last frame. Callers have
    // nothing to drop.
    unsafe {
        let frame = (*CURRENT.load(Relaxed)).frame();
        stack::leave(frame, result)
    }
}

impl Substrate for OsThreads {
    fn create(_number: usize) -> usize {
        let used = THREADS.get().unused.pop();
        let memory = match used {
            Some(memory) => memory,
            None => thread::map(),
        };
        let thread = Thread::new(memory);
        let pointer = thread.pointer();
        THREADS.get().running.push(thread);
        pointer
    }

    unsafe fn run(
        (function, argument): (usize, usize),
        pointer: usize,
        frame: *mut Frame,
    ) -> usize {
        let thread = find(pointer).expect("raddle: a guest without an OS thread");
        // SAFETY: `THREADS` owns the thread until the execution ends.
        let known = unsafe { &*thread };
        let depth = known.depth();
        let task = Task {
            thread,
            function,
            argument,
        };
        let stand_in = stand_in as extern "C" fn(&Task) -> usize as usize;
        // SAFETY: the function takes the task, which outlives the call. Leaving the call drops nothing,
        // because the OS thread is still inside of its own.
        let result = unsafe { stack::call(stand_in, &raw const task as usize, frame) };
        if known.depth() > depth {
            known.give(Order::Leave { depth });
        }
        result
    }

    fn host<R>(work: impl FnOnce() -> R) -> R {
        let mut task = Work {
            work: ManuallyDrop::new(work),
            result: MaybeUninit::uninit(),
        };
        let thread = CURRENT.load(Relaxed);
        let run = runner(&task);
        // SAFETY: the caller has the token, so that `CURRENT` is its thread. The host has run the work, which
        // sets the result, when the thread continues.
        unsafe {
            (*thread).ask(Request::Work(run, (&raw mut task).cast()));
            task.result.assume_init_read()
        }
    }

    fn end_execution() {
        let threads = std::mem::take(&mut THREADS.get().running);
        for thread in threads {
            let memory = thread.end();
            thread::clean(memory);
            THREADS.get().unused.push(memory);
        }
    }
}

/// Host code that a guest requests, and its result.
struct Work<F, R> {
    work: ManuallyDrop<F>,
    result: MaybeUninit<R>,
}

/// Returns the function that runs work of this type.
fn runner<F: FnOnce() -> R, R>(_: &Work<F, R>) -> unsafe fn(*mut c_void) {
    do_work::<F, R>
}

/// # Safety
///
/// It must be called once for each work.
unsafe fn do_work<F: FnOnce() -> R, R>(task: *mut c_void) {
    // SAFETY: the guest waits with the task on its stack, and the host runs each work once, so that it can be
    // taken.
    unsafe {
        let task = task.cast::<Work<F, R>>();
        let work = ManuallyDrop::take(&mut (*task).work);
        let result = work();
        (*task).result.write(result);
    }
}

struct Task {
    thread: *const Thread,
    function: usize,
    argument: usize,
}

/// Body of the coroutine while the OS thread runs a function.
extern "C" fn stand_in(task: &Task) -> usize {
    // SAFETY: `THREADS` owns the thread until the execution ends.
    let thread = unsafe { &*task.thread };
    let mut order = Order::Run {
        function: task.function,
        argument: task.argument,
    };
    loop {
        CURRENT.store(task.thread.cast_mut(), Relaxed);
        GUEST.store(thread.pointer(), Relaxed);
        match thread.give(order) {
            Request::Work(work, data) => {
                next_epoch();
                // SAFETY: the guest has passed the function together with its data, and waits.
                unsafe { work(data) };
                next_epoch();
                order = Order::GoOn;
            }
            Request::Returned(result) => return result,
            Request::Ready => unreachable!("raddle: a thread begins once"),
        }
    }
}

/// Affinity of the calling OS thread before it was pinned. Meanwhile it and the threads that it
/// starts stay on one processor.
pub(crate) struct Pinned(libc::cpu_set_t);

impl Pinned {
    pub(super) fn new() -> Self {
        // SAFETY: `cpu_set_t` is an array of bits, in which all-zero is valid, and the calls read and write
        // sets of this size.
        unsafe {
            let mut before: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of_val(&before), &mut before);
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut one);
            libc::sched_setaffinity(0, size_of_val(&one), &one);
            Pinned(before)
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the kernel reads a set of this size.
        unsafe { libc::sched_setaffinity(0, size_of_val(&self.0), &self.0) };
    }
}
