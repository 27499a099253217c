//! An OS thread under the host's orders.
//!
//! The thread waits. The host orders it to run a function. A function that needs the host makes a
//! request and waits. Meanwhile the thread may be ordered to run another function, to continue, or
//! to leave its current function. So its calls are nested like those of its coroutine.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use super::baton::{self, Baton, Side};
use crate::abi::guest;
use crate::abi::real::real;
use crate::abi::stack::{self, Frame};
use crate::host::{arena, dispatch};

/// Bytes for signal handlers, below the stack and an inaccessible page.
const HANDLERS: usize = 64 << 10;
const PAGE: usize = 4096;
const WHOLE: usize = HANDLERS + PAGE + stack::STACK;
/// Signals for faults of the thread itself; all others are for the OS thread that runs the check.
const OWN_SIGNALS: [c_int; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Orders of the host.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Run {
        function: usize,
        argument: usize,
    },
    GoOn,
    /// Leave the functions from this depth on.
    Leave {
        depth: usize,
    },
    End,
}

/// Requests of the thread.
#[derive(Clone, Copy)]
pub(super) enum Request {
    Ready,
    /// Call this function with this argument.
    Work(unsafe fn(*mut c_void), *mut c_void),
    Returned(usize),
}

pub(super) struct Thread {
    baton: Baton,
    order: Cell<Order>,
    request: Cell<Request>,
    /// Frames of the functions that the thread runs, outermost first.
    frames: RefCell<Vec<*const Frame>>,
    /// End of the guest's part of the stack.
    end_of_stack: Cell<usize>,
    name: Cell<libc::pthread_t>,
    memory: usize,
}

impl Thread {
    /// Starts an OS thread with this memory for its stack. The value must not move, and must
    /// outlive the OS thread.
    pub(super) fn new(memory: usize) -> Box<Self> {
        let thread = Box::new(Thread {
            baton: Baton::new(Side::Guest),
            order: Cell::new(Order::GoOn),
            request: Cell::new(Request::Ready),
            frames: RefCell::default(),
            end_of_stack: Cell::new(0),
            name: Cell::new(0),
            memory,
        });
        thread.start();
        thread.baton.wait_for(Side::Host);
        thread
    }

    fn start(&self) {
        type Name = *mut libc::pthread_t;
        type Start = extern "C" fn(*mut c_void) -> *mut c_void;
        let create = real!(
            fn pthread_create(Name, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int
        );
        // SAFETY: `pthread_create` needs a stack that is mapped and unused, which `memory` has, and an
        // argument for the function: this value, which is joined before it is dropped. Signals are those of
        // the caller again afterwards.
        unsafe {
            let mut attributes = MaybeUninit::uninit();
            libc::pthread_attr_init(attributes.as_mut_ptr());
            let stack = (self.memory + HANDLERS + PAGE) as *mut c_void;
            libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack, stack::STACK);
            let (mut blocked, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            libc::sigfillset(blocked.as_mut_ptr());
            for signal in OWN_SIGNALS {
                libc::sigdelset(blocked.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, blocked.as_ptr(), before.as_mut_ptr());
            let argument = std::ptr::from_ref(self).cast_mut().cast();
            let error = create(self.name.as_ptr(), attributes.as_ptr(), live, argument);
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            assert!(
                error == 0,
                "raddle: no OS thread for a thread: error {error}"
            );
        }
    }

    /// Returns its thread pointer, which is its name in the C library.
    pub(super) fn pointer(&self) -> usize {
        self.name.get() as usize
    }

    pub(super) fn end_of_stack(&self) -> usize {
        self.end_of_stack.get()
    }

    /// Returns the number of nested functions that the thread runs.
    pub(super) fn depth(&self) -> usize {
        self.frames.borrow().len()
    }

    /// For the host: gives an order and waits for the next request.
    pub(super) fn give(&self, order: Order) -> Request {
        self.order.set(order);
        self.baton.hand_to(Side::Guest);
        self.baton.wait_for(Side::Host);
        self.request.get()
    }

    /// Ends the thread; returns its memory for reuse.
    pub(super) fn end(&self) -> usize {
        self.order.set(Order::End);
        self.baton.hand_to(Side::Guest);
        // SAFETY: `pthread_join` needs a thread that was started and not joined: `start` has set the name,
        // and only this function joins.
        unsafe {
            real!(fn pthread_join(libc::pthread_t, *mut c_void) -> c_int)(
                self.name.get(),
                null_mut(),
            )
        };
        self.memory
    }

    /// For the thread: makes a request and follows orders until it may continue.
    pub(super) fn ask(&self, request: Request) {
        self.say(request);
        self.obey();
    }

    fn say(&self, request: Request) {
        self.request.set(request);
        guest::GUEST.store(0, std::sync::atomic::Ordering::Relaxed);
        self.baton.hand_to(Side::Host);
    }

    fn obey(&self) {
        loop {
            self.baton.wait_for(Side::Guest);
            match self.order.get() {
                Order::GoOn => return,
                Order::End => baton::exit(),
                Order::Run { function, argument } => {
                    let result = self.run(function, argument);
                    self.say(Request::Returned(result));
                }
                Order::Leave { depth } => {
                    let frame = self.frames.borrow()[depth];
                    // SAFETY: the frame is on the list while its function runs on this thread, and no frame
                    // between has a destructor.
                    unsafe { stack::leave(*frame, 0) }
                }
            }
        }
    }

    fn run(&self, function: usize, argument: usize) -> usize {
        let mut frame = Frame::default();
        let depth = self.depth();
        self.frames.borrow_mut().push(&raw const frame);
        // SAFETY: the host passes a function for guests and its argument. The frame is a variable that
        // outlives the call.
        let result = unsafe { stack::call(function, argument, &raw mut frame) };
        self.frames.borrow_mut().truncate(depth);
        result
    }

    /// Returns the frame of the thread's current function.
    pub(super) fn frame(&self) -> Frame {
        let frames = self.frames.borrow();
        let last = frames.last().expect("raddle: a guest is in a function");
        // SAFETY: the frame is on the list while its function runs, so that the variable is alive.
        unsafe { **last }
    }
}

/// The first function of an OS thread.
extern "C" fn live(thread: *mut c_void) -> *mut c_void {
    // SAFETY: the argument is the value that has created this OS thread, which joins it before it is dropped.
    let thread = unsafe { &*thread.cast::<Thread>() };
    let handlers = libc::stack_t {
        ss_sp: thread.memory as *mut c_void,
        ss_flags: 0,
        ss_size: HANDLERS,
    };
    // SAFETY: the description is valid during the call, and the stack stays mapped until this thread has
    // ended.
    unsafe { libc::sigaltstack(&handlers, null_mut()) };
    thread.end_of_stack.set(&raw const handlers as usize);
    dispatch::arm();
    thread.ask(Request::Ready);
    null::<c_void>().cast_mut()
}

/// Maps memory for a thread.
pub(super) fn map() -> usize {
    let memory = arena::map(WHOLE);
    assert!(!memory.is_null(), "raddle: no memory for a thread");
    // SAFETY: the page is one of those just mapped, between the stacks.
    unsafe { libc::mprotect(memory.add(HANDLERS).cast(), PAGE, libc::PROT_NONE) };
    memory as usize
}

/// Zeroes the memory of a thread that has ended.
pub(super) fn clean(memory: usize) {
    let stack = memory + HANDLERS + PAGE;
    // SAFETY: the thread that used the stack has ended, so that its contents may go.
    unsafe { libc::madvise(stack as *mut c_void, stack::STACK, libc::MADV_DONTNEED) };
}
