//! Signals that the program sends to itself.
//!
//! The kernel does not take part: a signal is a request to a thread ([`interrupts`]), and its handler runs
//! when that thread comes to a scheduling point and sees it. A signal for the whole process goes to the
//! first thread that does not block it, as Linux does, and waits for one if all do.

mod alarms;
mod api;
mod waiting;

use std::ffi::{c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_engine::ThreadId;

use crate::abi::caller::keeping_top;
use crate::abi::real::real;
use crate::engine::Manner;
use crate::execution::running;
use crate::host::phase;
use crate::host::solo::Solo;
use crate::threads::queues::{self, Place};
use crate::threads::requests::{self, CANCEL};
use crate::threads::{failure, guests, unwind};

/// Numbers of signals are below that.
const LIMIT: usize = 64;

/// What is done about a signal.
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

struct Process {
    actions: [Action; LIMIT],
    /// Bits of signals that no thread wants.
    pending: u64,
    /// What was sent along with a signal.
    values: [usize; LIMIT],
}

const NEW: Process = Process {
    actions: [DEFAULT; LIMIT],
    pending: 0,
    values: [0; LIMIT],
};

static PROCESS: Solo<Process> = Solo::new(NEW);
/// What the program had asked for before the check.
static BEFORE: Solo<[Action; LIMIT]> = Solo::new([DEFAULT; LIMIT]);
/// Whether the handlers that ran last let a wait go on.
static RESTARTS: AtomicBool = AtomicBool::new(true);

/// Where those come who change what the whole process does about signals.
const PLACE: Place = Place {
    address: (1 << 61) - 16,
    kind: "signals of the process",
};

/// At the beginning of an execution.
pub(crate) fn begin() {
    let mut process = PROCESS.get();
    *process = NEW;
    process.actions = *BEFORE.get();
    alarms::begin();
}

/// What the kernel is to know.
pub(crate) fn install() {
    static IS_IGNORED: Once = Once::new();
    // The kernel is not to send this one: who writes to nobody is told so, and then gets it from here.
    IS_IGNORED.call_once(|| {
        let signal = real!(fn signal(c_int, usize) -> usize);
        // SAFETY: ignores a signal.
        unsafe { signal(libc::SIGPIPE, libc::SIG_IGN) };
    });
}

/// The bit of a signal.
fn bit(signal: c_int) -> u64 {
    1 << (signal as u32 % 64)
}

fn is_signal(signal: c_int) -> bool {
    (1..LIMIT as c_int).contains(&signal)
}

/// Comes where everybody comes who changes something for the process.
pub(crate) fn visit(code: usize) {
    if requests::has_signals() {
        queues::visit(PLACE, code);
    }
}

/// What is to be done about a signal from now on; and what was before.
fn set_action(signal: c_int, new: Option<Action>) -> Action {
    // Outside a check others may call, but not at the same time.
    match phase::is_checking() {
        true => replace(&mut PROCESS.get().actions[signal as usize], new),
        false => replace(&mut BEFORE.get()[signal as usize], new),
    }
}

fn replace(action: &mut Action, new: Option<Action>) -> Action {
    let before = *action;
    *action = new.unwrap_or(before);
    before
}

/// Whether a wait goes on after the handlers that have just run.
pub(crate) fn restarts() -> bool {
    RESTARTS.load(Relaxed)
}

/// The running thread handles what it has got and does not block; whether there was anything.
pub(crate) fn deliver(code: usize) -> bool {
    let (mut restarts, mut has_any) = (true, false);
    loop {
        let masked = requests::masked(running().thread()) | CANCEL;
        let pending = requests::look(code) & !masked;
        if pending == 0 {
            break;
        }
        let signal = pending.trailing_zeros() as c_int;
        requests::settle(bit(signal), code);
        restarts &= handle(signal, code);
        has_any = true;
    }
    RESTARTS.store(restarts, Relaxed);
    has_any
}

/// A signal for the running thread: handled now, or later if it is blocked.
pub(crate) fn raise(signal: c_int, code: usize) {
    let masked = requests::masked(running().thread());
    match masked & bit(signal) {
        0 => {
            let restarts = handle(signal, code);
            RESTARTS.store(restarts, Relaxed);
        }
        _ => requests::request(running().thread(), bit(signal), code),
    }
}

/// A signal for another thread, or for this one.
fn send(thread: ThreadId, signal: c_int, code: usize) {
    if thread == running().thread() {
        return raise(signal, code);
    }
    requests::request(thread, bit(signal), code);
}

/// A signal for the process.
fn send_to_process(signal: c_int, code: usize) {
    visit(code);
    let wants = |thread: &ThreadId| {
        let is_there = guests::with(*thread, |guest| guest.is_known);
        is_there && requests::masked(*thread) & bit(signal) == 0
    };
    let mut all = (0..guests::count()).map(ThreadId::new);
    match all.find(wants) {
        Some(thread) => send(thread, signal, code),
        None => PROCESS.get().pending |= bit(signal),
    }
}

/// What a handler is given that wants to know more; nothing is known of what was interrupted.
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
    // SAFETY: what the program has for this signal.
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
    /// Where the sender and the value are.
    const SENDER: usize = 16;
    const VALUE: usize = 24;
    let value = PROCESS.get().values[signal as usize];
    // SAFETY: all-zero is a valid value, and the fields are inside.
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

/// Does what is to be done about a signal; whether a wait that it came into goes on.
fn handle(signal: c_int, code: usize) -> bool {
    visit(code);
    let action = PROCESS.get().actions[signal as usize];
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
        PROCESS.get().actions[signal as usize] = DEFAULT;
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
    visit(code);
    requests::mask(|_| before);
    action.flags & libc::SA_RESTART != 0
}

/// Whether nothing is done about a signal unless the program says so.
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

/// In a child that nobody controls: the kernel is to know what the program does about signals.
pub(crate) fn hand_over() {
    let set = real!(fn sigaction(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int);
    for (signal, action) in PROCESS.get().actions.iter().enumerate().skip(1) {
        let new = api::in_c(*action);
        // SAFETY: the program's own handlers.
        unsafe { set(signal as c_int, &new, std::ptr::null_mut()) };
    }
}
