//! Workers that are asked to stop, and one that misses the request.
//!
//! ```console
//! cargo run -p raddle-examples --bin worker_pool
//! ```
//!
//! The worker reads the flag, which is not set, and then waits; if the request to stop comes in
//! between, no thread wakes it any more. With a channel the wake-up cannot be lost: the worker ends
//! when the last sender is dropped.

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use raddle::sync::{Condvar, Mutex, mpsc};
use raddle::{Checker, Strategy, thread};

/// A pool of one worker with a flag that is not protected by the condition variable's lock.
fn stop_by_flag() {
    let stop = Arc::new(AtomicBool::new(false));
    let idle = Arc::new((Mutex::new(()), Condvar::new()));
    let worker = {
        let (stop, idle) = (Arc::clone(&stop), Arc::clone(&idle));
        thread::Builder::new()
            .name("worker".to_owned())
            .spawn(move || {
                while !stop.load(SeqCst) {
                    let guard = idle.0.lock().unwrap();
                    drop(idle.1.wait(guard).unwrap());
                }
            })
            .unwrap()
    };
    stop.store(true, SeqCst);
    idle.1.notify_all();
    worker.join().unwrap();
}

/// The fix: two workers that share the receiving end of a channel.
fn stop_by_hanging_up() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let receiver = Arc::new(Mutex::new(receiver));
    let workers = [(); 2].map(|()| {
        let receiver = Arc::clone(&receiver);
        thread::spawn(move || {
            let next = || receiver.lock().unwrap().recv();
            let mut done = 0;
            while let Ok(job) = next() {
                done += job;
            }
            done
        })
    });
    for job in [1, 2] {
        sender.send(job).unwrap();
    }
    drop(sender);
    let done = workers.map(|worker| worker.join().unwrap());
    assert_eq!(done.iter().sum::<u32>(), 3, "every job is done once");
}

fn main() {
    let checker = || Checker::new().strategy(Strategy::Exhaustive);
    println!("A flag and a condition:");
    let report = checker()
        .named("worker_pool")
        .spurious_wakeups(false)
        .run(stop_by_flag);
    println!("{report}");

    println!("A channel:");
    let report = checker().run(stop_by_hanging_up);
    report.assert_ok();
}
