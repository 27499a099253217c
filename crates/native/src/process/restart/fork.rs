//! Every execution in a process of its own.
//!
//! All of raddle's memory is shared by parent and child: its allocations, its variables, and the stacks of
//! its code. The program's memory is not. When an execution begins, the process forks, and the child
//! continues with it while the parent waits, on a stack of its own. At the end of the execution,
//! the child saves its position and raddle's thread-local variables, and exits. The parent
//! continues from there, with the engine's state after the execution and with the program's initial
//! state. So everything between two executions happens in the parent.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::abi::guest;
use crate::abi::real::real;
use crate::abi::stack::{self, Frame};
use crate::execution::running;
use crate::host::{arena, dispatch, mode, shared_memory, substrate, system, tls};

/// Bytes of the stack of raddle's own code, enough for a check.
const STACK: usize = 16 << 20;
/// Bytes of the parent's stack while it waits, and for the story if the child is lost.
const WAITING: usize = 1 << 20;
const PAGE: usize = 4096;

/// The end of the parent's own stack.
static PARENTS_STACK: AtomicUsize = AtomicUsize::new(0);
static IN_CHILD: AtomicBool = AtomicBool::new(false);
/// True if the child has reached the end of its execution.
static IS_OVER: AtomicBool = AtomicBool::new(false);
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
/// Frame of the child at the end of its execution.
static FRAME: FrameCell = FrameCell(UnsafeCell::new(Frame::new()));
/// A copy of raddle's thread-local variables.
static VARIABLES: AtomicUsize = AtomicUsize::new(0);

struct FrameCell(UnsafeCell<Frame>);

// SAFETY: the cell must not be accessed by two threads at once: the child writes it before it ends, and the
// parent reads it afterwards.
unsafe impl Sync for FrameCell {}

/// Runs a check, with all of raddle's memory shared.
pub(super) fn run<R>(check: impl FnOnce() -> R) -> R {
    shared_memory::share_everything(&arena::mapped());
    if PARENTS_STACK.load(Relaxed) == 0 {
        let waiting = shared_memory::map_own(WAITING);
        PARENTS_STACK.store(waiting + WAITING, Relaxed);
        VARIABLES.store(shared_memory::map(tls::own().len().max(1)), Relaxed);
    }
    let memory = shared_memory::map(STACK);
    shared_memory::protect(memory..memory + PAGE, libc::PROT_NONE);
    let mut task = Task {
        check: ManuallyDrop::new(check),
        result: MaybeUninit::uninit(),
    };
    let runner = runner(&task);
    // SAFETY: `call_on` needs a stack that is large enough and unused, which was just mapped, and a function
    // for the argument: `runner` is that of this task, which outlives the call. The function has set the
    // result when it returns.
    unsafe {
        stack::call_on(memory + STACK, runner, (&raw mut task).cast());
        let result = task.result.assume_init_read();
        shared_memory::unmap(memory..memory + STACK);
        result
    }
}

struct Task<F, R> {
    check: ManuallyDrop<F>,
    result: MaybeUninit<R>,
}

type Runner = unsafe extern "C" fn(*mut u8);

fn runner<F: FnOnce() -> R, R>(_: &Task<F, R>) -> Runner {
    run_task::<F, R>
}

unsafe extern "C" fn run_task<F: FnOnce() -> R, R>(task: *mut u8) {
    // SAFETY: `call` calls this once with its task, so that the check can be taken. Only the parent
    // enters and returns, so that no second process takes it.
    unsafe {
        let task = task.cast::<Task<F, R>>();
        let check = ManuallyDrop::take(&mut (*task).check);
        let result = check();
        (*task).result.write(result);
    }
}

/// Begins an execution: from here on the child runs.
pub(super) fn split() {
    IS_OVER.store(false, Relaxed);
    shared_memory::begin();
    // SAFETY: `call_on` needs a stack that is large enough and unused: it is mapped for the parent
    // alone, which waits on it. Only the child returns, with a copy.
    unsafe { stack::call_on(PARENTS_STACK.load(Relaxed), fork, null_mut()) };
    IN_CHILD.store(true, Relaxed);
    dispatch::forget();
}

