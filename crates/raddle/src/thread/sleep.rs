//! Sleeping: time passes for the calling thread.

use std::panic::Location;
use std::time::Duration;

use raddle_engine::Operation;

use raddle_check::runtime::current;

/// Waits for a duration, as [`std::thread::sleep`].
///
/// Inside a check no thread waits: the time passes on the calling thread's own
/// [clock](crate::time::Instant), and others may run. The durations have no influence on the order
/// of threads: a program that relies on that is wrong, and the order it does not expect is among
/// those explored.
#[track_caller]
pub fn sleep(dur: Duration) {
    match current() {
        None => std::thread::sleep(dur),
        Some(context) => {
            context.observe(Location::caller(), |_| Operation::Sleep { time: dur });
            context.apart(|| context.pass_time(dur));
        }
    }
}

/// Sleeps as [`sleep`] does, with the time in milliseconds.
#[deprecated(since = "1.6.0", note = "replaced by `std::thread::sleep`")]
#[track_caller]
pub fn sleep_ms(ms: u32) {
    sleep(Duration::from_millis(ms.into()));
}
