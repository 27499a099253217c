//! Alarms. Time is virtual, so an alarm may go off at any moment after it was set: it is a thread
//! that sleeps and then sends the signal. A periodic alarm goes off once.

use std::time::Duration;

use super::send_to_process;
use crate::execution::part::{Part, PartCell};
use crate::host::mode;
use crate::threads::queues::{self, QueueKey};
use crate::threads::{life, time};

/// The alarms of the execution.
#[derive(Default)]
pub(crate) struct Alarms {
    /// Duration of each alarm and the site that set it. Only the last one is active.
    all: Vec<(Duration, usize)>,
    /// Duration of the current alarm, if it has not gone off.
    left: Option<Duration>,
}

impl Part for Alarms {}

pub(crate) static ALARMS: PartCell<Alarms> = PartCell::new();

const PLACE: QueueKey = QueueKey {
    address: (1 << 61) - 32,
    kind: "alarm",
};

/// Sets the alarm, or cancels it if the time is zero; returns the rest of the last alarm's time.
pub(super) fn set(time: Duration, code: usize) -> Duration {
    queues::synchronize(PLACE, code);
    let (number, left) = {
        let mut alarms = ALARMS.get();
        alarms.all.push((time, code));
        let new = Some(time).filter(|time| !time.is_zero());
        (alarms.all.len(), std::mem::replace(&mut alarms.left, new))
    };
    if !time.is_zero() {
        let function = go_off as extern "C" fn(usize) -> usize as usize;
        life::create(function, number, true, code);
    }
    left.unwrap_or_default()
}

/// Function of an alarm's thread, as guest.
extern "C" fn go_off(number: usize) -> usize {
    mode::host(|| {
        let (time, code) = ALARMS.get().all[number - 1];
        time::sleep_for(time, code);
        queues::synchronize(PLACE, code);
        let is_set = {
            let mut alarms = ALARMS.get();
            alarms.all.len() == number && alarms.left.take().is_some()
        };
        if is_set {
            send_to_process(libc::SIGALRM, code);
        }
    });
    0
}
