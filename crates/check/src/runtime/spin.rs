//! Loops that wait: how a thread is found to be where it was before, with nothing changed in it.
//!
//! Whenever a thread is about to look at something, its stack is compared with what it was when the
//! thread was about to look at the same thing from the same place before, and copied for the next
//! time. Registers that a function may rely on across a call are on the stack by then: [`apart`]
//! puts them there. If all of it is equal byte by byte, the thread goes round in a loop that depends
//! on nothing but what others do; the engine knows whether it has changed anything on the way.
//!
//! For that to work, nothing of raddle's own may be among the bytes that differs from one round to
//! the next, not even in a part of the stack that is dead: a later call might reach over it without
//! writing all of it. So raddle works further down on the stack, out of the reach of most calls.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::Location;

use corosensei::stack::{DefaultStack, Stack};
use raddle_engine::{Operation, Reply, SiteId, Step, ThreadId, World};

use super::Context;

/// How far below the caller raddle works. Less than a page, so that the guard page at the end of a
/// stack cannot be missed.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const GAP: usize = 2048;
/// So many looks of a thread are remembered; a loop with more in one round is not found.
const MAX_LOOKS: usize = 32;
/// Where it does not matter how soon a loop is found, a thread must do nothing but look so often
/// before it is watched.
const PATIENCE: u32 = 4;
/// Whether a thread's registers can be seen on this processor.
const CAN_WATCH: bool = cfg!(any(
    all(target_arch = "x86_64", not(windows)),
    target_arch = "aarch64"
));
/// So much more of a stack is made like new than anybody has looked at so far.
const BEYOND: usize = 2048;
/// A thread that has more than that on its stack is not looked at.
const MAX_BYTES: usize = 64 * 1024;

/// What a thread was like when it was about to look at something.
struct Look {
    site: SiteId,
    operation: Operation,
    /// How many events the thread had.
    event: u32,
    local: Vec<u8>,
}

/// The last looks of one thread.
#[derive(Default)]
pub(super) struct Looks {
    /// Kept for their memory; the first `count` of them mean something.
    looks: Vec<Look>,
    count: usize,
    /// Which one is replaced next, once there are enough.
    oldest: usize,
}

impl Looks {
    /// The thread does not remember what it has seen.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.oldest = 0;
    }

    /// If the thread has been here before in the same state, and has done nothing but look since,
    /// how many events it had then.
    #[inline]
    pub(super) fn repeats(
        &mut self,
        (events, quiet_since): (u32, u32),
        site: SiteId,
        operation: &Operation,
        local: Local,
    ) -> Option<u32> {
        if self.count > 0 && self.newest() < quiet_since {
            self.clear();
        }
        if local.length() > MAX_BYTES {
            return None;
        }
        for look in &mut self.looks[..self.count] {
            if look.site == site
                && look.event >= quiet_since
                && look.operation == *operation
                && local.is(&look.local)
            {
                return Some(std::mem::replace(&mut look.event, events));
            }
        }
        self.remember(events, site, operation, local);
        None
    }

    fn newest(&self) -> u32 {
        let looks = self.looks[..self.count].iter();
        looks.map(|look| look.event).max().unwrap_or(0)
    }

    #[inline]
    fn remember(&mut self, event: u32, site: SiteId, operation: &Operation, local: Local) {
        let place = match self.count {
            MAX_LOOKS => {
                self.oldest = (self.oldest + 1) % MAX_LOOKS;
                self.oldest
            }
            count => {
                self.count += 1;
                count
            }
        };
        if place == self.looks.len() {
            self.looks.push(Look {
                site,
                operation: *operation,
                event,
                local: Vec::new(),
            });
        }
        let look = &mut self.looks[place];
        look.site = site;
        look.operation = *operation;
        look.event = event;
        local.copy_to(&mut look.local);
    }
}

/// Some memory.
#[derive(Clone, Copy)]
struct Bytes {
    start: *const u8,
    length: usize,
}

/// Registers that outlast a call.
pub type Registers = [usize; 6];

impl Bytes {
    fn of<T>(data: &T) -> Self {
        Bytes {
            start: std::ptr::from_ref(data).cast(),
            length: size_of::<T>(),
        }
    }

    /// # Safety
    ///
    /// The memory must be there, and nobody may write to it.
    unsafe fn is(&self, copy: &[u8]) -> bool {
        // SAFETY: both can be read. What the bytes mean is of no interest, not even whether they
        // have been written, which is why C compares them.
        let order =
            || unsafe { libc::memcmp(copy.as_ptr().cast(), self.start.cast(), self.length) };
        copy.len() == self.length && order() == 0
    }

