//! A bounded queue for many producers and many consumers, with a turn in every slot, tested.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

const SIZE: usize = 2;

/// The turn of a slot names the owner of the value: even rounds push, odd ones pop.
struct Slot {
    turn: AtomicUsize,
    value: UnsafeCell<u32>,
}

struct Queue {
    slots: [Slot; SIZE],
    head: AtomicUsize,
    tail: AtomicUsize,
}

// SAFETY: only the owner by `turn` accesses a value, and `turn` transfers ownership.
unsafe impl Sync for Queue {}
// SAFETY: as above.
unsafe impl Send for Queue {}

impl Queue {
    fn new() -> Self {
        let slot = || Slot {
            turn: AtomicUsize::new(0),
            value: UnsafeCell::new(0),
        };
        Queue {
            slots: [slot(), slot()],
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }

    fn push(&self, value: u32) -> bool {
        let tail = self.tail.load(Ordering::Relaxed);
        let slot = &self.slots[tail % SIZE];
        let turn = tail / SIZE * 2;
        if slot.turn.load(Ordering::Acquire) != turn {
            return false;
        }
        let taken =
            self.tail
                .compare_exchange(tail, tail + 1, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        // SAFETY: it is this push's turn.
        slot.value.with_mut(|to| unsafe { *to = value });
        slot.turn.store(turn + 1, Ordering::Release);
        true
    }

    fn pop(&self) -> Option<u32> {
        let head = self.head.load(Ordering::Relaxed);
        let slot = &self.slots[head % SIZE];
        let turn = head / SIZE * 2 + 1;
        if slot.turn.load(Ordering::Acquire) != turn {
            return None;
        }
        self.head
            .compare_exchange(head, head + 1, Ordering::Relaxed, Ordering::Relaxed)
            .ok()?;
        // SAFETY: it is this pop's turn.
        let value = slot.value.with(|from| unsafe { *from });
        slot.turn.store(turn + 1, Ordering::Release);
        Some(value)
    }
}

/// Each popped value was pushed, and none is popped twice.
pub fn nothing_twice() {
    let queue = Arc::new(Queue::new());
    let producers = [1, 2].map(|value| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.push(value))
    });
    let mut popped = Vec::new();
    popped.extend(queue.pop());
    popped.extend(queue.pop());
    let pushed = producers.map(|producer| producer.join().unwrap());
    while let Some(value) = queue.pop() {
        popped.push(value);
    }
    popped.sort_unstable();
    let pushed: Vec<u32> = [1, 2]
        .into_iter()
        .zip(pushed)
        .filter_map(|(value, pushed)| pushed.then_some(value))
        .collect();
    assert_eq!(popped, pushed);
}

/// The test.
pub fn test() {
    loom::model(nothing_twice);
}
