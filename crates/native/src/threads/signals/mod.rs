//! Signals that the program sends to itself.
//!
//! The kernel does not take part: a signal is a request to a thread ([`requests`]). Its handler
//! runs when that thread reads the request at a scheduling point. A signal for the whole process
//! goes to the first thread that does not block it, as in Linux. If all threads block it, it stays
//! pending.

pub(crate) mod alarms;
mod api;
mod waiting;

use std::ffi::{c_int, c_void};
use std::sync::Once;

use raddle_engine::ThreadId;

use crate::abi::caller::keeping_top;
use crate::abi::real::real;
use crate::engine::Manner;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::phase;
use crate::host::process_state::ProcessState;
use crate::threads::queues::{self, QueueKey};
use crate::threads::requests::{self, CANCEL};
use crate::threads::{failure, guests, unwind};

/// Upper bound of signal numbers, exclusive.
const LIMIT: usize = 64;

/// Action for a signal.
#[derive(Clone, Copy)]
struct Action {
    handler: usize,
    flags: c_int,
    mask: u64,
}

const DEFAULT: Action = Action {
    handler: libc::SIG_DFL,
    flags: 0,
    mask: 0,
};

/// Actions and pending signals of the execution.
pub(crate) struct Signals {
    actions: [Action; LIMIT],
    /// Bits of pending signals of the process, which all threads have masked.
    pending: u64,
    /// Values that were sent with signals.
    values: [usize; LIMIT],
    /// True if a wait continues after the handlers that ran last.
    restarts: bool,
}

impl Default for Signals {
    fn default() -> Self {
        Signals {
            actions: *BEFORE.get(),
            pending: 0,
            values: [0; LIMIT],
            restarts: true,
        }
    }
}

impl Part for Signals {
    fn renew(&mut self) {
        let Signals {
            actions,
            pending,
            values,
            restarts,
        } = self;
        actions.copy_from_slice(&*BEFORE.get());
        *pending = 0;
        values.fill(0);
        *restarts = true;
    }
}

pub(crate) static SIGNALS: PartCell<Signals> = PartCell::new();

/// Actions from before the check.
static BEFORE: ProcessState<[Action; LIMIT]> = ProcessState::new([DEFAULT; LIMIT]);

/// Queue of the changes of actions and pending signals.
const PLACE: QueueKey = QueueKey {
    address: (1 << 61) - 16,
    kind: "signals of the process",
};

/// Sets the actions of the kernel.
pub(crate) fn install() {
    static IS_IGNORED: Once = Once::new();
    // The kernel must not send SIGPIPE: the write fails with `EPIPE`, and then the signal is raised
    // here.
    IS_IGNORED.call_once(|| {
        let signal = real!(fn signal(c_int, usize) -> usize);
        // SAFETY: `signal` needs a valid action, and `SIG_IGN` is one for this signal.
        unsafe { signal(libc::SIGPIPE, libc::SIG_IGN) };
    });
}

/// Returns the bit of a signal.
fn bit(signal: c_int) -> u64 {
    1 << (signal as u32 % 64)
}

fn is_signal(signal: c_int) -> bool {
    (1..LIMIT as c_int).contains(&signal)
}

/// Synchronizes with other changes of actions and pending signals.
pub(crate) fn synchronize(code: usize) {
    if requests::has_signals() {
        queues::synchronize(PLACE, code);
    }
}

/// Sets the action for a signal; returns the action before.
fn set_action(signal: c_int, new: Option<Action>) -> Action {
    // Outside a check other threads may call, but not at the same time.
    match phase::is_checking() {
        true => replace(&mut SIGNALS.get().actions[signal as usize], new),
        false => replace(&mut BEFORE.get()[signal as usize], new),
    }
}

fn replace(action: &mut Action, new: Option<Action>) -> Action {
    let before = *action;
    *action = new.unwrap_or(before);
    before
}

/// True if a wait continues after the handlers that have just run.
pub(crate) fn restarts() -> bool {
    SIGNALS.get().restarts
}

/// Handles the running thread's requests that are not masked; returns true if there was one.
pub(crate) fn deliver(code: usize) -> bool {
    let (mut restarts, mut has_any) = (true, false);
    loop {
        let masked = requests::masked(running().thread()) | CANCEL;
        let pending = requests::look(code) & !masked;
        if pending == 0 {
            break;
        }
        let signal = pending.trailing_zeros() as c_int;
        requests::clear(bit(signal), code);
        restarts &= handle(signal, code);
        has_any = true;
    }
    SIGNALS.get().restarts = restarts;
    has_any
}

