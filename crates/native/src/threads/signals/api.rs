//! Functions that send signals and set their actions.

use std::ffi::{c_int, c_uint};
use std::time::Duration;

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::abi::trampoline::watched;
use crate::execution::shadow_stack;
use crate::host::mode::{self, host, is_guest};
use crate::host::phase::{self, Harness};
use crate::names::symbols;
use crate::threads::requests::{self, CANCEL};
use crate::threads::signals::{
    self, Action, DEFAULT, SIGNALS, alarms, bit, is_signal, send, send_to_process, set_action,
    synchronize,
};
use crate::threads::{guests, interrupts};

type New = GuestPtr<libc::sigaction>;
type Old = GuestPtr<libc::sigaction>;
type Set = GuestPtr<u64>;
type Stack = GuestPtr<libc::stack_t>;
/// Interval of a timer, and the time until it expires first.
type Timer = GuestPtr<[libc::timeval; 2]>;

/// Returns the result of a function that stores its error in `errno`.
fn result(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    mode::set_errno(error);
    -1
}

/// Returns the bits of a set; the kernel counts signals from 0.
pub(super) fn bits(set: u64) -> u64 {
    set << 1
}

/// Returns the set with these bits.
fn set_of(bits: u64) -> u64 {
    (bits & !CANCEL) >> 1
}

fn action(new: &libc::sigaction) -> Action {
    // SAFETY: a set of signals is an array of words, so that its first word can be read.
    let mask = unsafe { (&raw const new.sa_mask).cast::<u64>().read() };
    Action {
        handler: new.sa_sigaction,
        flags: new.sa_flags,
        mask: bits(mask),
    }
}

/// Returns an action in the representation of C.
pub(super) fn in_c(action: Action) -> libc::sigaction {
    // SAFETY: `sigaction` is a struct of numbers and an optional function, in which all-zero is
    // valid. A set of signals is an array of words, so that its first word can be written.
    unsafe {
        let mut value: libc::sigaction = std::mem::zeroed();
        value.sa_sigaction = action.handler;
        value.sa_flags = action.flags;
        (&raw mut value.sa_mask)
            .cast::<u64>()
            .write(set_of(action.mask));
        value
    }
}

watched! {
    fn sigaction(signal: c_int, new: New, old: Old) -> c_int as on_sigaction("rcx");
    fn signal(signal: c_int, handler: usize) -> usize as on_signal("rdx");
    fn kill(process: libc::pid_t, signal: c_int) -> c_int as on_kill("rdx");
    fn raise(signal: c_int) -> c_int as on_raise("rsi");
    fn pthread_kill(name: usize, signal: c_int) -> c_int as on_thread("rdx");
    fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int as on_tgkill("rcx");
    fn sigqueue(process: libc::pid_t, signal: c_int, value: usize) -> c_int as on_queue("rcx");
    fn pthread_sigqueue(name: usize, signal: c_int, value: usize) -> c_int as on_thread_queue("rcx");
    fn pthread_sigmask(how: c_int, new: Set, old: Set) -> c_int as on_mask("rcx");
    fn sigprocmask(how: c_int, new: Set, old: Set) -> c_int as on_process_mask("rcx");
    fn sigpending(to: Set) -> c_int as on_pending("rsi");
    fn sigaltstack(new: Stack, old: Stack) -> c_int as on_stack("rdx");
    fn alarm(seconds: c_uint) -> c_uint as on_alarm("rsi");
    fn ualarm(time: c_uint, interval: c_uint) -> c_uint as on_short_alarm("rdx");
    fn setitimer(which: c_int, new: Timer, old: Timer) -> c_int as on_timer("rcx");
}

extern "C" fn on_sigaction(signal: c_int, new: New, old: Old, code: usize) -> c_int {
    if !is_signal(signal) || signal == libc::SIGKILL || signal == libc::SIGSTOP {
        return result(libc::EINVAL);
    }
    let wanted = new.get().map(|new| action(&new));
    if !is_guest() {
        if wanted.is_none() && is_for_overflows(signal, code) {
            old.set(in_c(Action {
                handler: libc::SIG_IGN,
                ..DEFAULT
            }));
            return 0;
        }
        if !phase::is_checking() {
            set_action(signal, wanted);
        }
        return forward!(fn sigaction(signal: c_int, new: New, old: Old) -> c_int);
    }
    let code = shadow_stack::users(code);
    host(|| {
        synchronize(code);
        old.set(in_c(set_action(signal, wanted)));
    });
    0
}

