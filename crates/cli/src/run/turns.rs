//! Work by turns: several OS threads take one piece after the other, and one hears what they tell.

use crate::own_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::own_sync::mpsc::{self, Sender};
use crate::own_sync::thread;

/// Has so many pieces of work done, several at once, and hands on what is told of them. When it is over,
/// nothing more is begun.
pub fn by_turns<M: Send>(
    count: usize,
    at_once: usize,
    is_over: impl Fn() -> bool + Sync,
    work: impl Fn(usize, &Sender<M>) + Sync,
    hear: impl FnMut(M),
) {
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Relaxed)).filter(|&index| index < count && !is_over());
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..at_once.min(count) {
            let (sender, take, work) = (sender.clone(), &take, &work);
            scope.spawn(move || {
                while let Some(index) = take() {
                    work(index, &sender);
                }
            });
        }
        // What is left of it is with those who work.
        drop(sender);
        receiver.into_iter().for_each(hear);
    });
}
