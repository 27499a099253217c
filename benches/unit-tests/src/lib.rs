//! Tests that know nothing of raddle. `benches/src/native/peers.rs` has the same for shuttle and loom.

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, Condvar, Mutex, mpsc};
    use std::thread;

    #[test]
    fn counter() {
        let counter = Arc::new(AtomicUsize::new(0));
        let threads = [(); 2].map(|()| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || counter.fetch_add(1, SeqCst))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 2);
    }

    /// As `counter`. `raddle-gate` recognises each execution by the system call.
    #[test]
    fn counted() {
        std::hint::black_box(std::os::unix::process::parent_id());
        counter();
    }

    #[test]
    fn mutex() {
        let counter = Arc::new(Mutex::new(0));
        let threads = [(); 2].map(|()| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || *counter.lock().unwrap() += 1)
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*counter.lock().unwrap(), 2);
    }

    #[test]
    fn condvar() {
        let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
        let other = Arc::clone(&queue);
        let producer = thread::spawn(move || {
            for item in 1..=2 {
                other.0.lock().unwrap().push_back(item);
                other.1.notify_one();
            }
        });
        let mut sum = 0;
        for _ in 0..2 {
            let mut items = queue.0.lock().unwrap();
            while items.is_empty() {
                items = queue.1.wait(items).unwrap();
            }
            sum += items.pop_front().unwrap();
        }
        producer.join().unwrap();
        assert_eq!(sum, 3);
    }

    #[test]
    fn channel() {
        let (sender, receiver) = mpsc::channel();
        let threads = [1, 2].map(|item| {
            let sender = sender.clone();
            thread::spawn(move || sender.send(item).unwrap())
        });
        let sum = receiver.recv().unwrap() + receiver.recv().unwrap();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(sum, 3);
    }
}
