//! Small programs with known numbers of classes.

use raddle::monitor::{Discipline, Monitor};
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, Semaphore};
use raddle::thread::{self, JoinHandle};
use std::ops::Range;

/// Starts `count` threads with numbers from 0 and joins them.
pub fn run_threads(count: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    join_all(start_threads(0..count, &Arc::new(body)));
}

/// Starts threads with these numbers, all at the caller's place.
#[track_caller]
pub fn start_threads(
    numbers: Range<usize>,
    body: &Arc<impl Fn(usize) + Send + Sync + 'static>,
) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    for number in numbers {
        let body = Arc::clone(body);
        threads.push(thread::spawn(move || body(number)));
    }
    threads
}

/// Joins all of these threads.
pub fn join_all(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Starts six threads with numbers from 0, the first three at one place and the others at another,
/// and joins them.
fn run_three_and_three(body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let mut threads = start_threads(0..3, &body);
    threads.extend(start_threads(3..6, &body));
    join_all(threads);
}

/// Each thread takes the lock and increments the counter, this many times.
pub fn mutex_counter(threads: usize, increments: usize) {
    let counter = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&counter);
    run_threads(threads, move |_| {
        for _ in 0..increments {
            *shared.lock().unwrap() += 1;
        }
    });
}

/// Each thread loads and stores without a lock, this many times; main loads the result.
pub fn racy_counter(threads: usize, increments: usize) -> usize {
    let counter = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&counter);
    run_threads(threads, move |_| {
        for _ in 0..increments {
            let value = shared.load(SeqCst);
            shared.store(value + 1, SeqCst);
        }
    });
    counter.load(SeqCst)
}

/// Dining philosophers who all take the left fork first, and may deadlock.
pub fn philosophers(count: usize) {
    let forks: Arc<Vec<_>> = Arc::new((0..count).map(|_| Mutex::new(())).collect());
    run_threads(count, move |seat| {
        let _left = forks[seat].lock().unwrap();
        let _right = forks[(seat + 1) % count].lock().unwrap();
    });
}

/// Dining philosophers in a monitor with signal and urgent wait, without starvation or deadlock: a
/// hungry one whose neighbours do not starve may declare itself starving, and then comes before
/// them.
pub fn dining(count: usize) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        Thinking,
        Hungry,
        Eating,
        Starving,
    }
    use State::{Eating, Hungry, Starving, Thinking};
    /// True when the philosopher may eat now.
    fn test(states: &mut [State], seat: usize) -> bool {
        let count = states.len();
        let neighbours = [
            states[(seat + count - 1) % count],
            states[(seat + 1) % count],
        ];
        let none = |excluded: &[State]| !neighbours.iter().any(|state| excluded.contains(state));
        if none(&[Eating, Starving]) && matches!(states[seat], Hungry | Starving) {
            states[seat] = Eating;
            return true;
        }
        if states[seat] == Hungry && none(&[Starving]) {
            states[seat] = Starving;
        }
        false
    }
    let table = Monitor::new(Discipline::SignalUrgent, vec![Thinking; count]);
    let chairs: Vec<_> = (0..count).map(|_| table.condition()).collect();
    run_threads(count, move |seat| {
        let mut states = table.enter();
        states[seat] = Hungry;
        if !test(&mut states, seat) {
            states.wait(chairs[seat]);
        }
        drop(states);
        let mut states = table.enter();
        states[seat] = Thinking;
        for neighbour in [(seat + count - 1) % count, (seat + 1) % count] {
            if test(&mut states, neighbour) {
                states.signal(chairs[neighbour]);
            }
        }
    });
}

/// Three producers, three consumers, two slots, in a monitor. `if` is enough where the signalled
/// thread comes next; otherwise `while` and `signal_all`.
pub fn buffer_in_a_monitor(discipline: Discipline) {
    let full = Monitor::new(discipline, 0);
    let (not_full, not_empty) = (full.condition(), full.condition());
    run_three_and_three(move |number| {
        let producer = number < 3;
        let (limit, mine, theirs) = if producer {
            (2, not_full, not_empty)
        } else {
            (0, not_empty, not_full)
        };
        let mut full = full.enter();
        match discipline {
            Discipline::SignalUrgent if *full == limit => full.wait(mine),
            Discipline::SignalUrgent => {}
            Discipline::SignalContinue => {
                while *full == limit {
                    full.wait(mine);
                }
            }
        }
        assert_ne!(*full, limit, "woken without a reason");
        *full += if producer { 1 } else { -1 };
        match discipline {
            Discipline::SignalUrgent => full.signal(theirs),
            Discipline::SignalContinue => full.signal_all(theirs),
        }
    });
}

