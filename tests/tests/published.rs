//! The programs of Lei and Carver, "Reachability Testing of Concurrent Programs" (TR GMU-CS-2005-1),
//! written anew, and the numbers of sequences they report.

use std::sync::Mutex as StdMutex;

use raddle::FailureKind;
use raddle::monitor::{Discipline, Monitor};
use raddle::sync::{Arc, BinarySemaphore, Semaphore};
use raddle_tests::messages::{
    distributed_mutual_exclusion, selecting_buffer, selecting_readers_and_writers,
};
use raddle_tests::programs::{dining, run_threads};
use raddle_tests::{classes, exhaust};

/// Three producers, three consumers, two slots, with counting semaphores.
#[test]
fn bounded_buffer_with_semaphores() {
    struct Buffer {
        depositing: Semaphore,
        withdrawing: Semaphore,
        empty: Semaphore,
        full: Semaphore,
        items: StdMutex<Vec<usize>>,
    }
    let count = classes(|| {
        let buffer = Buffer {
            depositing: Semaphore::new(1),
            withdrawing: Semaphore::new(1),
            empty: Semaphore::new(2),
            full: Semaphore::new(0),
            items: StdMutex::default(),
        };
        run_threads(6, move |number| {
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
    });
    assert_eq!(count, 324);
}

/// Three readers and two writers who pass the baton, readers preferred.
#[test]
fn readers_and_writers_with_semaphores() {
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
        counts: StdMutex<Counts>,
    }
    impl ReadersWriters {
        /// What only the holder of the baton looks at.
        fn counts<T>(&self, use_them: impl FnOnce(&mut Counts) -> T) -> T {
            use_them(&mut self.counts.lock().unwrap())
        }

        /// The baton goes to a reader, else to a writer, else back.
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
    let count = classes(|| {
        let shared = ReadersWriters {
            baton: Semaphore::new(1),
            readers: Semaphore::new(0),
            writers: Semaphore::new(0),
            counts: StdMutex::default(),
        };
        run_threads(5, move |number| {
            if number < 3 {
                shared.read()
            } else {
                shared.write()
            }
        });
    });
    assert_eq!(count, 21_744);
}

/// Philosophers with a semaphore for each fork, who may starve.
#[test]
fn philosophers_with_semaphores() {
    for count in 3..=9 {
        let report = exhaust(move || {
            let forks: Arc<Vec<_>> = Arc::new((0..count).map(|_| Semaphore::new(1)).collect());
            run_threads(count, move |seat| {
                let (left, right) = (&forks[seat], &forks[(seat + 1) % count]);
                left.acquire();
                right.acquire();
                left.release();
                right.release();
            });
        });
        assert_eq!(report.classes(), (1 << count) - 1, "{count} philosophers");
        assert_eq!(report.failures.len(), 1);
        assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    }
}

/// The report's Fig. 4: two threads that each take and give back a binary semaphore.
#[test]
fn a_binary_semaphore_alternates() {
    let count = classes(|| {
        let semaphore = BinarySemaphore::new(true);
        run_threads(2, move |_| {
            semaphore.acquire();
            semaphore.release();
        });
    });
    assert_eq!(count, 2);
    // Giving back waits for the permit to be gone: the two releases must enclose the acquire.
    let count = classes(|| {
        let semaphore = BinarySemaphore::new(false);
        run_threads(3, move |number| match number {
            0 => semaphore.acquire(),
            _ => semaphore.release(),
        });
    });
    assert_eq!(count, 2, "either release may come first");
}

/// Three producers, three consumers, two slots, in a monitor. `if` is enough where the signalled
/// thread comes next; else `while` and waking everybody.
fn bounded_buffer(discipline: Discipline) -> u64 {
    classes(move || {
        let full = Monitor::new(discipline, 0);
        let (not_full, not_empty) = (full.condition(), full.condition());
        run_threads(6, move |number| {
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
    })
}

#[test]
fn bounded_buffer_in_a_monitor() {
    assert_eq!(bounded_buffer(Discipline::SignalUrgent), 720);
    assert_eq!(bounded_buffer(Discipline::SignalContinue), 12_096);
}

/// Three readers, two writers, readers preferred, signal and urgent wait.
#[test]
fn readers_and_writers_in_an_urgent_monitor() {
    #[derive(Default)]
    struct State {
        readers: u32,
        writing: bool,
    }
    let count = classes(|| {
        let monitor = Monitor::new(Discipline::SignalUrgent, State::default());
        let (reader_queue, writer_queue) = (monitor.condition(), monitor.condition());
        run_threads(5, move |number| {
            if number < 3 {
                let mut state = monitor.enter();
                if state.writing {
                    state.wait(reader_queue);
                }
                state.readers += 1;
                state.signal(reader_queue);
                drop(state);
                let mut state = monitor.enter();
                assert!(!state.writing);
                state.readers -= 1;
                if state.readers == 0 {
                    state.signal(writer_queue);
                }
            } else {
                let mut state = monitor.enter();
                if state.readers > 0 || state.writing {
                    state.wait(writer_queue);
                }
                state.writing = true;
                drop(state);
                let mut state = monitor.enter();
                assert_eq!(state.readers, 0);
                state.writing = false;
                if state.waiting(reader_queue) > 0 {
                    state.signal(reader_queue);
                } else {
                    state.signal(writer_queue);
                }
            }
        });
    });
    assert_eq!(count, 13_320);
}

/// Three readers, two writers, readers preferred, signal and continue: signalled readers that have
/// not come back yet are counted.
#[test]
fn readers_and_writers_in_a_continuing_monitor() {
    #[derive(Default)]
    struct State {
        readers: u32,
        writing: bool,
        signalled: usize,
    }
    let count = classes(|| {
        let monitor = Monitor::new(Discipline::SignalContinue, State::default());
        let (reader_queue, writer_queue) = (monitor.condition(), monitor.condition());
        run_threads(5, move |number| {
            if number < 3 {
                let mut state = monitor.enter();
                if state.writing {
                    state.wait(reader_queue);
                    state.signalled -= 1;
                }
                state.readers += 1;
                drop(state);
                let mut state = monitor.enter();
                assert!(!state.writing);
                state.readers -= 1;
                if state.readers == 0 && state.signalled == 0 {
                    state.signal(writer_queue);
                }
            } else {
                let mut state = monitor.enter();
                while state.readers > 0 || state.writing || state.signalled > 0 {
                    state.wait(writer_queue);
                }
                state.writing = true;
                drop(state);
                let mut state = monitor.enter();
                assert_eq!(state.readers, 0);
                state.writing = false;
                if state.waiting(reader_queue) > 0 {
                    state.signalled = state.waiting(reader_queue);
                    state.signal_all(reader_queue);
                } else {
                    state.signal(writer_queue);
                }
            }
        });
    });
    assert_eq!(count, 61_716);
}

#[test]
fn philosophers_in_an_urgent_monitor() {
    for (count, published) in [(3, 30), (4, 624), (5, 19_330)] {
        assert_eq!(
            classes(move || dining(count)),
            published,
            "{count} philosophers"
        );
    }
}

/// Three producers, three consumers, two slots, and a server that selects.
#[test]
fn bounded_buffer_with_a_selecting_server() {
    assert_eq!(classes(|| selecting_buffer(3, 3, 2)), 144);
}

/// Three readers, two writers, and a server that selects.
#[test]
fn readers_and_writers_with_a_selecting_server() {
    assert_eq!(classes(|| selecting_readers_and_writers(3, 2)), 768);
}

/// Three processes, by messages.
#[test]
fn mutual_exclusion_by_messages() {
    assert_eq!(classes(|| distributed_mutual_exclusion(3)), 4_032);
}
