//! Sleeping and clocks, on virtual time: no call really waits, and a thread's clock advances only
//! by its own operations.

use std::ffi::{c_int, c_uint, c_void};
use std::time::Duration;

use raddle_engine::Operation;

use super::interpose::{cancellation_points, interpose, system_calls};
use super::{beginning, interrupts};
use crate::abi::guest_ptr::GuestPtr;
use crate::execution::running;

type Time = *const libc::timespec;

pub(crate) fn sleep_for(time: Duration, code: usize) {
    let native = running();
    native.perform(code, |_| Operation::Sleep { time });
    native.pass_time(time);
}

/// Sleeps, unless a signal interrupts; returns false if one did. No time has passed then.
fn sleep_unless(time: Duration, code: usize) -> bool {
    let native = running();
    native.perform(code, |_| Operation::Sleep { time });
    if interrupts::has_handled(code) {
        return false;
    }
    native.pass_time(time);
    true
}

fn now() -> Duration {
    beginning::note_clock();
    running().now()
}

pub(crate) fn duration(time: Time) -> Duration {
    // SAFETY: functions of POSIX with an argument for a time require a readable address; those that
    // allow null exclude it before.
    let time = unsafe { time.read() };
    Duration::new(
        time.tv_sec.max(0) as u64,
        time.tv_nsec.clamp(0, 999_999_999) as u32,
    )
}

/// Returns the time until a deadline.
pub(crate) fn time_left(until: Time) -> Duration {
    running().time_until(duration(until))
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: time.subsec_nanos().into(),
    }
}

cancellation_points! {
    fn sleep(seconds: c_uint) -> c_uint as in_seconds("rsi") code {
        match sleep_unless(Duration::from_secs(seconds.into()), code) {
            true => 0,
            false => seconds,
        }
    }

    fn clock_nanosleep(
        clock: c_int, flags: c_int, time: Time, left: GuestPtr<libc::timespec>
    ) -> c_int as by_clock("r8") code {
        let _ = clock;
        let time = match flags & libc::TIMER_ABSTIME {
            0 => duration(time),
            _ => time_left(time),
        };
        match sleep_unless(time, code) {
            true => 0,
            false => {
                if flags & libc::TIMER_ABSTIME == 0 {
                    left.set(timespec(time));
                }
                libc::EINTR
            }
        }
    }
}

/// Returns the result of a sleep, for a function that stores its error in `errno`.
fn slept(is_over: bool) -> Result<isize, c_int> {
    if is_over { Ok(0) } else { Err(libc::EINTR) }
}

system_calls! {
    fn usleep(microseconds: c_uint) -> c_int as in_microseconds("rsi") code {
        slept(sleep_unless(Duration::from_micros(microseconds.into()), code))
    }

    fn nanosleep(time: Time, left: GuestPtr<libc::timespec>) -> c_int as in_nanoseconds("rdx") code {
        let time = duration(time);
        let is_over = sleep_unless(time, code);
        if !is_over {
            left.set(timespec(time));
        }
        slept(is_over)
    }
}

interpose! {
    fn clock_gettime(clock: c_int, to: GuestPtr<libc::timespec>) -> c_int as of_clock("rdx") _code {
        let _ = clock;
        to.write(timespec(now()));
        0
    }

    fn gettimeofday(to: GuestPtr<libc::timeval>, zone: *mut c_void) -> c_int as of_day("rdx") _code {
        let _ = zone;
        let now = now();
        let value = libc::timeval {
            tv_sec: now.as_secs() as i64,
            tv_usec: now.subsec_micros().into(),
        };
        to.write(value);
        0
    }

    fn time(to: GuestPtr<i64>) -> i64 as in_whole_seconds("rsi") _code {
        let now = now().as_secs() as i64;
        to.set(now);
        now
    }

    fn timespec_get(to: GuestPtr<libc::timespec>, base: c_int) -> c_int as of_base("rdx") _code {
        to.write(timespec(now()));
        base
    }

    fn clock() -> libc::clock_t as of_processor("rdi") _code {
        // In millionths of a second.
        running().read_clock().as_micros() as libc::clock_t
    }

    fn times(to: GuestPtr<libc::tms>) -> libc::clock_t as of_process("rsi") _code {
        // In hundredths of a second.
        let passed = (running().read_clock().as_millis() / 10) as libc::clock_t;
        to.set(libc::tms {
            tms_utime: passed,
            tms_stime: 0,
            tms_cutime: 0,
            tms_cstime: 0,
        });
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_converted_and_wrong_ones_are_bounded() {
        let at = |tv_sec, tv_nsec| duration(&libc::timespec { tv_sec, tv_nsec });
        assert_eq!(at(2, 500_000_000), Duration::from_millis(2_500));
        assert_eq!(at(-1, 0), Duration::ZERO);
        assert_eq!(at(0, -5), Duration::ZERO);
        assert_eq!(at(0, i64::MAX), Duration::from_nanos(999_999_999));
        let time = Duration::new(123, 456);
        assert_eq!(duration(&timespec(time)), time);
    }
}
