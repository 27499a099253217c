//! How much virtual time passes: at least what a thread has slept and waited in vain, and at most that of all
//! threads together with what is allowed for each look at the clock.

use std::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering::Relaxed};

use fastrand::Rng;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, mpsc};
use raddle::time::{Duration, Instant};
use raddle::{Checker, Strategy, thread};

/// The most that passes at a look, if the thread has only read since the last one; and if it has worked.
const WAITING: Duration = Duration::from_millis(10);
const WORKING: Duration = Duration::from_micros(100);
/// Added to each sleep, and to each wait that times out.
const NANOSECOND: Duration = Duration::from_nanos(1);

#[derive(Default)]
struct Shared {
    count: AtomicU32,
    lock: Mutex<u32>,
    changed: Condvar,
    /// The time that all threads together may have seen so far, in nanoseconds.
    allowed: StdAtomicU64,
}

/// A thread and its account of time.
struct Thread<'a> {
    shared: &'a Shared,
    rng: Rng,
    start: Instant,
    has_worked: bool,
    /// The time that it has slept, and waited in vain.
    spent: Duration,
}

impl Thread<'_> {
    fn allow(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).expect("some hours");
        self.shared.allowed.fetch_add(nanoseconds, Relaxed);
    }

    fn spend(&mut self, time: Duration) {
        self.spent += time;
        self.allow(time + NANOSECOND);
    }

    fn look(&mut self) -> Duration {
        let passes = match std::mem::take(&mut self.has_worked) {
            true => WORKING,
            false => WAITING,
        };
        self.allow(passes);
        self.start.elapsed()
    }

    fn assert_in_bounds(&mut self) {
        let took = self.look();
        let allowed = Duration::from_nanos(self.shared.allowed.load(Relaxed));
        assert!(self.spent <= took, "{took:?}, and spent {:?}", self.spent);
        assert!(took <= allowed, "{took:?} of {allowed:?}");
    }

    fn step(&mut self, works: bool, waits: bool) {
        let Shared {
            count,
            lock,
            changed,
            ..
        } = self.shared;
        let time = Duration::from_micros(self.rng.u64(0..10_000));
        match self.rng.u32(0..24) {
            0..5 if works => {
                count.fetch_add(1, SeqCst);
                self.has_worked = true;
            }
            5..7 if works => {
                *lock.lock().unwrap() += 1;
                changed.notify_one();
                self.has_worked = true;
            }
            7 if waits => {
                thread::sleep(time);
                self.spend(time);
            }
            8 if waits => {
                let guard = lock.lock().unwrap();
                if changed.wait_timeout(guard, time).unwrap().1.timed_out() {
                    self.spend(time);
                }
            }
            9 if waits => {
                let (_sender, receiver) = mpsc::channel::<()>();
                receiver.recv_timeout(time).unwrap_err();
                self.spend(time);
            }
            10 if waits => {
                // Ends by the time, or spuriously.
                thread::park_timeout(time);
                self.allow(time + NANOSECOND);
            }
            11..14 => _ = count.load(SeqCst),
            14 => self.assert_in_bounds(),
            _ => _ = self.look(),
        }
    }
}

#[test]
fn no_more_time_passes_than_is_slept_waited_and_allowed_for_looks() {
    for seed in 0..90 {
        let (threads, works, waits) = (1 + seed % 3, seed % 5 != 0, seed % 4 != 0);
        let steps = [600, 300, 150][seed as usize % 3];
        let checker = Checker::new().strategy(Strategy::Random).seed(seed);
        let report = checker.max_executions(5).run(|| {
            let shared = Arc::new(Shared::default());
            let start = Instant::now();
            let run = move |number: u64, shared: &Shared| {
                let mut thread = Thread {
                    shared,
                    rng: Rng::with_seed(seed * 10 + number),
                    start,
                    has_worked: false,
                    spent: Duration::ZERO,
                };
                thread.allow(WAITING);
                for _ in 0..thread.rng.u32(1..steps) {
                    thread.step(works, waits);
                }
                thread.assert_in_bounds();
            };
            let others: Vec<_> = (1..threads)
                .map(|number| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || run(number, &shared))
                })
                .collect();
            run(0, &shared);
            for other in others {
                other.join().unwrap();
            }
        });
        report.assert_ok();
    }
}