/// Raises a signal in the running thread: handled now, or later if it is blocked.
pub(crate) fn raise(signal: c_int, code: usize) {
    let masked = requests::masked(running().thread());
    match masked & bit(signal) {
        0 => {
            let restarts = handle(signal, code);
            SIGNALS.get().restarts = restarts;
        }
        _ => requests::request(running().thread(), bit(signal), code),
    }
}

/// Sends a signal to a thread, possibly the running one.
fn send(thread: ThreadId, signal: c_int, code: usize) {
    if thread == running().thread() {
        return raise(signal, code);
    }
    requests::request(thread, bit(signal), code);
}

/// Sends a signal to the process.
fn send_to_process(signal: c_int, code: usize) {
    synchronize(code);
    let wants = |thread: &ThreadId| {
        let is_there = guests::with(*thread, |guest| guest.is_known);
        is_there && requests::masked(*thread) & bit(signal) == 0
    };
    let mut all = (0..guests::count()).map(ThreadId::new);
    match all.find(wants) {
        Some(thread) => send(thread, signal, code),
        None => SIGNALS.get().pending |= bit(signal),
    }
}

/// Arguments of a handler, which has no information about the interrupted code.
#[repr(C)]
struct Given {
    signal: c_int,
    handler: usize,
    wants_more: bool,
    information: libc::siginfo_t,
    interrupted: [u64; 128],
}

/// In guest mode: calls the handler.
extern "C" fn call(given: &mut Given) -> usize {
    type Simple = extern "C" fn(c_int);
    type Other = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    // SAFETY: the number is a handler of the program, whose type its flag `SA_SIGINFO` determines; the
    // arguments outlive the call.
    unsafe {
        if given.wants_more {
            let handler: Other = std::mem::transmute(given.handler);
            let interrupted = (&raw mut given.interrupted).cast();
            handler(given.signal, &mut given.information, interrupted);
        } else {
            let handler: Simple = std::mem::transmute(given.handler);
            handler(given.signal);
        }
    }
    0
}

fn information(signal: c_int) -> libc::siginfo_t {
    /// Offsets of the sender and of the value.
    const SENDER: usize = 16;
    const VALUE: usize = 24;
    let value = SIGNALS.get().values[signal as usize];
    // SAFETY: `siginfo_t` is a struct of numbers, in which all-zero is valid, and the offsets of the fields
    // are inside of it.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        information.si_signo = signal;
        information.si_code = if value == 0 {
            libc::SI_USER
        } else {
            libc::SI_QUEUE
        };
        let start = (&raw mut information).cast::<u8>();
        start
            .add(SENDER)
            .cast::<libc::pid_t>()
            .write(libc::getpid());
        start.add(VALUE).cast::<usize>().write(value);
        information
    }
}

/// Takes the action for a signal; returns true if an interrupted wait continues.
fn handle(signal: c_int, code: usize) -> bool {
    synchronize(code);
    let action = SIGNALS.get().actions[signal as usize];
    match action.handler {
        libc::SIG_IGN => return true,
        libc::SIG_DFL => {
            if !is_ignored(signal) {
                let message = format!("the program was ended by {}", name(signal));
                failure::fail_in(Manner::Crash, message, code);
            }
            return true;
        }
        _ => {}
    }
    if action.flags & libc::SA_RESETHAND != 0 {
        SIGNALS.get().actions[signal as usize] = DEFAULT;
    }
    let own = match action.flags & libc::SA_NODEFER {
        0 => bit(signal),
        _ => 0,
    };
    let before = requests::mask(|masked| masked | action.mask & !CANCEL | own);
    let mut given = Given {
        signal,
        handler: action.handler,
        wants_more: action.flags & libc::SA_SIGINFO != 0,
        information: information(signal),
        interrupted: [0; 128],
    };
    let function = call as extern "C" fn(&mut Given) -> usize as usize;
    keeping_top(|| unwind::run_between(function, (&raw mut given) as usize));
    synchronize(code);
    requests::mask(|_| before);
    action.flags & libc::SA_RESTART != 0
}

/// True if the default action for a signal is to ignore it.
fn is_ignored(signal: c_int) -> bool {
    matches!(
        signal,
        libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT
    )
}

fn name(signal: c_int) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// In a child that is not controlled: sets the program's actions in the kernel.
pub(crate) fn hand_over() {
    let set = real!(fn sigaction(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    for (signal, action) in SIGNALS.get().actions.iter().enumerate().skip(1) {
        let new = api::in_c(*action);
        // SAFETY: the kernel reads one action, which outlives the call, with a handler that the program has
        // set.
        unsafe { set(signal as c_int, &new, std::ptr::null_mut()) };
    }
}
