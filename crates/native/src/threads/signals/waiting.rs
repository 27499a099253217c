//! Waiting for signals.

use std::ffi::{c_int, c_void};

use super::api::bits;
use super::{SIGNALS, bit, deliver, information, synchronize};
use crate::abi::guest_ptr::GuestPtr;
use crate::execution::running;
use crate::threads::interpose::system_calls;
use crate::threads::requests::{self, CANCEL, Interrupt};
use crate::threads::{interrupts, queues};

type Set = GuestPtr<u64>;

const WISH: &str = "a signal";

/// Waits until a signal comes that the thread has not masked; returns the interrupt.
fn sleep(code: usize) -> Interrupt {
    let waiter = queues::new_waiter(WISH);
    requests::wait(waiter, code)
}

/// Waits until a handler has run.
fn wait_for_handler(code: usize) -> Result<isize, c_int> {
    loop {
        match sleep(code) {
            Interrupt::None => {}
            Interrupt::Signal => {
                deliver(code);
                return Err(libc::EINTR);
            }
            Interrupt::Cancel => {
                interrupts::act(Interrupt::Cancel, code);
                return Ok(0);
            }
        }
    }
}

/// Takes a pending signal of the set, or waits for one; returns nothing if the thread is cancelled.
fn take(set: u64, waits: bool, code: usize) -> Option<c_int> {
    loop {
        synchronize(code);
        let mut process = SIGNALS.get();
        let pending = process.pending & set;
        if pending != 0 {
            let signal = pending.trailing_zeros() as c_int;
            process.pending &= !bit(signal);
            return Some(signal);
        }
        drop(process);
        // Senders read the mask, so they know that the thread accepts these signals.
        let before = requests::mask(|masked| masked & !set);
        let interrupt = match waits {
            true => sleep(code),
            false => Interrupt::None,
        };
        synchronize(code);
        requests::mask(|_| before);
        let own = requests::look(code) & set;
        if own != 0 {
            let signal = own.trailing_zeros() as c_int;
            requests::clear(bit(signal), code);
            return Some(signal);
        }
        if !waits || !interrupts::act(interrupt, code) {
            return None;
        }
    }
}

/// As [`take`], for functions that also return the information.
fn take_with(
    set: Set,
    to: GuestPtr<libc::siginfo_t>,
    waits: bool,
    code: usize,
) -> Result<isize, c_int> {
    let signal = take(bits(set.read()), waits, code).ok_or(libc::EAGAIN)?;
    to.set(information(signal));
    Ok(signal as isize)
}

system_calls! {
    fn pause() -> c_int as on_pause("rdi") code {
        wait_for_handler(code)
    }

    fn sigsuspend(mask: Set) -> c_int as on_suspend("rsi") code {
        let mask = bits(mask.read());
        synchronize(code);
        let before = requests::mask(|masked| masked & CANCEL | mask);
        let result = match super::api::take_pending(code) {
            true => Err(libc::EINTR),
            false => wait_for_handler(code),
        };
        requests::mask(|masked| masked & CANCEL | before & !CANCEL);
        result
    }

    fn sigwait(set: Set, to: GuestPtr<c_int>) -> c_int as on_wait("rdx") code {
        if let Some(signal) = take(bits(set.read()), true, code) {
            to.write(signal);
        }
        Ok(0)
    }

    fn sigwaitinfo(set: Set, to: GuestPtr<libc::siginfo_t>) -> c_int as on_wait_more("rdx") code {
        take_with(set, to, true, code)
    }

    fn sigtimedwait(set: Set, to: GuestPtr<libc::siginfo_t>, time: *const c_void) -> c_int
        as on_wait_long("rcx") code {
        let limit = time.cast::<libc::timespec>();
        let result = take_with(set, to, limit.is_null(), code);
        if result.is_err() && !limit.is_null() {
            running().pass_time(crate::threads::time::duration(limit));
        }
        result
    }
}
