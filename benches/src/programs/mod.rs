//! The programs that all checkers run, written once.

pub(crate) mod loom;
pub(crate) mod raddle;
pub(crate) mod shuttle;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A program under test. None of them fails or deadlocks, because that would end a peer's run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Program {
    /// Each thread takes the lock and increments the counter, this many times.
    Mutex { threads: usize, increments: usize },
    /// Each thread loads and stores, this many times; main joins them and loads the result.
    Racy { threads: usize, increments: usize },
    /// Two threads take the same two locks in the same order.
    TwoLocks,
    /// Each thread takes all locks, one after the other.
    Locks { threads: usize, locks: usize },
}

impl Program {
    pub(crate) const fn mutex(threads: usize, increments: usize) -> Self {
        Program::Mutex {
            threads,
            increments,
        }
    }

    pub(crate) const fn racy(threads: usize, increments: usize) -> Self {
        Program::Racy {
            threads,
            increments,
        }
    }

    pub(crate) const fn locks(threads: usize, locks: usize) -> Self {
        Program::Locks { threads, locks }
    }

    /// Returns the number of threads that main starts.
    pub(crate) fn threads(self) -> usize {
        match self {
            Program::Mutex { threads, .. }
            | Program::Racy { threads, .. }
            | Program::Locks { threads, .. } => threads,
            Program::TwoLocks => 2,
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::Mutex {
                threads,
                increments,
            } => write!(f, "mutex_{threads}x{increments}"),
            Program::Racy {
                threads,
                increments,
            } => write!(f, "racy_{threads}x{increments}"),
            Program::TwoLocks => write!(f, "two_locks"),
            Program::Locks { threads, locks } => write!(f, "locks_{threads}x{locks}"),
        }
    }
}

impl FromStr for Program {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "two_locks" {
            return Ok(Program::TwoLocks);
        }
        let (kind, size) = text.split_once('_').ok_or(())?;
        let (threads, each) = size.split_once('x').ok_or(())?;
        let (threads, each) = (threads.parse().map_err(drop)?, each.parse().map_err(drop)?);
        match kind {
            "mutex" => Ok(Program::mutex(threads, each)),
            "racy" => Ok(Program::racy(threads, each)),
            "locks" => Ok(Program::locks(threads, each)),
            _ => Err(()),
        }
    }
}

/// Prepares the peers for one process. loom ends every thread with a panic that its hook silences,
/// and shuttle's hook reports every panic. Each is installed at the first run, so shuttle must run
/// first for loom's hook to be called before shuttle's.
pub(crate) fn prepare() {
    shuttle::run_nothing();
}

/// A body that counts its runs, because checkers count them differently.
#[derive(Clone)]
struct Counted(Arc<(AtomicU64, Box<dyn Fn() + Send + Sync>)>);

impl Counted {
    fn new(body: impl Fn() + Send + Sync + 'static) -> Self {
        Counted(Arc::new((AtomicU64::new(0), Box::new(body))))
    }

    fn run(&self) {
        let (count, body) = &*self.0;
        // Not an atomic addition: one OS thread runs everything, and this should cost nothing.
        count.store(count.load(Relaxed) + 1, Relaxed);
        body();
    }

    fn count(&self) -> u64 {
        self.0.0.load(Relaxed)
    }
}

/// The programs' text, over the crate that has `sync` and `thread`. `Arc` is std's for all: raddle
/// and shuttle re-export it, and loom is faster and runs fewer executions with it than with its
/// own, whose operations it interleaves too.
macro_rules! programs {
    ($checker:ident) => {
        use std::sync::Arc;

        use ::$checker::sync::Mutex;
        use ::$checker::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        use ::$checker::thread;

        use crate::programs::{Counted, Program};

        fn counted(program: Program) -> Counted {
            match program {
                Program::Mutex {
                    threads,
                    increments,
                } => Counted::new(move || mutex_counter(threads, increments)),
                Program::Racy {
                    threads,
                    increments,
                } => Counted::new(move || {
                    racy_counter(threads, increments);
                }),
                Program::TwoLocks => Counted::new(two_locks),
                Program::Locks { threads, locks } => {
                    Counted::new(move || many_locks(threads, locks))
                }
            }
        }

        /// Starts threads that share a value and joins them.
        fn run_threads<S: Send + Sync + 'static>(
            threads: usize,
            shared: &Arc<S>,
            body: impl Fn(&S) + Copy + Send + 'static,
        ) {
            let threads: Vec<_> = (0..threads)
                .map(|_| {
                    let shared = Arc::clone(shared);
                    thread::spawn(move || body(&shared))
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
        }

        fn mutex_counter(threads: usize, increments: usize) {
            run_threads(threads, &Arc::new(Mutex::new(0)), move |counter| {
                for _ in 0..increments {
                    *counter.lock().unwrap() += 1;
                }
            });
        }

        fn racy_counter(threads: usize, increments: usize) -> usize {
            let counter = Arc::new(AtomicUsize::new(0));
            run_threads(threads, &counter, move |counter| {
                for _ in 0..increments {
                    let value = counter.load(SeqCst);
                    counter.store(value + 1, SeqCst);
                }
            });
            counter.load(SeqCst)
        }

        fn two_locks() {
            run_threads(
                2,
                &Arc::new((Mutex::new(0), Mutex::new(0))),
                |(first, second)| {
                    let mut first = first.lock().unwrap();
                    let mut second = second.lock().unwrap();
                    *first += 1;
                    *second += 1;
                },
            );
        }

        fn many_locks(threads: usize, locks: usize) {
            let locks: Vec<_> = (0..locks).map(|_| Mutex::new(0)).collect();
            run_threads(threads, &Arc::new(locks), |locks| {
                for lock in locks {
                    *lock.lock().unwrap() += 1;
                }
            });
        }
    };
}

use programs;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read_back() {
        for program in crate::speed::PROGRAMS {
            assert_eq!(program.to_string().parse(), Ok(program));
        }
    }

    #[test]
    fn checkers_run_as_many_executions_as_asked() {
        prepare();
        let program = Program::racy(2, 1);
        assert_eq!(raddle::random(program)(100), 100);
        assert_eq!(shuttle::random(program)(100), 100);
        // More than its whole search has.
        assert_eq!(loom::search(program)(100), 100);
    }
}
