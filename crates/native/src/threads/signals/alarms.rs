//! Alarms. Time is virtual, so an alarm may go off at any moment after it was set: it is a thread that
//! sleeps and then sends the signal. One that is set to go off again and again does so once.

use std::time::Duration;

use super::send_to_process;
use crate::host::mode;
use crate::host::solo::Solo;
use crate::threads::queues::{self, Place};
use crate::threads::{life, time};

/// Which alarm is the last that was set, and how long it was to take, if it has not gone off.
#[derive(Clone, Copy, Default)]
struct Last {
    number: usize,
    time: Option<Duration>,
}

static LAST: Solo<Option<Last>> = Solo::new(None);
/// How long each was to take, and where in the program it was set.
static ALL: Solo<Vec<(Duration, usize)>> = Solo::new(Vec::new());

const PLACE: Place = Place {
    address: (1 << 61) - 32,
    kind: "alarm",
};

pub(super) fn begin() {
    *LAST.get() = None;
    ALL.get().clear();
}

/// Sets the alarm, or takes it back if there is no time; how much was left of the last one.
pub(super) fn set(time: Duration, code: usize) -> Duration {
    queues::visit(PLACE, code);
    let (number, left) = {
        let mut last = LAST.get();
        let last = last.get_or_insert_default();
        last.number += 1;
        ALL.get().push((time, code));
        let new = Some(time).filter(|time| !time.is_zero());
        (last.number, std::mem::replace(&mut last.time, new))
    };
    if !time.is_zero() {
        let function = go_off as extern "C" fn(usize) -> usize as usize;
        life::create(function, number, true, code);
    }
    left.unwrap_or_default()
}

/// The thread of an alarm, as guest.
extern "C" fn go_off(number: usize) -> usize {
    mode::host(|| {
        let (time, code) = ALL.get()[number - 1];
        time::sleep_for(time, code);
        queues::visit(PLACE, code);
        let is_set = LAST.get().as_mut().is_some_and(|last| {
            let is_set = last.number == number && last.time.is_some();
            last.time = last.time.filter(|_| !is_set);
            is_set
        });
        if is_set {
            send_to_process(libc::SIGALRM, code);
        }
    });
    0
}
