//! Switching of stacks on x86-64 with the calling convention of Unix.
//!
//! A switch pushes the registers that the compiler cannot save itself, and jumps. It neither calls nor
//! returns: the processor predicts a return by the last call, so a switch that returns is mispredicted
//! unless the coroutine has neither called nor returned since it was resumed. With jumps, a thread that
//! continues finds the predictions of the thread before, and these are right whenever both were suspended
//! in the same place. Every call on a coroutine must return before it ends: one that does not would shift
//! the predictions of everything after.

use std::arch::{asm, naked_asm};
use std::cell::Cell;

use super::Exit;
use crate::runtime::stacks::OwnedStack;

/// True when a thread can switch to another one.
pub(in crate::runtime) const IS_DIRECT: bool = true;

/// The place where a suspended stack continues: its stack pointer, where its registers and the address
/// of its next instruction are.
type Place = *const u8;

/// A place that a thread which ends continues at.
pub(in crate::runtime) struct Way(Place);

/// The loop that resumes threads.
pub(in crate::runtime) struct Driver {
    /// Where it continues.
    place: Cell<Place>,
    /// The exit of the thread that has ended last, before the driver has seen it.
    exit: Cell<Option<Exit>>,
}

impl Driver {
    pub(in crate::runtime) fn new() -> Self {
        Driver {
            place: Cell::new(std::ptr::null()),
            exit: Cell::new(None),
        }
    }

    /// Returns the way of a thread that ends.
    pub(in crate::runtime) fn way_back(&self, exit: Exit) -> Way {
        self.exit.set(Some(exit));
        Way(self.place.get())
    }
}

/// Storage for one coroutine.
pub(in crate::runtime) struct Home {
    /// Where the coroutine continues; null without one. Not valid while it runs.
    place: Place,
    stack: Option<OwnedStack>,
    guard: Option<Guard>,
}

impl Drop for Home {
    /// Forgets the stack of a coroutine. Only a panic inside raddle leaves one here. Unwinding it would run
    /// user code without its check.
    fn drop(&mut self) {
        std::mem::forget(self.stack.take());
    }
}

impl Home {
    pub(in crate::runtime) fn new() -> Self {
        Home {
            place: std::ptr::null(),
            stack: None,
            guard: None,
        }
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
        debug_assert!(self.is_empty());
        let base = stack.base();
        self.guard = Some(Guard {
            base,
            limit: stack.limit(),
        });
        // SAFETY: the stack is larger than any body that gets here, and nothing else uses it.
        self.place = unsafe { prepare(base, body) };
        self.stack = Some(stack);
    }

    #[inline(always)]
    pub(in crate::runtime) fn is_empty(&self) -> bool {
        self.stack.is_none()
    }

    /// Takes the stack out. A coroutine that has not ended will not be resumed.
    #[inline(always)]
    pub(in crate::runtime) fn take(&mut self) -> Option<OwnedStack> {
        self.stack.take()
    }

    /// Returns the stack's exit for faults; `None` before the first coroutine.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(in crate::runtime) fn guard(&self) -> Option<Guard> {
        self.guard
    }

    /// Returns a reference that stays valid until the next switch.
    #[inline(always)]
    pub(in crate::runtime) fn pin(&mut self) -> Pinned {
        Pinned(&raw mut self.place)
    }
}

/// A coroutine that is switched to or from.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Pinned(*mut Place);

impl Pinned {
    /// Runs the coroutine until one suspends itself or ends; then returns its exit.
    ///
    /// # Safety
    ///
    /// The home must be where it was and have a suspended coroutine. The caller must be the driver.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn resume(self, driver: &Driver) -> Option<Exit> {
        // SAFETY: the caller guarantees that the coroutine is suspended at its place.
        unsafe { switch(driver.place.as_ptr(), *self.0) };
        driver.exit.take()
    }

    /// Lets the driver continue until the coroutine is resumed or switched to.
    ///
    /// # Safety
    ///
    /// The home must be where it was, and this its running coroutine.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn suspend(self, driver: &Driver) {
        // SAFETY: a coroutine runs only while the driver is suspended.
        unsafe { switch(self.0, driver.place.get()) };
    }

    /// Lets another coroutine continue until this one is resumed or switched to.
    ///
    /// # Safety
    ///
    /// Both homes must be where they were; this is the running coroutine, and the other one is suspended.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn switch_to(self, next: Pinned) {
        // SAFETY: as for this function.
        unsafe { switch(self.0, *next.0) };
    }

    /// Returns the way to this coroutine for one that ends.
    ///
    /// # Safety
    ///
    /// The home must be where it was, and its coroutine suspended until the way is gone.
    #[inline(always)]
    pub(in crate::runtime) unsafe fn way(self) -> Way {
        // SAFETY: the caller guarantees that the home is where it was.
        Way(unsafe { *self.0 })
    }
}

