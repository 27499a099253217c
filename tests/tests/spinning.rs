//! Loops that wait for another thread: they are found to be that, so that the search ends and no
//! class is counted for having looked in vain; and where nobody ends the wait, that is reported.

use std::time::Duration;

use raddle::sync::atomic::{
    AtomicBool, AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, Strategy, hint, thread};
use raddle_tests::compare::{Behaviour, behaviour};
use raddle_tests::programs::run_threads;

fn explored<T: Ord + std::fmt::Debug + Send>(
    program: impl Fn() -> T + Send + Sync,
) -> Behaviour<T> {
    behaviour(&Checker::new(), program)
}

#[test]
fn a_flag_is_waited_for() {
    let program = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let setter = thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {}
        setter.join().unwrap();
    };
    let seen = explored(program);
    assert_eq!(seen.classes, 1);
    assert_eq!(seen.kinds(), []);
}