/// True if Rust's standard library asks for the action of a fault, at the beginning of a test's harness. If that is not
/// the default, every thread is spared a stack for a handler that would report stack overflows, which raddle reports.
fn is_for_overflows(signal: c_int, code: usize) -> bool {
    /// The function that prepares the standard library, in which the handlers are set.
    const BEGIN: &str = "lang_start_internal";
    let is_fault = matches!(signal, libc::SIGSEGV | libc::SIGBUS);
    is_fault && phase::harness() == Harness::Before && {
        let mut functions = symbols::functions(BEGIN).into_iter();
        functions.any(|(range, _)| range.contains(&code))
    }
}

extern "C" fn on_signal(signal: c_int, handler: usize, code: usize) -> usize {
    let mut new = in_c(Action {
        handler,
        flags: libc::SA_RESTART,
        mask: 0,
    });
    let mut old = in_c(DEFAULT);
    // SAFETY: both variables outlive the call, and are used by nothing else during it.
    let [new, given] = [&mut new, &mut old].map(|it| unsafe { GuestPtr::new(it) });
    match on_sigaction(signal, new, given, code) {
        0 => old.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}

extern "C" fn on_kill(process: libc::pid_t, signal: c_int, code: usize) -> c_int {
    // SAFETY: `getpid` has no precondition.
    let is_own = process == 0 || process == unsafe { libc::getpid() };
    if !is_guest() || !is_own || !(0..64).contains(&signal) {
        return forward!(fn kill(process: libc::pid_t, signal: c_int) -> c_int);
    }
    let code = shadow_stack::users(code);
    host(|| {
        interrupts::scheduling_point(code);
        if signal != 0 {
            send_to_process(signal, code);
        }
    });
    0
}

extern "C" fn on_raise(signal: c_int, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn raise(signal: c_int) -> c_int);
    }
    if !is_signal(signal) {
        return result(libc::EINVAL);
    }
    let code = shadow_stack::users(code);
    host(|| signals::raise(signal, code));
    0
}

/// Sends a signal to the thread with this name; returns an error, or 0.
fn to_thread(name: usize, signal: c_int, value: Option<usize>, code: usize) -> c_int {
    let Some(thread) = guests::find(name) else {
        return libc::ESRCH;
    };
    if !(0..64).contains(&signal) {
        return libc::EINVAL;
    }
    if signal != 0 {
        if let Some(value) = value {
            SIGNALS.get().values[signal as usize] = value;
        }
        send(thread, signal, code);
    }
    0
}

extern "C" fn on_thread(name: usize, signal: c_int, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn pthread_kill(name: usize, signal: c_int) -> c_int);
    }
    let code = shadow_stack::users(code);
    host(|| {
        interrupts::scheduling_point(code);
        to_thread(name, signal, None, code)
    })
}

extern "C" fn on_thread_queue(name: usize, signal: c_int, value: usize, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn pthread_sigqueue(name: usize, signal: c_int, value: usize) -> c_int);
    }
    let code = shadow_stack::users(code);
    host(|| to_thread(name, signal, Some(value), code))
}

extern "C" fn on_tgkill(
    process: libc::pid_t,
    thread: libc::pid_t,
    signal: c_int,
    code: usize,
) -> c_int {
    if !is_guest() {
        return forward!(fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int);
    }
    let code = shadow_stack::users(code);
    result(host(|| match guests::by_number(thread) {
        Some(thread) => to_thread(
            guests::with(thread, |guest| guest.pointer),
            signal,
            None,
            code,
        ),
        None => libc::ESRCH,
    }))
}

extern "C" fn on_queue(process: libc::pid_t, signal: c_int, value: usize, code: usize) -> c_int {
    // SAFETY: `getpid` has no precondition.
    let is_own = process == unsafe { libc::getpid() };
    if !is_guest() || !is_own || !is_signal(signal) {
        return forward!(fn sigqueue(process: libc::pid_t, signal: c_int, value: usize) -> c_int);
    }
    let code = shadow_stack::users(code);
    host(|| {
        SIGNALS.get().values[signal as usize] = value;
        send_to_process(signal, code);
    });
    0
}

/// Changes the mask of the running thread; returns an error, or 0.
fn change_mask(how: c_int, new: Set, old: Set, code: usize) -> c_int {
    let new = new.get().map(bits);
    if new.is_some() {
        synchronize(code);
    }
    let before = requests::mask(|masked| match (new, how) {
        (None, _) => masked,
        (Some(new), libc::SIG_BLOCK) => masked | new,
        (Some(new), libc::SIG_UNBLOCK) => masked & !new,
        (Some(new), _) => masked & CANCEL | new,
    });
    old.set(set_of(before));
    if new.is_some() {
        take_pending(code);
    }
    0
}

/// Handles pending signals of the process and of the running thread; returns true if there was one.
pub(super) fn take_pending(code: usize) -> bool {
    let masked = requests::masked(crate::execution::running().thread()) | CANCEL;
    let mut process = SIGNALS.get();
    let mut wanted = process.pending & !masked;
    process.pending &= masked;
    drop(process);
    let has_any = wanted != 0;
    while wanted != 0 {
        let signal = wanted.trailing_zeros() as c_int;
        wanted &= !bit(signal);
        signals::raise(signal, code);
    }
    signals::deliver(code) || has_any
}

