//! Small clients of parking_lot's locks, one test each: two or three threads of one or two operations. To compare
//! the crate's own code with a model of it, each execution adds what its threads observed to a file.

/// A client as a text: threads are separated by `|`, and each letter is an operation.
#[cfg(test)]
mod client {
    use std::fmt::Write as _;
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::time::Duration;

    use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockWriteGuard};

    /// The folder for outcomes.
    const FOLDER: &str = "LOCK_CLIENTS";
    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Default)]
    struct Shared {
        /// The threads that had the lock, as digits.
        mutex: Mutex<u32>,
        told: Condvar,
        rwlock: RwLock<u32>,
    }

    /// Appends a digit to the history of a lock; returns the history before.
    fn add(history: &mut u32, thread: u32) -> u32 {
        let before = *history;
        *history = before * 10 + thread;
        before
    }

    /// Performs an operation; returns what it observed.
    fn perform(operation: char, shared: &Shared, thread: u32) -> String {
        let Shared {
            mutex,
            told,
            rwlock,
        } = shared;
        let locked = |guard: Option<MutexGuard<'_, u32>>| match guard {
            Some(mut guard) => add(&mut guard, thread).to_string(),
            None => "refused".to_owned(),
        };
        let written = |guard: Option<RwLockWriteGuard<'_, u32>>| match guard {
            Some(mut guard) => add(&mut guard, thread).to_string(),
            None => "refused".to_owned(),
        };
        match operation {
            'l' => locked(Some(mutex.lock())),
            't' => locked(mutex.try_lock()),
            'e' => locked(mutex.try_lock_for(SECOND)),
            'f' => {
                let mut guard = mutex.lock();
                let before = add(&mut guard, thread);
                MutexGuard::unlock_fair(guard);
                before.to_string()
            }
            'r' => rwlock.read().to_string(),
            'q' => match rwlock.try_read() {
                Some(value) => value.to_string(),
                None => "refused".to_owned(),
            },
            'w' => written(Some(rwlock.write())),
            'u' => written(rwlock.try_write()),
            'g' => {
                let mut guard = rwlock.write();
                add(&mut guard, thread);
                RwLockWriteGuard::downgrade(guard).to_string()
            }
            // Until the lock was had by another.
            'c' => {
                let mut guard = mutex.lock();
                while *guard == 0 {
                    told.wait(&mut guard);
                }
                add(&mut guard, thread).to_string()
            }
            // Once, whatever was before.
            'd' => {
                let mut guard = mutex.lock();
                told.wait(&mut guard);
                add(&mut guard, thread).to_string()
            }
            // Once, and not for ever.
            'z' => {
                let mut guard = mutex.lock();
                let timed_out = told.wait_for(&mut guard, SECOND).timed_out();
                format!("{} {timed_out}", add(&mut guard, thread))
            }
            'n' => {
                let before = add(&mut mutex.lock(), thread);
                format!("{before} {}", told.notify_one())
            }
            'a' => {
                let before = add(&mut mutex.lock(), thread);
                format!("{before} {}", told.notify_all())
            }
            // With the lock.
            'h' => {
                let mut guard = mutex.lock();
                let before = add(&mut guard, thread);
                format!("{before} {}", told.notify_one())
            }
            'x' => {
                let mut outer = mutex.lock();
                let inner = add(&mut rwlock.write(), thread);
                format!("{} {inner}", add(&mut outer, thread))
            }
            'y' => {
                let mut outer = rwlock.write();
                let inner = add(&mut mutex.lock(), thread);
                format!("{} {inner}", add(&mut outer, thread))
            }
            _ => panic!("there is no operation {operation}"),
        }
    }

    /// Runs a client: the first thread is the test's own.
    pub fn run(name: &str, client: &str) {
        let shared = Shared::default();
        let body = |operations: &str, thread: u32| -> Vec<String> {
            let operations = operations.chars();
            let perform = |operation| perform(operation, &shared, thread);
            operations.map(perform).collect()
        };
        let mut threads = client.split('|').map(str::trim);
        let first = threads.next().expect("a text has at least one part");
        let seen: Vec<_> = std::thread::scope(|scope| {
            let others: Vec<_> = (2..)
                .zip(threads)
                .map(|(number, operations)| scope.spawn(move || body(operations, number)))
                .collect();
            let mut seen = vec![body(first, 1)];
            seen.extend(others.into_iter().map(|thread| thread.join().unwrap()));
            seen
        });
        let mut line = String::new();
        let (one, other) = (shared.mutex.into_inner(), shared.rwlock.into_inner());
        writeln!(line, "{seen:?} {one} {other}").unwrap();
        if let Some(folder) = std::env::var_os(FOLDER) {
            let file = std::path::Path::new(&folder).join(name);
            let mut options = OpenOptions::new();
            let mut file = options.create(true).append(true).open(file).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        }
    }
}

#[cfg(test)]
macro_rules! clients {
    ($($module:ident { $($name:ident = $client:literal)* })*) => {$(
        mod $module {
            $(
                #[test]
                fn $name() {
                    crate::client::run(
                        concat!(stringify!($module), "-", stringify!($name)),
                        $client,
                    );
                }
            )*
        }
    )*};
}

#[cfg(test)]
clients! {
    two_by_one {
        ll = "l | l"  lt = "l | t"  le = "l | e"  lf = "l | f"  tt = "t | t"
        te = "t | e"  tf = "t | f"  ee = "e | e"  ef = "e | f"  ff = "f | f"
        rr = "r | r"  rw = "r | w"  rq = "r | q"  ru = "r | u"  rg = "r | g"
        ww = "w | w"  wq = "w | q"  wu = "w | u"  wg = "w | g"  qq = "q | q"
        qu = "q | u"  qg = "q | g"  uu = "u | u"  ug = "u | g"  gg = "g | g"
        cn = "c | n"  ca = "c | a"  ch = "c | h"  dn = "d | n"  da = "d | a"
        dh = "d | h"  zn = "z | n"  za = "z | a"  zh = "z | h"  cl = "c | l"
        nn = "n | n"  xy = "x | y"  xx = "x | x"  yy = "y | y"
    }
    two_by_two {
        ll_l = "ll | l"  lt_l = "lt | l"  tl_t = "tl | t"  tt_l = "tt | l"
        ww_r = "ww | r"  wr_w = "wr | w"  rr_w = "rr | w"  qw_r = "qw | r"
        uq_w = "uq | w"  wg_q = "wg | q"  cn_n = "cl | n"  nl_c = "nl | c"
        nn_c = "nn | c"
        ll_ll = "ll | ll"  ll_tt = "ll | tt"  tt_tt = "tt | tt"
        ww_rr = "ww | rr"  wr_wr = "wr | wr"  uq_uq = "uq | uq"
        nn_cc = "nn | cc"
    }
    three_by_one {
        lll = "l | l | l"  llt = "l | l | t"  ltt = "l | t | t"  ttt = "t | t | t"
        wrr = "w | r | r"  wwr = "w | w | r"  www = "w | w | w"  wrq = "w | r | q"
        uuq = "u | u | q"  qqu = "q | q | u"
        ccn = "c | c | n"  cca = "c | c | a"  cnn = "c | n | n"  ccn2 = "c | c | nn"
    }
    three_by_two {
        lt_lt_lt = "lt | lt | lt"  tt_tt_tt = "tt | tt | tt"  ll_ll_ll = "ll | ll | ll"
        uq_uq_uq = "uq | uq | uq"  wr_wr_wr = "wr | wr | wr"
    }
}