    /// # Safety
    ///
    /// The memory must be there, and nobody may write to it.
    unsafe fn add_to(&self, copy: &mut Vec<u8>) {
        copy.reserve(self.length);
        // SAFETY: it can be read, there is room for it, and the two are not in the same place.
        unsafe {
            let end = copy.as_mut_ptr().add(copy.len());
            std::ptr::copy_nonoverlapping(self.start, end, self.length);
            copy.set_len(copy.len() + self.length);
        }
    }
}

/// What makes the state of a thread that is about to look at something: the part of its stack that is
/// in use, and maybe something that it has to itself.
#[derive(Clone, Copy)]
pub(super) struct Local {
    stack: Bytes,
    beside: Option<Bytes>,
}

impl Local {
    /// With the stack from `top`, which a function run by [`apart`] was given, to `end`.
    ///
    /// # Safety
    ///
    /// Both must be on the stack of the calling thread. The thread must not go on, and `beside` must
    /// not change, while this is used.
    unsafe fn new(top: *const u8, end: *const u8, beside: Option<Bytes>) -> Self {
        let stack = Bytes {
            start: top,
            length: end as usize - top as usize,
        };
        Local { stack, beside }
    }

    fn length(&self) -> usize {
        self.stack.length + self.beside.map_or(0, |beside| beside.length)
    }

    fn is(&self, copy: &[u8]) -> bool {
        if copy.len() != self.length() {
            return false;
        }
        let (stack, beside) = copy.split_at(self.stack.length);
        // SAFETY: as `new` was promised.
        unsafe { self.stack.is(stack) && self.beside.is_none_or(|data| data.is(beside)) }
    }

    fn copy_to(&self, copy: &mut Vec<u8>) {
        copy.clear();
        // SAFETY: as `new` was promised.
        unsafe {
            self.stack.add_to(copy);
            if let Some(beside) = self.beside {
                beside.add_to(copy);
            }
        }
    }
}

/// Whether the operation looks at something that others may change, so that a loop may wait for it.
#[inline]
pub(super) fn looks(operation: &Operation) -> bool {
    match operation {
        Operation::Load { .. }
        | Operation::Update { .. }
        | Operation::IsFinished { .. }
        | Operation::Receive { wait: false, .. } => true,
        Operation::Call { call, .. } => !call.always_changes(),
        _ => false,
    }
}

/// How closely the threads of an execution are watched.
#[derive(Default)]
pub(super) struct Watch {
    /// Whether operations are performed apart: it matters what they leave on the stack, or they need
    /// a closer look because the execution has stopped.
    performs_apart: Cell<bool>,
    /// The same for operations that a loop may do again and again.
    observes_apart: Cell<bool>,
    /// Whether it matters how soon a loop is found.
    early: Cell<bool>,
    /// Whether any execution has looked at anything. A program that does not cannot wait in a loop.
    has_looked: Cell<bool>,
    /// By thread.
    looks: RefCell<Vec<Looks>>,
    /// How much of a stack anybody may have looked at, and a little more.
    deepest: Cell<usize>,
    /// What belongs to the state of the thread that is about to look at something.
    beside: Cell<Option<Bytes>>,
    /// Reply of the operation that was performed apart last. It is not on the caller's stack, where it
    /// would be part of the thread's state.
    reply: Cell<Reply>,
}

impl Watch {
    #[inline(always)]
    pub(super) fn performs_apart(&self) -> bool {
        self.performs_apart.get()
    }

    /// Somebody looked at so much of a stack.
    fn see(&self, length: usize) {
        if self.deepest.get() < length + BEYOND {
            self.deepest.set(length + BEYOND);
        }
    }

    fn start(&self, early: bool) {
        self.early.set(early);
        self.performs_apart.set(early && self.has_looked.get());
        self.observes_apart.set(early);
        self.looks.borrow_mut().iter_mut().for_each(Looks::clear);
    }

    /// The execution has stopped.
    pub(super) fn stop(&self) {
        self.performs_apart.set(true);
        self.observes_apart.set(true);
    }
}

/// What is handed to what is run apart.
struct Job<'a, F> {
    context: &'a Context,
    place: &'static Location<'static>,
    operation: ManuallyDrop<F>,
    looks: bool,
}

impl Context {
    /// As [`Context::perform`], for operations that a loop may do again and again while it waits.
    /// Inlined, and best called from what is inlined as well: a frame that comes and goes is not the
    /// same at first as later, because it has in it what was there before.
    #[inline(always)]
    pub fn observe(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        if self.watch.observes_apart.get() {
            std::hint::cold_path();
            return self.run_apart(place, operation, true);
        }
        self.observe_in_passing(place, operation)
    }

    /// As [`Context::observe`], where the thread has `data` to itself, so that it is part of its
    /// state; only the value itself, not what it points to.
    pub fn observe_beside<T>(
        &self,
        place: &'static Location<'static>,
        data: &T,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        let data = Bytes::of(data);
        if self.watch.observes_apart.get() {
            self.watch.beside.set(Some(data));
        }
        self.observe(place, operation)
    }

