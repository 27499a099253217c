#![deny(warnings)]
//! The shapes that a test may have.

#[cfg(test)]
mod tests {
    use std::num::ParseIntError;

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

    #[raddle::test]
    #[ignore = "to see that the attribute is kept"]
    fn is_ignored() {
        panic!("it ran");
    }
}
