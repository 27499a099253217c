//! Loops that count their rounds, wherever the counter is: what the number of rounds decides is part of the behaviour. The
//! argument says which. Each gets stuck if it has ended after a certain number of rounds, neither the first nor the last.

use std::cell::Cell;
use std::ffi::c_void;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::thread;

unsafe extern "C" {
    fn raddle_check(function: extern "C" fn(*mut c_void), argument: *mut c_void) -> i32;
}

/// Calls `wait` with a flag that another thread sets; it returns whether the rounds are those that are looked for.
fn beside(wait: fn(&AtomicBool) -> bool) {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&flag);
    let thread = thread::spawn(move || theirs.store(true, Release));
    let is_found = wait(&flag);
    thread.join().unwrap();
    // For ever; a panic would print its backtrace, which takes long in a check.
    if is_found {
        thread::park();
    }
}

static WHICH: AtomicUsize = AtomicUsize::new(0);

const ALL: [(&str, fn(&AtomicBool) -> bool); 7] = [
    ("register", |flag| {
        let mut rounds = 0;
        while !flag.load(Acquire) && rounds < 8 {
            rounds += 1;
            spin_loop();
        }
        rounds == 5
    }),
    ("float", |flag| {
        let mut size = 1.0;
        while !flag.load(Acquire) && size < 40.0 {
            size *= 2.0;
        }
        size == 8.0
    }),
    ("pointer", |flag| {
        let numbers = [1, 2, 3, 4, 5, 0];
        let (mut rest, mut last) = (numbers.iter(), 0);
        while !flag.load(Acquire) {
            match rest.next() {
                Some(&number) => last = number,
                None => break,
            }
        }
        last == 4
    }),
    ("stack", |flag| {
        let step = Cell::new(0_u32);
        while !flag.load(Acquire) && step.get() < 6 {
            (0..1 << step.get()).for_each(|_| spin_loop());
            step.set(step.get() + 1);
        }
        step.get() == 3
    }),
    ("heap", |flag| {
        let mut log = Vec::new();
        while !flag.load(Acquire) && log.len() < 6 {
            log.push(log.len());
        }
        log.len() == 4
    }),
    ("thread-local", |flag| {
        thread_local!(static ROUNDS: Cell<u32> = const { Cell::new(0) });
        ROUNDS.set(0);
        while !flag.load(Acquire) && ROUNDS.get() < 6 {
            ROUNDS.set(ROUNDS.get() + 1);
        }
        ROUNDS.get() == 4
    }),
    ("static", |flag| {
        static mut ROUNDS: u32 = 0;
        let rounds = &raw mut ROUNDS;
        // SAFETY: only this thread uses it.
        unsafe {
            *rounds = 0;
            while !flag.load(Acquire) && *rounds < 6 {
                *rounds += 1;
            }
            *rounds == 4
        }
    }),
];

extern "C" fn run(_: *mut c_void) {
    beside(ALL[WHICH.load(Relaxed)].1);
}

fn main() {
    let name = std::env::args().nth(1).expect("a name");
    let which = ALL.iter().position(|(known, _)| *known == name);
    WHICH.store(which.expect("a known name"), Relaxed);
    // SAFETY: the function takes any argument.
    std::process::exit(unsafe { raddle_check(run, std::ptr::null_mut()) });
}
