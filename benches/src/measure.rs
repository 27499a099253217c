//! Processor time, and batches that take turns.
//!
//! All checkers here run on one OS thread, so its processor time is the cost of an execution, whatever
//! else the machine is doing. Every batch has an OS thread of its own, as a test has: raddle looks closely
//! at thread-locals that others have left changed, and the peers leave theirs so.

use std::time::Duration;

/// Processor time of a batch: long compared with the clock's resolution and the setup of a check,
/// short compared with changes in the machine's load.
const BATCH: Duration = Duration::from_millis(150);

/// Does at least this many units of work (executions, events) and returns the number done.
pub(crate) type Batch<'a> = Box<dyn FnMut(u64) -> u64 + Send + 'a>;

/// Returns the processor time of the calling thread.
pub(crate) fn processor_time() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the processor time of all threads together.
pub(crate) fn processor_time_of_all() -> Duration {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the processor time of all child processes that have ended.
pub(crate) fn processor_time_of_children() -> Duration {
    // SAFETY: all-zero is a valid value, which the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let result = libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        assert_eq!(result, 0, "the processor time of children cannot be read");
        usage
    };
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Returns the resolution of processor times in `/proc`.
pub(crate) fn ticks_per_second() -> f64 {
    // SAFETY: the call takes no pointers.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as f64 }
}

fn clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live value that the call fills in.
    let result = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(result, 0, "the clock of processor time cannot be read");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs every batch `rounds` times, one after the other and round after round; returns for each the
/// median of its units per second of processor time.
pub(crate) fn take_turns(rounds: usize, mut batches: Vec<Batch<'_>>) -> Vec<f64> {
    let sizes: Vec<u64> = batches.iter_mut().map(size).collect();
    let mut rates = vec![Vec::with_capacity(rounds); batches.len()];
    for _ in 0..rounds {
        for ((batch, &size), rates) in batches.iter_mut().zip(&sizes).zip(&mut rates) {
            let (units, time) = timed(batch, size);
            rates.push(units as f64 / time.as_secs_f64());
        }
    }
    rates.into_iter().map(median).collect()
}

/// Returns the number of units of a batch of the right length. Finding it also warms everything up.
fn size(batch: &mut Batch<'_>) -> u64 {
    let mut size = 1;
    loop {
        let (units, time) = timed(batch, size);
        if time >= BATCH / 10 {
            let fitting = units as f64 * BATCH.as_secs_f64() / time.as_secs_f64();
            return (fitting as u64).max(1);
        }
        size = units * 2;
    }
}

fn timed(batch: &mut Batch<'_>, size: u64) -> (u64, Duration) {
    std::thread::scope(|scope| {
        let run = || {
            let start = processor_time();
            let units = batch(size);
            (units, processor_time() - start)
        };
        scope
            .spawn(run)
            .join()
            .expect("a batch panicked, and said why")
    })
}

/// Returns the median.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the geometric mean, which is used for ratios.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// Returns the ratio of the largest to the smallest.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let smallest = values.iter().copied().fold(f64::MAX, f64::min);
    largest / smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_summed_up() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(geometric_mean(&[2.0, 8.0]), 4.0);
        assert_eq!(spread(&[2.0, 1.0, 5.0]), 5.0);
    }
}