/// Forks and returns in the child. The parent stays on its own stack: this one is the child's from
/// now on.
unsafe extern "C" fn fork(_: *mut u8) {
    // SAFETY: `fork` leaves locks of other threads taken in the child, but the C library's function
    // releases its own, and raddle's other threads hold none that a child uses. The other calls
    // have no precondition. The child must end with its parent, which may have ended before the
    // child could request that.
    unsafe {
        let parent = libc::getpid();
        match real!(fn fork() -> c_int)() {
            0 => {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::getppid() != parent {
                    exit(1);
                }
            }
            child => wait(child),
        }
    }
}

/// Ends an execution: from here on the parent runs.
pub(super) fn join() {
    if !IN_CHILD.load(Relaxed) {
        return;
    }
    substrate::end_execution();
    let variables = tls::own();
    // SAFETY: the copy has as many bytes as the variables. `call` needs a function for the argument, and the
    // frame is written before the child can end.
    unsafe {
        let copy = VARIABLES.load(Relaxed) as *mut u8;
        std::ptr::copy_nonoverlapping(variables.start as *const u8, copy, variables.len());
        let end = end as extern "C" fn(usize) -> usize as usize;
        stack::call(end, 0, FRAME.0.get());
    }
    EXECUTIONS.fetch_add(1, Relaxed);
}

/// Ends the child at the end of its execution.
extern "C" fn end(_: usize) -> usize {
    IN_CHILD.store(false, Relaxed);
    IS_OVER.store(true, Relaxed);
    exit(0)
}

fn exit(code: usize) -> ! {
    // SAFETY: `exit_group` ends the process, so that nothing of it is used afterwards.
    unsafe { system::call(libc::SYS_exit_group, [code, 0, 0, 0, 0, 0]) };
    unreachable!("raddle: the process has ended")
}

/// In the parent: waits for the end of the child, and continues from its position.
fn wait(child: c_int) -> ! {
    if child < 0 {
        let error = std::io::Error::last_os_error();
        eprintln!("raddle: the process could not be forked: {error}");
        exit(2);
    }
    let mut status: c_int = 0;
    let arguments = [child as usize, &raw mut status as usize, 0, 0, 0, 0];
    // SAFETY: the kernel writes a status to the address, which is that of a variable of this type.
    while unsafe { system::call(libc::SYS_wait4, arguments) } == -(libc::EINTR as isize) {}
    if !IS_OVER.load(Relaxed) {
        lose(status);
    }
    shared_memory::adopt();
    let variables = tls::own();
    // SAFETY: the copy has as many bytes as the variables. `leave` needs the frame of a call that
    // is still on its stack: the child was in it, on a stack that both share. Nothing on this stack
    // has a destructor.
    unsafe {
        let copy = VARIABLES.load(Relaxed) as *const u8;
        std::ptr::copy_nonoverlapping(copy, variables.start as *mut u8, variables.len());
        mode::leave(*FRAME.0.get(), 0)
    }
}

/// Reports a child that ended in the middle of its execution: prints its story as far as it is
/// recorded.
fn lose(status: c_int) -> ! {
    let how = match libc::WIFSIGNALED(status) {
        // The child has printed its story before.
        true if libc::WTERMSIG(status) == libc::SIGSEGV => end_by(libc::SIGSEGV),
        true => format!("was ended by signal {}", libc::WTERMSIG(status)),
        false => format!("ended with status {}", libc::WEXITSTATUS(status)),
    };
    guest::GUEST.store(0, Relaxed);
    let executions = EXECUTIONS.load(Relaxed);
    let message =
        format!("its process {how}, after {executions} executions in processes of their own");
    running().report_before_end(message);
    exit(1)
}

/// Ends the process as the child has ended.
fn end_by(signal: c_int) -> ! {
    // SAFETY: both calls have no precondition for a signal that a child has died of.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    exit(1)
}