extern "C" fn on_mask(how: c_int, new: Set, old: Set, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn pthread_sigmask(how: c_int, new: Set, old: Set) -> c_int);
    }
    if !new.is_null() && !(0..=2).contains(&how) {
        return libc::EINVAL;
    }
    let code = shadow_stack::users(code);
    host(|| change_mask(how, new, old, code))
}

extern "C" fn on_process_mask(how: c_int, new: Set, old: Set, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn sigprocmask(how: c_int, new: Set, old: Set) -> c_int);
    }
    result(on_mask(how, new, old, code))
}

extern "C" fn on_pending(to: Set, code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn sigpending(to: Set) -> c_int);
    }
    let code = shadow_stack::users(code);
    let pending = host(|| requests::look(code) | SIGNALS.get().pending);
    to.write(set_of(pending));
    0
}

/// Sets or returns the alternate signal stack, which is not used: handlers run on the thread's own
/// stack, which is large enough.
extern "C" fn on_stack(new: Stack, old: Stack, _code: usize) -> c_int {
    if !is_guest() {
        return forward!(fn sigaltstack(new: Stack, old: Stack) -> c_int);
    }
    let new = new.get();
    let before = host(|| {
        guests::with_running(|guest| match new {
            Some(new) => guest.signal_stack.replace(new),
            None => guest.signal_stack,
        })
    });
    old.set(before.unwrap_or(libc::stack_t {
        ss_sp: std::ptr::null_mut(),
        ss_flags: libc::SS_DISABLE,
        ss_size: 0,
    }));
    0
}

extern "C" fn on_alarm(seconds: c_uint, code: usize) -> c_uint {
    if !is_guest() {
        return forward!(fn alarm(seconds: c_uint) -> c_uint);
    }
    let code = shadow_stack::users(code);
    let time = Duration::from_secs(seconds.into());
    host(|| alarms::set(time, code)).as_secs() as c_uint
}

extern "C" fn on_short_alarm(time: c_uint, interval: c_uint, code: usize) -> c_uint {
    if !is_guest() {
        return forward!(fn ualarm(time: c_uint, interval: c_uint) -> c_uint);
    }
    let code = shadow_stack::users(code);
    let time = Duration::from_micros(time.into());
    host(|| alarms::set(time, code)).as_micros() as c_uint
}

extern "C" fn on_timer(which: c_int, new: Timer, old: Timer, code: usize) -> c_int {
    if !is_guest() || which != libc::ITIMER_REAL {
        return forward!(fn setitimer(which: c_int, new: Timer, old: Timer) -> c_int);
    }
    let code = shadow_stack::users(code);
    let time = new.get().map_or(Duration::ZERO, |[_, first]| {
        Duration::from_secs(first.tv_sec.max(0) as u64)
            + Duration::from_micros(first.tv_usec.max(0) as u64)
    });
    let left = host(|| alarms::set(time, code));
    let value = |time: Duration| libc::timeval {
        tv_sec: time.as_secs() as i64,
        tv_usec: time.subsec_micros().into(),
    };
    old.set([value(Duration::ZERO), value(left)]);
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_word(set: &libc::sigset_t) -> u64 {
        // SAFETY: a set of signals is an array of words.
        unsafe { (&raw const *set).cast::<u64>().read() }
    }

    /// Compares the bits of signals with the C library's own sets.
    #[test]
    fn sets_are_those_of_the_c_library() {
        for signal in (1..32).chain(34..64) {
            let mut set = std::mem::MaybeUninit::uninit();
            // SAFETY: the set is initialised before a signal is added to it.
            let set = unsafe {
                libc::sigemptyset(set.as_mut_ptr());
                assert_eq!(libc::sigaddset(set.as_mut_ptr(), signal), 0, "{signal}");
                set.assume_init()
            };
            assert_eq!(bits(first_word(&set)), bit(signal), "{signal}");
            assert_eq!(set_of(bit(signal)), first_word(&set), "{signal}");
        }
    }

    #[test]
    fn cancellation_is_in_no_set_of_the_program() {
        assert_eq!(set_of(CANCEL), 0);
        assert_eq!(bits(u64::MAX) & CANCEL, 0);
    }

    #[test]
    fn actions_are_read_back() {
        let given = Action {
            handler: 0x1234,
            flags: libc::SA_RESTART | libc::SA_NODEFER,
            mask: bit(libc::SIGUSR1) | bit(libc::SIGTERM),
        };
        let found = action(&in_c(given));
        assert_eq!(found.handler, given.handler);
        assert_eq!(found.flags, given.flags);
        assert_eq!(found.mask, given.mask);
    }
}
