//! Independent jobs on several OS threads, with one receiver of their messages.

use crate::own_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::own_sync::mpsc::{self, Sender};
use crate::own_sync::thread;

/// Runs the jobs `0..count`, at most `threads` at a time, and passes their messages to `receive` on the calling
/// thread. Starts no further job once `should_stop` is true.
pub fn run_in_parallel<M: Send>(
    count: usize,
    threads: usize,
    should_stop: impl Fn() -> bool + Sync,
    job: impl Fn(usize, &Sender<M>) + Sync,
    receive: impl FnMut(M),
) {
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Relaxed)).filter(|&index| index < count && !should_stop());
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.min(count) {
            let (sender, take, job) = (sender.clone(), &take, &job);
            scope.spawn(move || {
                while let Some(index) = take() {
                    job(index, &sender);
                }
            });
        }
        // The receiver ends when the threads have dropped the other senders.
        drop(sender);
        receiver.into_iter().for_each(receive);
    });
}