/// Distance between the base of a stack and the frames of its coroutine.
const RESERVED: usize = 16;

/// The first part of a stack that was not resumed yet, as [`enter`] pops it.
#[repr(C)]
struct First<F> {
    enter: unsafe extern "C" fn() -> !,
    data: *mut Data<F>,
    root: unsafe extern "C" fn(*mut Data<F>) -> !,
    /// Where `root` would return to.
    caller: usize,
}

struct Data<F> {
    body: F,
    end: *const u8,
}

/// Writes a body on a stack; returns the place where it begins.
///
/// # Safety
///
/// The memory below `base` must be writable, unused and large enough, and `base` aligned to 16 bytes.
#[inline(always)]
unsafe fn prepare<F: FnOnce(*const u8) -> Way>(base: usize, body: F) -> Place {
    let end = base - RESERVED;
    let align = align_of::<Data<F>>().max(16);
    let data = (end - size_of::<Data<F>>()) & !(align - 1);
    let first = data - size_of::<First<F>>();
    let (data, first) = (data as *mut Data<F>, first as *mut First<F>);
    let end = end as *const u8;
    // SAFETY: the caller guarantees that the memory can be written; both places are aligned.
    unsafe {
        data.write(Data { body, end });
        first.write(First {
            enter,
            data,
            root: root::<F>,
            caller: 0,
        });
    }
    first.cast()
}

/// Begins a coroutine: jumped to with the stack at `First::data`. It does not call, because nothing returns.
#[unsafe(naked)]
unsafe extern "C" fn enter() -> ! {
    naked_asm!("pop rdi", "pop rax", "xor ebp, ebp", "jmp rax")
}

/// Runs a body to its end, and leaves the stack. A panic does not leave it: that ends the process. The caller's
/// address is null, where backtraces end.
unsafe extern "C" fn root<F: FnOnce(*const u8) -> Way>(data: *mut Data<F>) -> ! {
    // SAFETY: `prepare` has written the body, and this is the only time that it is read.
    let Data { body, end } = unsafe { data.read() };
    let Way(place) = body(end);
    // SAFETY: every way is to the place of a suspended stack.
    unsafe {
        asm!("mov rsp, {place}", "pop rax", "jmp rax", place = in(reg) place, options(noreturn))
    }
}

/// Stores the place where the caller continues, and continues at another place.
///
/// # Safety
///
/// `next` must be the place of a suspended stack; `save` is written before that continues.
#[inline(always)]
unsafe fn switch(save: *mut Place, next: Place) {
    // SAFETY: the registers that are not saved here are marked as overwritten. The caller guarantees that
    // `next` is a stack pointer where `switch` or `prepare` has left an address to jump to.
    unsafe {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbx",
            "pop rbp",
            inlateout("rdi") save => _,
            inlateout("rsi") next => _,
            lateout("r12") _,
            lateout("r13") _,
            lateout("r14") _,
            lateout("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// The exit from the running coroutine, for faults, and the stack whose faults take it.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Guard {
    base: usize,
    limit: usize,
}

impl Guard {
    /// Returns the address of the guard page.
    #[cfg(target_os = "linux")]
    pub(in crate::runtime) fn limit(&self) -> usize {
        self.limit
    }

    /// True for a stack pointer in this stack.
    #[cfg(target_os = "linux")]
    pub(in crate::runtime) fn contains(&self, pointer: usize) -> bool {
        (self.limit..=self.base).contains(&pointer)
    }

    /// Changes the registers of the interrupted coroutine so that it leaves its stack for good.
    ///
    /// # Safety
    ///
    /// Nothing on the stack may be used again.
    #[cfg(target_os = "linux")]
    pub(in crate::runtime) unsafe fn leave(
        &self,
        driver: &Driver,
        exit: Exit,
        registers: &mut libc::mcontext_t,
    ) {
        unsafe extern "C" fn jump(place: Place) -> ! {
            // SAFETY: the driver is suspended at its place while a coroutine runs.
            unsafe {
                asm!("mov rsp, {place}", "pop rax", "jmp rax", place = in(reg) place, options(noreturn))
            }
        }
        let Way(place) = driver.way_back(exit);
        let registers = &mut registers.gregs;
        // As after a call, which has pushed 8 bytes.
        registers[libc::REG_RSP as usize] = (self.base - RESERVED - 8) as i64;
        registers[libc::REG_RIP as usize] = jump as *const () as i64;
        registers[libc::REG_RDI as usize] = place as i64;
    }
}