    /// Not inlined: many copies of it would be slower.
    #[inline(never)]
    fn observe_in_passing(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        let request = |world: &mut World, thread, operation, site| {
            if world.is_long() {
                self.look_up(world, thread);
            }
            world.request(thread, operation, site)
        };
        self.perform_by(place, operation, request)
    }

    /// As [`Context::perform`], leaving nothing on the caller's stack.
    #[cold]
    #[inline(never)]
    pub(super) fn perform_apart(
        &self,
        place: &'static Location<'static>,
        operation: impl FnOnce(&mut World) -> Operation,
    ) -> Reply {
        self.run_apart(place, operation, false)
    }

    #[inline(always)]
    fn run_apart<F: FnOnce(&mut World) -> Operation>(
        &self,
        place: &'static Location<'static>,
        operation: F,
        looks: bool,
    ) -> Reply {
        let mut job = Job {
            context: self,
            place,
            operation: ManuallyDrop::new(operation),
            looks,
        };
        let job = (&raw mut job).cast();
        // SAFETY: the job is of the type that `run` expects and is not used by anybody else before
        // it returns.
        unsafe { apart(run::<F>, job) };
        self.watch.reply.get()
    }

    /// Runs something of raddle's own that would leave behind what differs from run to run.
    pub fn apart<W: FnOnce() -> R, R>(&self, work: W) -> R {
        struct Task<W, R> {
            work: Option<W>,
            result: Option<R>,
        }
        unsafe extern "C-unwind" fn run<W: FnOnce() -> R, R>(
            task: *mut (),
            _top: *const u8,
        ) -> u64 {
            // SAFETY: it is the task below, which nobody else uses.
            let task = unsafe { &mut *task.cast::<Task<W, R>>() };
            task.result = task.work.take().map(|work| work());
            0
        }
        if !self.watch.observes_apart.get() {
            return work();
        }
        let mut task = Task {
            work: Some(work),
            result: None,
        };
        // SAFETY: the task is of the type that `run` expects and is not used by anybody else
        // before it returns.
        unsafe { apart(run::<W, R>, (&raw mut task).cast()) };
        task.result.expect("raddle: what is run apart returns")
    }

    /// As [`World::request`] for an operation that a loop may do again and again while it waits, of a
    /// program whose stack is its own from `top` on; registers that outlast a call are there, or beside.
    #[inline(always)]
    pub(super) fn request_watched(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        (top, registers): (*const u8, Option<&Registers>),
    ) -> Step {
        if self.watch.observes_apart.get() {
            let registers = registers.map(Bytes::of);
            return self.request(world, thread, operation, site, (top, registers));
        }
        if world.is_long() {
            self.look_up(world, thread);
        }
        world.request(thread, operation, site)
    }

    /// As [`World::request`], or as [`Context::request`] for a thread whose state is given. Compiled once:
    /// its caller has an instance for each kind of operation and type of data, and inlining it there
    /// makes up most of the code of a test.
    #[inline(never)]
    fn request_apart(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        state: Option<(*const u8, Option<Bytes>)>,
    ) -> Step {
        match state {
            Some(state) => self.request(world, thread, operation, site, state),
            None => world.request(thread, operation, site),
        }
    }

    /// As [`World::request`], unless the thread has been here before with nothing changed.
    #[inline(always)]
    fn request(
        &self,
        world: &mut World,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        (top, beside): (*const u8, Option<Bytes>),
    ) -> Step {
        let (events, quiet_since) = world.quiet(thread);
        if !self.watch.early.get() && events - quiet_since < PATIENCE {
            self.watch.observes_apart.set(false);
        } else if looks(&operation) {
            if !self.watch.has_looked.replace(true) {
                self.watch.performs_apart.set(true);
                // No event so far can be part of a round, which begins and ends with a look.
                world.watch();
            }
            // SAFETY: `top` comes from `apart` in the calling thread, whose frames are all between
            // it and the end. Nothing goes on before this is done, so what `observe_beside` was
            // lent by its caller is still there.
            let local = unsafe { Local::new(top, self.end_of_stack(thread), beside) };
            self.watch.see(local.stack.length);
            let mut looks = self.watch.looks.borrow_mut();
            if looks.len() <= thread.index() {
                looks.resize_with(thread.index() + 1, Looks::default);
            }
            let looks = &mut looks[thread.index()];
            let since = looks.repeats((events, quiet_since), site, &operation, local);
            if let Some(since) = since {
                return world.request_again(thread, operation, site, since);
            }
        }
        world.request(thread, operation, site)
    }

    /// An execution begins.
    pub(super) fn start_watching(&self) {
        self.with_world(|world| {
            let early = CAN_WATCH && world.strategy().watches();
            self.watch.start(early);
            // Without a look there is no loop to be found. The first one turns the watch on.
            if early && self.watch.has_looked.get() {
                world.watch();
            }
        });
    }

