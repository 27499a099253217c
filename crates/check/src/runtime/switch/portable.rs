//! Switching of stacks by corosensei, between the driver and a coroutine only.
//!
//! A running coroutine may start others, so the table of threads can grow and move while one of its
//! entries is being resumed. A resumed coroutine must not move; hence the box. Boxes are reused.

use std::cell::UnsafeCell;

use corosensei::stack::DefaultStack;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{CoroutineResult, Yielder};

use super::Exit;
use crate::runtime::stacks::OwnedStack;

/// False: a thread cannot switch to another one.
pub(in crate::runtime) const IS_DIRECT: bool = false;

type Coroutine = corosensei::Coroutine<(), (), Exit, &'static mut DefaultStack>;

/// The exit of a thread that ends.
pub(in crate::runtime) struct Way(Exit);

/// The loop that resumes threads.
pub(in crate::runtime) struct Driver(());

impl Driver {
    pub(in crate::runtime) fn new() -> Self {
        Driver(())
    }

    /// Returns the way of a thread that ends.
    pub(in crate::runtime) fn way_back(&self, exit: Exit) -> Way {
        Way(exit)
    }
}

/// Storage for one coroutine.
pub(in crate::runtime) struct Home(Box<UnsafeCell<Inside>>);

#[derive(Default)]
struct Inside {
    coroutine: Option<Coroutine>,
    /// The stack that the coroutine borrows. It is not in the coroutine, because moving that with its stack
    /// out of here at the end of a thread stalled the processor.
    stack: Option<OwnedStack>,
    yielder: Option<*const Yielder<(), ()>>,
    guard: Option<Guard>,
}

impl Drop for Home {
    /// Forgets the coroutine. Only a panic inside raddle leaves one here. Unwinding it would run
    /// user code without its check.
    fn drop(&mut self) {
        let Inside {
            coroutine, stack, ..
        } = self.0.get_mut();
        if coroutine.is_some() {
            std::mem::forget((coroutine.take(), stack.take()));
        }
    }
}

impl Home {
    pub(in crate::runtime) fn new() -> Self {
        Home(Box::default())
    }

    /// Makes a coroutine on this stack. It gets the end of the part of the stack where its frames are.
    ///
    /// # Safety
    ///
    /// The borrows of `body` must live until the coroutine has ended or was taken out.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn put<F: FnOnce(*const u8) -> Way>(
        &mut self,
        stack: OwnedStack,
        body: F,
    ) {
        let pinned = self.pin();
        let inside = self.0.get_mut();
        debug_assert!(inside.coroutine.is_none() && inside.stack.is_none());
        let limit = stack.limit();
        // SAFETY: the stack stays here until the coroutine has ended or is taken out.
        let borrowed = unsafe { stack.borrow() };
        inside.stack = Some(stack);
        let run = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: a coroutine runs only inside `resume`, where the home is alive.
            unsafe { (*pinned.0).yielder = Some(yielder) };
            // All frames of the coroutine are before its yielder.
            let Way(exit) = body(std::ptr::from_ref(yielder).cast());
            exit
        };
        // SAFETY: the caller guarantees the lifetime of the borrows in `body`. A coroutine that does not run
        // to its end is forgotten with its stack, so no borrow is used again.
        let made = unsafe { Coroutine::with_stack_unchecked(borrowed, run) };
        let trap = made.trap_handler();
        inside.guard = Some(Guard { trap, limit });
        inside.coroutine = Some(made);
    }

    #[inline(always)]
    pub(in crate::runtime) fn is_empty(&self) -> bool {
        // SAFETY: no coroutine runs, so no other reference to the inside exists.
        unsafe { (*self.0.get()).stack.is_none() }
    }

    /// Takes the stack out. A coroutine that has not ended will not be resumed.
    pub(in crate::runtime) fn take(&mut self) -> Option<OwnedStack> {
        let inside = self.0.get_mut();
        if let Some(mut left) = inside.coroutine.take() {
            // SAFETY: the caller does not resume it, and no code refers to its stack any more.
            unsafe { left.force_reset() };
        }
        inside.stack.take()
    }

    /// Returns the stack's exit for faults; `None` before the first coroutine.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(in crate::runtime) fn guard(&self) -> Option<Guard> {
        // SAFETY: `Inside::guard` changes only while the coroutine is made.
        unsafe { (*self.0.get()).guard }
    }

    /// Returns a reference that stays valid while the table of threads changes.
    pub(in crate::runtime) fn pin(&mut self) -> Pinned {
        Pinned(self.0.get())
    }
}

/// The inside of a home.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Pinned(*mut Inside);

impl Pinned {
    /// Runs the coroutine until it suspends itself or ends; then returns its exit.
    ///
    /// # Safety
    ///
    /// The home must be alive until this returns, with no other use of it meanwhile but that of its
    /// coroutine, which is suspended.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn resume(self, _driver: &Driver) -> Option<Exit> {
        // SAFETY: the caller guarantees that the home is alive and not used elsewhere.
        let coroutine = unsafe { &mut (*self.0).coroutine };
        let running = coroutine
            .as_mut()
            .expect("raddle: a thread that ended was run");
        match running.resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(exit) => {
                *coroutine = None;
                Some(exit)
            }
        }
    }

    /// Lets the driver continue until the coroutine is resumed.
    ///
    /// # Safety
    ///
    /// The home must be alive, and this its running coroutine.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn suspend(self, _driver: &Driver) {
        // SAFETY: the yielder was stored when this coroutine began and lives at the bottom of its stack
        // until it ends.
        unsafe {
            if let Some(yielder) = (*self.0).yielder {
                (*yielder).suspend(());
            }
        }
    }

    /// Not called: see [`IS_DIRECT`].
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(in crate::runtime) unsafe fn switch_to(self, _next: Pinned) {
        unreachable!("raddle: a direct switch where there is none; please report this");
    }

    /// Not called: see [`IS_DIRECT`].
    ///
    /// # Safety
    ///
    /// None is needed.
    pub(in crate::runtime) unsafe fn way(self) -> Way {
        unreachable!("raddle: a direct switch where there is none; please report this");
    }
}

/// The exit from the running coroutine, for faults, and the guard page of its stack.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Guard {
    trap: CoroutineTrapHandler<Exit>,
    limit: usize,
}

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
impl Guard {
    /// Returns the address of the guard page.
    pub(in crate::runtime) fn limit(&self) -> usize {
        self.limit
    }

    /// True for a stack pointer in this stack.
    pub(in crate::runtime) fn contains(&self, pointer: usize) -> bool {
        self.trap.stack_ptr_in_bounds(pointer)
    }

    /// Changes the registers of the interrupted coroutine so that it leaves its stack for good.
    ///
    /// # Safety
    ///
    /// Nothing on the stack may be used again.
    pub(in crate::runtime) unsafe fn leave(
        &self,
        _driver: &Driver,
        exit: Exit,
        registers: &mut libc::mcontext_t,
    ) {
        // SAFETY: as for this function.
        let regs = unsafe { self.trap.setup_trap_handler(move || exit) };
        let corosensei::trap::TrapHandlerRegs {
            pc,
            sp,
            x0,
            x1,
            x29,
            lr,
        } = regs;
        registers.pc = pc;
        registers.sp = sp;
        registers.regs[0] = x0;
        registers.regs[1] = x1;
        registers.regs[29] = x29;
        registers.regs[30] = lr;
    }
}
