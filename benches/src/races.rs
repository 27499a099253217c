//! The cost of race detection: the same programs with raddle's cells and with std's, which are not
//! observed.

use std::sync::Arc;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering};
use raddle::thread;

use crate::measure::{Batch, geometric_mean, take_turns};
use crate::programs::raddle::sampling;

const ROUNDS: usize = 9;

/// A cell of either kind.
trait Cell: Default + Send + Sync + 'static {
    fn write(&self);
    fn read(&self) -> u32;
}

macro_rules! cells {
    ($($name:ident($cell:ty): $read:expr, $write:expr;)*) => {$(
        #[derive(Default)]
        struct $name($cell);

        // SAFETY: the programs access it in turns only.
        unsafe impl Sync for $name {}

        impl Cell for $name {
            fn write(&self) {
                $write(&self.0);
            }

            fn read(&self) -> u32 {
                $read(&self.0)
            }
        }
    )*};
}
cells! {
    Watched(raddle::cell::UnsafeCell<u32>):
        // SAFETY: the programs access it in turns only.
        |cell: &raddle::cell::UnsafeCell<u32>| cell.with(|value| unsafe { *value }),
        // SAFETY: as above.
        |cell: &raddle::cell::UnsafeCell<u32>| cell.with_mut(|value| unsafe { *value += 1 });
    Unwatched(std::cell::UnsafeCell<u32>):
        // SAFETY: as above.
        |cell: &std::cell::UnsafeCell<u32>| unsafe { *cell.get() },
        // SAFETY: as above.
        |cell: &std::cell::UnsafeCell<u32>| unsafe { *cell.get() += 1 };
}

/// Each thread takes the lock and increments the counter, this many times.
fn locked<C: Cell>(threads: usize, increments: usize) {
    let shared = Arc::new((Mutex::new(()), C::default()));
    let threads = (0..threads).map(|_| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            for _ in 0..increments {
                let _held = shared.0.lock().unwrap();
                shared.1.write();
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        thread.join().unwrap();
    }
    shared.1.read();
}

/// One thread writes the cell and sets a flag, the other reads the flag and then the cell.
fn published<C: Cell>((store, load): (Ordering, Ordering)) {
    let shared = Arc::new((AtomicUsize::new(0), C::default()));
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        for count in 1..=4 {
            if count == 1 {
                other.1.write();
            }
            other.0.store(count, store);
        }
    });
    for _ in 0..4 {
        if shared.0.load(load) > 0 {
            shared.1.read();
        }
    }
    thread.join().unwrap();
}

fn batch(program: impl Fn() + Send + Sync + 'static) -> Batch<'static> {
    let mut seed = 0;
    Box::new(move |executions| {
        seed += 1;
        let report = sampling(executions).seed(seed).run(&program);
        report.assert_ok();
        report.executions
    })
}

/// Prints a line for each program, then the mean.
pub(crate) fn run() {
    const SEQ_CST: (Ordering, Ordering) = (Ordering::SeqCst, Ordering::SeqCst);
    const WEAK: (Ordering, Ordering) = (Ordering::Release, Ordering::Acquire);
    let programs = [
        (
            "locked_2x1",
            batch(|| locked::<Watched>(2, 1)),
            batch(|| locked::<Unwatched>(2, 1)),
        ),
        (
            "locked_3x4",
            batch(|| locked::<Watched>(3, 4)),
            batch(|| locked::<Unwatched>(3, 4)),
        ),
        (
            "published_seq_cst",
            batch(|| published::<Watched>(SEQ_CST)),
            batch(|| published::<Unwatched>(SEQ_CST)),
        ),
        (
            "published_acquire",
            batch(|| published::<Watched>(WEAK)),
            batch(|| published::<Unwatched>(WEAK)),
        ),
    ];
    let mut ratios = Vec::new();
    for (name, watched, unwatched) in programs {
        let rates = take_turns(ROUNDS, vec![watched, unwatched]);
        let ratio = rates[0] / rates[1];
        ratios.push(ratio);
        println!(
            "speed races {name} watched={:.0} unwatched={:.0} ratio={ratio:.2}",
            rates[0], rates[1]
        );
    }
    println!("speed races mean ratio={:.2}", geometric_mean(&ratios));
}
