//! Waiting for several descriptors at once.
//!
//! In a program that does so, all descriptors have one queue: polling several of them is one step.
//! A wait with a time limit polls once. The limit may always pass before any event. An event within
//! the limit is covered by executions in which it precedes the poll. A wait that a timer (`timerfd`)
//! ends is one with a limit, except that the process really waits for the timer.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use super::{DescriptorKind, EVERYTHING, kind, opened, wait};
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::execution::running;
use crate::host::system::outcome;
use crate::threads::interpose::system_calls;
use crate::threads::{queues, time};

type Asked = GuestPtr<libc::pollfd>;
type Set = GuestPtr<libc::fd_set>;
type Time = *const libc::timespec;

const WISH: &str = "any of several descriptors";

/// Maximum duration of a wait.
type Limit = Option<Duration>;

fn in_milliseconds(time: c_int) -> Limit {
    let time = u64::try_from(time).ok();
    time.map(Duration::from_millis)
}

fn in_time(time: Time) -> Limit {
    (!time.is_null()).then(|| time::duration(time))
}

/// Polls, and waits until there is an event or the time is over. `look` waits for at most this many
/// milliseconds; `timers` are those among the descriptors.
fn watch(
    limit: Limit,
    timers: &[c_int],
    code: usize,
    mut look: impl FnMut(c_int) -> Result<isize, c_int>,
) -> Result<isize, c_int> {
    loop {
        match limit {
            None if timers.is_empty() => queues::synchronize(EVERYTHING, code),
            _ => queues::observe(EVERYTHING, code),
        }
        match (look(0)?, limit) {
            (0, Some(time)) => {
                running().pass_time(time);
                return Ok(0);
            }
            (0, None) => match timers.iter().filter_map(|&timer| time_left(timer)).min() {
                Some(time) => {
                    running().pass_time(time);
                    let longer = time + Duration::from_millis(1);
                    let time = c_int::try_from(longer.as_millis()).unwrap_or(c_int::MAX);
                    match look(time)? {
                        0 => {}
                        seen => return Ok(seen),
                    }
                }
                None => {
                    if !timers.is_empty() {
                        queues::synchronize(EVERYTHING, code);
                    }
                    wait(EVERYTHING, WISH, code)?;
                }
            },
            (seen, _) => return Ok(seen),
        }
    }
}

/// Returns the time until a timer expires, if it is set.
fn time_left(timer: c_int) -> Option<Duration> {
    // SAFETY: the struct consists of numbers, in which all-zero is valid, and the kernel writes one.
    let left = unsafe {
        let mut setting: libc::itimerspec = std::mem::zeroed();
        match libc::timerfd_gettime(timer, &mut setting) {
            0 => setting.it_value,
            _ => return None,
        }
    };
    let left = Duration::new(left.tv_sec as u64, left.tv_nsec as u32);
    (!left.is_zero()).then_some(left)
}

/// Returns the timers in a set of `epoll`.
fn timers_of(set: c_int) -> Vec<c_int> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{set}")).unwrap_or_default();
    let targets = text.lines().filter_map(|line| {
        let number = line.strip_prefix("tfd:")?.split_whitespace().next()?;
        number.parse().ok()
    });
    targets.filter(|&it| opened::is_timer(it)).collect()
}

fn is_inside(descriptor: c_int) -> bool {
    matches!(kind(descriptor), DescriptorKind::Inside(_))
}

fn poll_with(asked: Asked, count: usize, limit: Limit, code: usize) -> Result<isize, c_int> {
    let poll = |time: c_int| {
        outcome(forward!(fn poll(asked: Asked, count: usize, time: c_int) -> c_int) as isize)
    };
    let all = asked.to_vec(count);
    if all.iter().any(|one| is_inside(one.fd)) || count == 0 {
        let timers = all.iter().map(|one| one.fd);
        let timers: Vec<c_int> = timers.filter(|&it| opened::is_timer(it)).collect();
        return watch(limit, &timers, code, poll);
    }
    let time = limit.map_or(-1, |time| {
        c_int::try_from(time.as_millis()).unwrap_or(c_int::MAX)
    });
    poll(time)
}

