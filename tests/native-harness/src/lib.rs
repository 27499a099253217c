//! Says how tests can end. Nothing in it knows of raddle.

/// As many as were asked for, in a way that loses some.
pub fn count(threads: usize) -> usize {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    let counter = Arc::new(AtomicUsize::new(0));
    let add = || {
        let counter = counter.clone();
        move || {
            let seen = counter.load(SeqCst);
            counter.store(seen + 1, SeqCst);
        }
    };
    let threads: Vec<_> = (0..threads).map(|_| std::thread::spawn(add())).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    counter.load(SeqCst)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::thread;

    use super::count;

    #[test]
    fn has_no_threads() {
        assert_eq!(count(0), 0);
    }

    #[test]
    fn has_one_thread() {
        assert_eq!(count(1), 1);
    }

    #[test]
    fn loses_an_update() {
        assert_eq!(count(2), 2, "one is lost");
    }

    #[test]
    #[should_panic(expected = "as it should")]
    fn panics_as_it_should() {
        panic!("as it should");
    }

    #[test]
    #[should_panic(expected = "this")]
    fn panics_otherwise() {
        panic!("that");
    }

    #[test]
    #[should_panic]
    fn should_panic_and_does_not() {}

    #[test]
    fn returns_ok() -> Result<(), String> {
        Ok(())
    }

    #[test]
    fn returns_an_error() -> Result<(), String> {
        Err("no good".to_owned())
    }

    #[test]
    fn thread_panics_and_join_is_unwrapped() {
        thread::spawn(|| panic!("inside")).join().unwrap()
    }

    #[test]
    fn thread_panics_and_that_is_expected() {
        assert!(thread::spawn(|| panic!("inside")).join().is_err());
    }

    #[test]
    fn thread_panics_and_nobody_asks() {
        thread::spawn(|| panic!("alone"));
    }

    #[test]
    fn scoped_thread_panics() {
        thread::scope(|scope| {
            scope.spawn(|| panic!("in scope"));
        });
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn scoped_thread_should_panic() {
        thread::scope(|scope| {
            scope.spawn(|| panic!("in scope"));
        });
    }

    #[test]
    fn scope_is_caught() {
        let scope = || thread::scope(|scope| drop(scope.spawn(|| panic!("in scope"))));
        assert!(catch_unwind(scope).is_err());
    }

    #[test]
    fn panic_is_caught() {
        assert!(catch_unwind(|| panic!("caught")).is_err());
    }

    #[test]
    fn panics_after_a_caught_one() {
        let _ = catch_unwind(|| panic!("caught"));
        panic!("not caught");
    }

    #[test]
    fn exits() {
        std::process::exit(3);
    }

    #[test]
    fn aborts() {
        std::process::abort();
    }

    #[expect(unconditional_recursion)]
    fn deeper(depth: u64) -> u64 {
        deeper(depth + 1) + depth
    }

    #[test]
    fn overflows() {
        assert_eq!(deeper(0), 1);
    }

    #[test]
    fn prints() {
        println!("to standard output");
        eprintln!("to standard error");
    }

    #[test]
    fn knows_its_name() {
        let name = "tests::knows_its_name";
        assert_eq!(thread::current().name(), Some(name));
    }

    #[test]
    #[ignore = "fails"]
    fn is_ignored() {
        panic!("was run");
    }

    #[test]
    fn panics_after_much_was_printed() {
        for line in 0..3_000 {
            eprintln!("line {line} of those that nobody reads");
        }
        panic!("it panicked at last");
    }

    #[test]
    fn prints_and_fails() {
        println!("to standard output");
        panic!("after that");
    }
}

#[cfg(test)]
mod again;