/// Three producers, three consumers, two slots, with counting semaphores.
pub fn buffer_with_semaphores() {
    struct Buffer {
        depositing: Semaphore,
        withdrawing: Semaphore,
        empty: Semaphore,
        full: Semaphore,
        items: std::sync::Mutex<Vec<usize>>,
    }
    let buffer = Buffer {
        depositing: Semaphore::new(1),
        withdrawing: Semaphore::new(1),
        empty: Semaphore::new(2),
        full: Semaphore::new(0),
        items: std::sync::Mutex::default(),
    };
    run_three_and_three(move |number| {
        let items = || buffer.items.lock().unwrap();
        if number < 3 {
            buffer.depositing.acquire();
            buffer.empty.acquire();
            items().push(number);
            assert!(items().len() <= 2);
            buffer.full.release();
            buffer.depositing.release();
        } else {
            buffer.withdrawing.acquire();
            buffer.full.acquire();
            items().pop().expect("a consumer found nothing");
            buffer.empty.release();
            buffer.withdrawing.release();
        }
    });
}

/// Three readers and two writers who pass the baton, readers preferred.
pub fn baton() {
    #[derive(Default)]
    struct Counts {
        reading: u32,
        writing: u32,
        readers_waiting: u32,
        writers_waiting: u32,
    }
    struct ReadersWriters {
        baton: Semaphore,
        readers: Semaphore,
        writers: Semaphore,
        counts: std::sync::Mutex<Counts>,
    }
    impl ReadersWriters {
        /// Calls `use_them` with the counts, which only the holder of the baton may access.
        fn counts<T>(&self, use_them: impl FnOnce(&mut Counts) -> T) -> T {
            use_them(&mut self.counts.lock().unwrap())
        }

        /// Passes the baton to a reader, else to a writer, else back.
        fn pass(&self, to_writers: bool) {
            let taken = |waiting: &mut u32| {
                let some = *waiting > 0;
                *waiting -= u32::from(some);
                some
            };
            if self.counts(|counts| taken(&mut counts.readers_waiting)) {
                self.readers.release();
            } else if to_writers && self.counts(|counts| taken(&mut counts.writers_waiting)) {
                self.writers.release();
            } else {
                self.baton.release();
            }
        }

        fn read(&self) {
            self.baton.acquire();
            if self.counts(|counts| counts.writing) > 0 {
                self.counts(|counts| counts.readers_waiting += 1);
                self.baton.release();
                self.readers.acquire();
            }
            self.counts(|counts| counts.reading += 1);
            self.pass(false);
            assert_eq!(self.counts(|counts| counts.writing), 0);
            self.baton.acquire();
            let last = self.counts(|counts| {
                counts.reading -= 1;
                let last = counts.reading == 0 && counts.writers_waiting > 0;
                counts.writers_waiting -= u32::from(last);
                last
            });
            if last {
                self.writers.release()
            } else {
                self.baton.release()
            }
        }

        fn write(&self) {
            self.baton.acquire();
            if self.counts(|counts| counts.writing + counts.reading) > 0 {
                self.counts(|counts| counts.writers_waiting += 1);
                self.baton.release();
                self.writers.acquire();
            }
            self.counts(|counts| counts.writing += 1);
            self.baton.release();
            assert_eq!(
                self.counts(|counts| (counts.writing, counts.reading)),
                (1, 0)
            );
            self.baton.acquire();
            self.counts(|counts| counts.writing -= 1);
            self.pass(true);
        }
    }
    let shared = ReadersWriters {
        baton: Semaphore::new(1),
        readers: Semaphore::new(0),
        writers: Semaphore::new(0),
        counts: std::sync::Mutex::default(),
    };
    run_threads(5, move |number| {
        if number < 3 {
            shared.read()
        } else {
            shared.write()
        }
    });
}
