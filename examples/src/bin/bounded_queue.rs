//! A bounded queue that waits with `if` where it must wait with `while`.
//!
//! ```console
//! cargo run -p raddle-examples --bin bounded_queue
//! ```
//!
//! A thread that is woken does not run at once. Until it has the lock again, another one may have
//! taken the item; and a wake-up may be spurious. Checks explore all of that.

use std::collections::VecDeque;

use raddle::sync::{Condvar, Mutex};
use raddle::{Checker, Strategy, thread};

#[derive(Default)]
struct Queue {
    items: Mutex<VecDeque<u32>>,
    not_empty: Condvar,
}

impl Queue {
    fn push(&self, item: u32) {
        self.items.lock().unwrap().push_back(item);
        self.not_empty.notify_one();
    }

    /// Waits at most once.
    fn pop(&self) -> u32 {
        let mut items = self.items.lock().unwrap();
        if items.is_empty() {
            items = self.not_empty.wait(items).unwrap();
        }
        items.pop_front().expect("there is an item")
    }

    /// The fix: waits as long as the queue is empty.
    fn pop_for_sure(&self) -> u32 {
        let items = self.items.lock().unwrap();
        let mut items = self
            .not_empty
            .wait_while(items, |items| items.is_empty())
            .unwrap();
        items.pop_front().expect("there is an item")
    }
}

fn two_consumers(pop: fn(&Queue) -> u32) {
    let queue = Queue::default();
    thread::scope(|scope| {
        let one = scope.spawn(|| pop(&queue));
        let other = scope.spawn(|| pop(&queue));
        queue.push(1);
        queue.push(2);
        assert_eq!(one.join().unwrap() + other.join().unwrap(), 3);
    });
}

fn main() {
    // Without spurious wake-ups, to see that it is wrong even so.
    let checker = || Checker::new().strategy(Strategy::Exhaustive);
    println!("Waiting with `if`:");
    let report = checker()
        .named("bounded_queue")
        .spurious_wakeups(false)
        .run(|| two_consumers(Queue::pop));
    println!("{report}");

    println!("Waiting with `while`:");
    let report = checker().run(|| two_consumers(Queue::pop_for_sure));
    report.assert_ok();
}