/// Performs `select`; its sets are both arguments and results.
fn select_with(count: c_int, sets: [Set; 3], limit: Limit, code: usize) -> Result<isize, c_int> {
    let asked = sets.map(GuestPtr::get);
    let is_asked = |descriptor: c_int| {
        let mut asked = asked.iter().flatten();
        // SAFETY: the sets are valid, and a descriptor of a set is less than its size.
        asked.any(|set| unsafe { libc::FD_ISSET(descriptor, set) })
    };
    let all = 0..count.min(libc::FD_SETSIZE as c_int);
    let timers: Vec<c_int> = all
        .filter(|&it| is_asked(it) && opened::is_timer(it))
        .collect();
    watch(limit, &timers, code, |time| {
        let mut time = libc::timeval {
            tv_sec: i64::from(time / 1_000),
            tv_usec: i64::from(time % 1_000) * 1_000,
        };
        for (set, asked) in sets.iter().zip(asked) {
            if let Some(asked) = asked {
                set.write(asked);
            }
        }
        let ([reads, writes, errors], time) = (sets, &raw mut time);
        let seen = forward!(fn select(
            count: c_int, reads: Set, writes: Set, errors: Set, time: *mut libc::timeval
        ) -> c_int);
        outcome(seen as isize)
    })
}

system_calls! {
    fn poll(asked: Asked, count: usize, time: c_int) -> c_int as on_poll("rcx") code {
        poll_with(asked, count, in_milliseconds(time), code)
    }

    fn __poll_chk(asked: Asked, count: usize, time: c_int, _room: usize) -> c_int
        as on_checked_poll("r8") code {
        poll_with(asked, count, in_milliseconds(time), code)
    }

    fn ppoll(asked: Asked, count: usize, time: Time, _mask: *const c_void) -> c_int
        as on_ppoll("r8") code {
        poll_with(asked, count, in_time(time), code)
    }

    fn select(count: c_int, read: Set, write: Set, other: Set, time: GuestPtr<libc::timeval>) -> c_int
        as on_select("r9") code {
        let limit = time.get().map(|time| {
            let seconds = Duration::from_secs(time.tv_sec.max(0) as u64);
            seconds + Duration::from_micros(time.tv_usec.max(0) as u64)
        });
        select_with(count, [read, write, other], limit, code)
    }

    fn pselect(
        count: c_int, read: Set, write: Set, other: Set, time: Time, _mask: *const c_void
    ) -> c_int as on_pselect("rax") code {
        select_with(count, [read, write, other], in_time(time), code)
    }

    fn epoll_wait(set: c_int, events: *mut c_void, most: c_int, time: c_int) -> c_int
        as on_epoll("r8") code {
        epoll_with(set, events, most, time, code)
    }

    fn epoll_pwait(
        set: c_int, events: *mut c_void, most: c_int, time: c_int, _mask: *const c_void
    ) -> c_int as on_epoll_too("r9") code {
        epoll_with(set, events, most, time, code)
    }

    fn epoll_ctl(set: c_int, what: c_int, descriptor: c_int, event: *mut c_void) -> c_int
        as on_change("r8") code {
        queues::synchronize(EVERYTHING, code);
        let result = forward!(fn epoll_ctl(
            set: c_int, what: c_int, descriptor: c_int, event: *mut c_void
        ) -> c_int);
        let result = outcome(result as isize);
        queues::wake_all(EVERYTHING, code);
        result
    }
}

fn epoll_with(
    set: c_int,
    events: *mut c_void,
    most: c_int,
    time: c_int,
    code: usize,
) -> Result<isize, c_int> {
    let limit = in_milliseconds(time);
    watch(limit, &timers_of(set), code, |time| {
        let seen = forward!(fn epoll_wait(
            set: c_int, events: *mut c_void, most: c_int, time: c_int
        ) -> c_int);
        outcome(seen as isize)
    })
}
