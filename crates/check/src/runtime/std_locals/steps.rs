//! Single steps: the addresses of thread-local variables that a thread uses.
//!
//! With the trap flag set, the processor traps after each instruction. The handler decodes the next one and
//! marks the bytes of the watched block that it uses. Nothing else changes, so what a thread does is the same
//! as without steps. An instruction takes some microseconds then: steps have a limit, and run only in the
//! program's own code. They end before a system call that blocks signals, with which a trap would end the
//! process.

use std::cell::Cell;

use super::Block;

/// Mark of a byte whose address the thread computed from its thread pointer.
pub(super) const OF_THREAD: u8 = 1;
/// Mark of a byte that the thread used by a pointer, perhaps one that it got from another thread.
pub(super) const BY_POINTER: u8 = 2;

/// The steps of one OS thread.
pub(super) struct Steps {
    start: usize,
    /// Marks of the bytes of the block.
    marks: Box<[Cell<u8>]>,
    /// True when there are marks.
    has_marks: Cell<bool>,
    /// Number of steps left.
    left: Cell<u32>,
    /// True when steps have ended early.
    is_cut: Cell<bool>,
}

impl Steps {
    /// Returns steps that mark the bytes of this block of the calling OS thread; `None` if the system has none.
    pub(super) fn new(block: Block, most: u32) -> Option<Box<Steps>> {
        system::can_step().then(|| {
            Box::new(Steps {
                start: block.start as usize,
                marks: vec![Cell::new(0); block.length].into(),
                has_marks: Cell::new(false),
                left: Cell::new(most),
                is_cut: Cell::new(false),
            })
        })
    }

    /// Returns the number of steps left.
    pub(super) fn left(&self) -> u32 {
        self.left.get()
    }

    /// True when steps are left.
    pub(super) fn are_left(&self) -> bool {
        self.left() > 0
    }

    /// Starts steps of the calling OS thread.
    ///
    /// # Safety
    ///
    /// The steps must be stopped before `self` is moved or dropped.
    #[inline(always)]
    pub(super) unsafe fn start(&self) {
        self.is_cut.set(!self.are_left());
        if self.are_left() {
            // SAFETY: the caller stops them while `self` exists.
            unsafe { system::start(self) };
        }
    }

    /// Calls `see` with the offset and the marks of each byte that was used, and clears the marks. False if
    /// the steps have ended early. They are stopped.
    pub(super) fn finish(&self, mut see: impl FnMut(usize, u8)) -> bool {
        if self.has_marks.take() {
            for (offset, mark) in self.marks.iter().enumerate() {
                match mark.take() {
                    0 => {}
                    marks => see(offset, marks),
                }
            }
        }
        !self.is_cut.get()
    }

    fn mark(&self, address: usize, mark: u8) {
        if let Some(marks) = self.marks.get(address.wrapping_sub(self.start)) {
            marks.update(|marks| marks | mark);
            self.has_marks.set(true);
        }
    }
}

