#![deny(warnings)]
//! The shapes that a test may have.

#[cfg(test)]
mod tests {
    use std::num::ParseIntError;
    use std::time::Duration;

    use raddle::sync::mpsc::{self, RecvTimeoutError};
    use raddle::thread;

    #[raddle::test]
    fn returns_ok() -> Result<(), ParseIntError> {
        let digit = raddle::choose(0..10_u8).to_string();
        digit.parse::<u8>().map(|_| ())
    }

    #[raddle::test]
    fn returns_an_error() -> Result<(), ParseIntError> {
        let text = if raddle::any() { "7" } else { "seven" };
        text.parse::<u8>().map(|_| ())
    }

    #[raddle::test]
    #[should_panic(expected = "three is too much")]
    fn panics_as_expected() {
        assert!(raddle::choose(0..4) < 3, "three is too much");
    }

    #[should_panic(expected = "deadlock after 1 execution")]
    #[raddle::test(strategy = "exhaustive")]
    fn a_deadlock_is_a_panic_too() {
        let lock = raddle::sync::Mutex::new(());
        let _held = lock.lock();
        let _again = lock.lock();
    }

    fn receive_until(last: u64) {
        let (sender, receiver) = mpsc::channel();
        let sending = thread::spawn(move || (1..=last).for_each(|next| sender.send(next).unwrap()));
        loop {
            match receiver.recv_timeout(Duration::from_millis(1)) {
                Ok(value) if value == last => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the last message is lost"),
            }
        }
        sending.join().unwrap();
    }

    /// Raddle is not optimised here, and leaves more on the stacks of threads.
    #[raddle::test(strategy = "exhaustive", max_time = "5s", require = "exhaustive")]
    fn a_receive_that_is_tried_again_is_exhausted() {
        receive_until(1);
    }

    #[raddle::test]
    #[ignore = "to see that the attribute is kept"]
    fn is_ignored() {
        panic!("it ran");
    }
}