    /// Makes a stack that was used before look like a new one, as far as anybody looks: what earlier
    /// executions left there must not matter.
    #[inline]
    pub(super) fn clean_stack(&self, stack: &DefaultStack) {
        if !self.watch.early.get() {
            return;
        }
        let (base, limit) = (stack.base().get(), stack.limit().get());
        // Below the limit is the guard page.
        let length = self.watch.deepest.get().min((base - limit) / 2);
        if length == 0 {
            return;
        }
        // SAFETY: nobody uses the stack, and that much of it can be written.
        unsafe { std::ptr::write_bytes((base - length) as *mut u8, 0, length) };
    }

    /// In a long execution: looks whether the thread may be in a loop.
    fn look_up(&self, world: &mut World, thread: ThreadId) {
        world.watch();
        let (events, quiet_since) = world.quiet(thread);
        if CAN_WATCH && events - quiet_since >= PATIENCE {
            self.watch.observes_apart.set(true);
        }
    }

    /// The calling thread's state has changed in a way that its stack does not show.
    pub(super) fn forget_looks(&self) {
        let mut looks = self.watch.looks.borrow_mut();
        if let Some(looks) = looks.get_mut(self.thread.get().index()) {
            looks.clear();
        }
    }
}

unsafe extern "C-unwind" fn run<F: FnOnce(&mut World) -> Operation>(
    job: *mut (),
    top: *const u8,
) -> u64 {
    // SAFETY: `run_apart` passes a job of this type, which nobody else uses.
    let job = unsafe { &mut *job.cast::<Job<'_, F>>() };
    let Job { context, place, .. } = *job;
    let beside = context.watch.beside.take();
    // SAFETY: a job is run once.
    let operation = unsafe { ManuallyDrop::take(&mut job.operation) };
    let reply = match context.stopped.get() {
        true => context.perform_after_stop(place, operation),
        false => {
            let state = job.looks.then_some((top, beside));
            let request = |world: &mut World, thread, operation, site| {
                context.request_apart(world, thread, operation, site, state)
            };
            context.perform_by(place, operation, request)
        }
    };
    context.watch.reply.set(reply);
    0
}

/// What [`apart`] runs: it is given what it works on, and where the caller's stack begins. The result is
/// 0: no register differs from run to run afterwards.
pub(super) type Work = unsafe extern "C-unwind" fn(*mut (), *const u8) -> u64;

/// Runs `work` at some distance below the caller on the stack, so that it leaves nothing where the
/// caller's next calls will be, and leaves nothing in registers either. Where `work` is told that
/// the stack begins, there are the registers that the caller may rely on; then the return address.
///
/// # Safety
///
/// As for calling `work`.
#[cfg(all(target_arch = "x86_64", not(windows)))]
#[unsafe(naked)]
pub(super) unsafe extern "C-unwind" fn apart(work: Work, with: *mut ()) -> u64 {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rsp",
        // An overflow shows here, where nothing is in the middle of anything.
        "test byte ptr [rsp - {probe}], 0",
        "sub rsp, {gap} + 8",
        ".cfi_def_cfa_offset {gap} + 64",
        "call rax",
        "add rsp, {gap} + 56",
        ".cfi_def_cfa_offset 8",
        "xor ecx, ecx",
        "xor edx, edx",
        "xor esi, esi",
        "xor edi, edi",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "ret",
        ".cfi_endproc",
        gap = const GAP,
        probe = const GAP + 1024,
    )
}

/// As above.
///
/// # Safety
///
/// As for calling `work`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(super) unsafe extern "C-unwind" fn apart(work: Work, with: *mut ()) -> u64 {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-160]!",
        ".cfi_def_cfa_offset 160",
        ".cfi_offset x29, -160",
        ".cfi_offset x30, -152",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, x0",
        "mov x0, x1",
        "mov x1, sp",
        "sub x10, sp, {probe}",
        "ldrb w10, [x10]",
        "sub sp, sp, {gap}",
        ".cfi_def_cfa_offset {gap} + 160",
        "blr x9",
        "add sp, sp, {gap}",
        ".cfi_def_cfa_offset 160",
        "ldp x29, x30, [sp], #160",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        gap = const GAP,
        probe = const GAP + 1024,
    )
}

/// Elsewhere, loops that wait are not found.
///
/// # Safety
///
/// As for calling `work`.
#[cfg(not(any(all(target_arch = "x86_64", not(windows)), target_arch = "aarch64")))]
pub(super) unsafe extern "C-unwind" fn apart(work: Work, with: *mut ()) -> u64 {
    // SAFETY: as for this function.
    unsafe { work(with, std::ptr::null()) }
}