pub(super) use system::is_active;
pub(in super::super) use system::stop;

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod system {
    use std::arch::asm;
    use std::cell::Cell;
    use std::mem::{MaybeUninit, zeroed};
    use std::ptr::{null, null_mut};
    use std::sync::OnceLock;
    use std::sync::atomic::Ordering::SeqCst;
    use std::sync::atomic::compiler_fence;

    use super::super::operand::{self, Operand};
    use super::{OF_THREAD, Steps};

    /// `si_code` of a trap after a single step.
    const TRACE: libc::c_int = 2;
    /// Those of traps of the debugger's kind. A single step has another one than its own once in some million on virtual
    /// machines.
    const OF_DEBUGGING: std::ops::Range<libc::c_int> = 1..0x80;
    const TRAP_FLAG: i64 = 0x100;

    thread_local! {
        static ACTIVE: Cell<*const Steps> = const { Cell::new(null()) };
    }

    /// True when the calling OS thread takes steps.
    pub(in super::super) fn is_active() -> bool {
        !ACTIVE.get().is_null()
    }

    /// # Safety
    ///
    /// As for [`Steps::start`].
    #[inline(always)]
    pub(super) unsafe fn start(steps: &Steps) {
        ACTIVE.set(steps);
        // SAFETY: the handler is installed, and `popfq` restores the other flags.
        unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    }

    /// Stops the steps of the calling OS thread, if it takes any. The handler of the next one clears the flag.
    #[inline(always)]
    pub(in super::super::super) fn stop() {
        ACTIVE.set(null());
        // The handler reads it between two instructions.
        compiler_fence(SeqCst);
    }

    /// Registers in the order of their numbers in instructions.
    const REGISTERS: [libc::c_int; 16] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];

    /// Runs after each step, between any two instructions: it neither allocates nor calls the system.
    unsafe extern "C" fn on_trap(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        // SAFETY: the kernel passes valid pointers to a handler installed with SA_SIGINFO.
        let (code, registers) = unsafe {
            let context = &mut *context.cast::<libc::ucontext_t>();
            ((*info).si_code, &mut context.uc_mcontext.gregs)
        };
        if !is_step(code, registers[libc::REG_EFL as usize]) {
            // SAFETY: the arguments are those of this handler.
            return unsafe { pass_on(signal, info, context) };
        }
        // SAFETY: the steps are stopped before they are dropped.
        let goes_on = unsafe { ACTIVE.get().as_ref() }.is_some_and(|steps| steps.step(registers));
        if !goes_on {
            ACTIVE.set(null());
            registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
        }
    }

    /// True for a trap of a single step, by its code and the flags of the interrupted code.
    fn is_step(code: libc::c_int, flags: i64) -> bool {
        code == TRACE || OF_DEBUGGING.contains(&code) && flags & TRAP_FLAG != 0
    }

    #[cfg(test)]
    #[test]
    fn a_trap_of_another_kind_is_a_step_if_steps_are_taken() {
        const INT3: libc::c_int = 0x80;
        for (code, flags, expected) in [
            (TRACE, TRAP_FLAG, true),
            (TRACE, 0, true),
            (1, 0x46 | TRAP_FLAG, true),
            (1, 0x46, false),
            (4, TRAP_FLAG, true),
            (INT3, TRAP_FLAG, false),
            // Sent by a process.
            (0, TRAP_FLAG, false),
            (-6, TRAP_FLAG, false),
        ] {
            assert_eq!(is_step(code, flags), expected, "{code} {flags:x}");
        }
    }

    impl Steps {
        /// Marks the bytes that the next instruction uses; false if the steps are to end.
        fn step(&self, registers: &[i64; 23]) -> bool {
            let values = REGISTERS.map(|register| registers[register as usize] as usize);
            let code = registers[libc::REG_RIP as usize] as *const u8;
            // SAFETY: the processor is about to execute the instruction there.
            match unsafe { operand::decode(code, &values, thread_pointer()) } {
                Operand::None => {}
                Operand::OfThread(address) => self.mark(address, OF_THREAD),
                Operand::Address(address) => self.mark(address, super::BY_POINTER),
                Operand::SystemCall if endangers(&values) => {
                    self.is_cut.set(true);
                    return false;
                }
                Operand::SystemCall => {}
            }
            self.left.update(|left| left.saturating_sub(1));
            if !self.are_left() {
                self.is_cut.set(true);
            }
            self.are_left()
        }
    }

    /// True when a system call with these registers may block the signal, change its handler or make a process.
    fn endangers(registers: &[usize; 16]) -> bool {
        matches!(
            registers[0] as libc::c_long,
            libc::SYS_rt_sigprocmask
                | libc::SYS_rt_sigaction
                | libc::SYS_rt_sigreturn
                | libc::SYS_clone
                | libc::SYS_clone3
                | libc::SYS_fork
                | libc::SYS_vfork
                | libc::SYS_execve
        )
    }

    fn thread_pointer() -> usize {
        let pointer;
        // SAFETY: on this system the word there is the thread pointer.
        unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(pure, readonly, nostack)) };
        pointer
    }

    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

    unsafe fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        match PREVIOUS.get() {
            Some(previous) if previous.sa_sigaction > libc::SIG_IGN => {
                type Handler =
                    unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                // SAFETY: neither SIG_DFL nor SIG_IGN, so it is a function with these arguments; one
                // without SA_SIGINFO ignores the last two.
                unsafe {
                    let handler: Handler = std::mem::transmute(previous.sa_sigaction);
                    handler(signal, info, context);
                }
            }
            // SAFETY: neither function has a precondition; the signal then ends the process.
            _ => unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            },
        }
    }

    /// True when steps work here: not under a debugger, which takes the traps itself, nor on some emulators,
    /// nor where the signal is blocked or its handler was replaced.
    pub(super) fn can_step() -> bool {
        static IS_USABLE: OnceLock<bool> = OnceLock::new();
        let is_usable = || !is_traced() && install() && is_deliverable() && probe();
        *IS_USABLE.get_or_init(is_usable) && is_deliverable()
    }

    fn is_traced() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mut lines = status.lines();
        let tracer = lines.find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_none_or(|tracer| tracer.trim() != "0")
    }

    fn install() -> bool {
        // SAFETY: zeroes are a valid action; the handler has the signature that SA_SIGINFO requires.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_trap as *const () as usize;
            // On the alternative stack: the thread's own one is compared in the search for spin loops.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            let mut previous = MaybeUninit::uninit();
            if libc::sigaction(libc::SIGTRAP, &action, previous.as_mut_ptr()) != 0 {
                return false;
            }
            PREVIOUS.get_or_init(|| previous.assume_init());
        }
        true
    }

    fn is_deliverable() -> bool {
        // SAFETY: both functions only fill in what they are given.
        unsafe {
            let mut mask = zeroed();
            let mut action: libc::sigaction = zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, null(), &mut mask) == 0
                && libc::sigismember(&mask, libc::SIGTRAP) == 0
                && libc::sigaction(libc::SIGTRAP, null_mut(), &mut action) == 0
                && action.sa_sigaction == on_trap as *const () as usize
        }
    }

    thread_local!(static PROBE: Cell<u32> = const { Cell::new(0) });

    /// Uses a thread-local as code does that has no pointer to it.
    #[inline(never)]
    fn use_probe() {
        PROBE.set(PROBE.get().wrapping_add(1));
    }

    /// Takes some steps and returns true when they see the use of a thread-local.
    fn probe() -> bool {
        let address = PROBE.with(|probe| probe.as_ptr() as usize);
        let steps = Steps {
            start: address,
            marks: Box::new([Cell::new(0)]),
            has_marks: Cell::new(false),
            left: Cell::new(10_000),
            is_cut: Cell::new(false),
        };
        // SAFETY: they are stopped below.
        unsafe { steps.start() };
        use_probe();
        stop();
        let mut seen = 0;
        let is_whole = steps.finish(|_, marks| seen |= marks);
        is_whole && seen & OF_THREAD != 0
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(miri))))]
mod system {
    pub(super) fn can_step() -> bool {
        false
    }

    pub(super) unsafe fn start(_: &super::Steps) {}

    pub(in super::super) fn is_active() -> bool {
        false
    }

    pub(in super::super::super) fn stop() {}
}
