//! Both implementations of switching, on programs that need no check.

/// The tests of one implementation.
macro_rules! tests {
    ($name:ident) => {
        mod $name {
            use std::cell::{Cell, RefCell};
            use std::panic::{AssertUnwindSafe, catch_unwind};
            use std::rc::Rc;

            use super::super::Exit;
            use super::super::$name::{Driver, Home};
            use crate::runtime::stacks::OwnedStack;

            fn stack() -> OwnedStack {
                OwnedStack::new(1 << 16).expect("there is memory for a stack")
            }

            #[test]
            fn values_on_a_stack_outlive_a_switch() {
                let driver = Driver::new();
                let mut home = Home::new();
                let pinned = home.pin();
                let seen = RefCell::new(Vec::new());
                let floats = [1.5f64, 2.5];
                // SAFETY: the borrows live until the coroutine has ended, below.
                unsafe {
                    home.put(stack(), |_| {
                        for round in 0..3u64 {
                            let text = format!("round {round} {}", floats[0] * floats[1]);
                            seen.borrow_mut().push(round);
                            pinned.suspend(&driver);
                            assert_eq!(text, format!("round {round} 3.75"));
                        }
                        driver.way_back(Exit::Returned)
                    });
                }
                for round in 0..3 {
                    // SAFETY: the home is where it was, and its coroutine is suspended.
                    assert_eq!(unsafe { pinned.resume(&driver) }, None);
                    assert_eq!(*seen.borrow(), Vec::from_iter(0..=round));
                }
                // SAFETY: as above.
                assert_eq!(unsafe { pinned.resume(&driver) }, Some(Exit::Returned));
                assert!(home.take().is_some());
            }

            #[test]
            fn a_panic_is_caught_and_a_backtrace_ends_on_its_stack() {
                let driver = Driver::new();
                let mut home = Home::new();
                let pinned = home.pin();
                let caught = Cell::new(false);
                let backtrace = RefCell::new(String::new());
                // SAFETY: the borrows live until the coroutine has ended, below.
                unsafe {
                    home.put(stack(), |_| {
                        let payload = catch_unwind(AssertUnwindSafe(|| {
                            pinned.suspend(&driver);
                            let here = std::backtrace::Backtrace::force_capture();
                            *backtrace.borrow_mut() = here.to_string();
                            std::panic::resume_unwind(Box::new(7));
                        }));
                        caught.set(payload.is_err_and(|it| it.is::<i32>()));
                        driver.way_back(Exit::Returned)
                    });
                    assert_eq!(pinned.resume(&driver), None);
                    assert_eq!(pinned.resume(&driver), Some(Exit::Returned));
                }
                assert!(caught.get());
                assert!(backtrace.borrow().contains("a_panic_is_caught"));
            }

            #[test]
            fn a_coroutine_that_is_taken_out_is_not_unwound() {
                let driver = Driver::new();
                let mut home = Home::new();
                let pinned = home.pin();
                let value = Rc::new(());
                let inside = Rc::clone(&value);
                // SAFETY: nothing is borrowed.
                unsafe {
                    let driver = &driver;
                    home.put(stack(), move |_| {
                        pinned.suspend(driver);
                        drop(inside);
                        driver.way_back(Exit::Returned)
                    });
                    assert_eq!(pinned.resume(driver), None);
                }
                assert!(!home.is_empty());
                let stack = home.take().expect("it has a stack");
                assert!(home.is_empty());
                // SAFETY: nothing is borrowed.
                unsafe {
                    home.put(stack, |_| driver.way_back(Exit::Finished));
                    assert_eq!(home.pin().resume(&driver), Some(Exit::Finished));
                }
                assert_eq!(Rc::strong_count(&value), 2);
            }

            #[test]
            fn frames_are_before_the_end_of_the_stack() {
                let driver = Driver::new();
                let mut home = Home::new();
                let stack = stack();
                let (base, limit) = (stack.base(), stack.limit());
                // SAFETY: the borrows live until the coroutine has ended, below.
                unsafe {
                    home.put(stack, |end| {
                        let local = 0u128;
                        let here = (&raw const local).addr();
                        assert!(limit < here && here < end.addr() && end.addr() < base);
                        assert!(here.is_multiple_of(16));
                        driver.way_back(Exit::Returned)
                    });
                    assert_eq!(home.pin().resume(&driver), Some(Exit::Returned));
                }
            }
        }
    };
}

tests!(portable);
#[cfg(all(target_arch = "x86_64", not(windows)))]
tests!(x86_64);

#[cfg(all(target_arch = "x86_64", not(windows)))]
#[test]
fn coroutines_switch_to_each_other() {
    use std::cell::RefCell;

    use super::{Driver, Exit, Home};
    use crate::runtime::stacks::OwnedStack;

    let driver = Driver::new();
    let mut homes = [Home::new(), Home::new()];
    let [first, second] = homes.each_mut().map(Home::pin);
    let order = RefCell::new(String::new());
    let stack = || OwnedStack::new(1 << 16).expect("there is memory for a stack");
    // SAFETY: the borrows live until both have ended, below; the other one is suspended at each switch.
    unsafe {
        homes[0].put(stack(), |_| {
            order.borrow_mut().push('a');
            first.switch_to(second);
            order.borrow_mut().push('c');
            first.switch_to(second);
            unreachable!("the second one ends towards the driver");
        });
        homes[1].put(stack(), |_| {
            order.borrow_mut().push('b');
            second.switch_to(first);
            order.borrow_mut().push('d');
            driver.way_back(Exit::Returned)
        });
        assert_eq!(first.resume(&driver), Some(Exit::Returned));
    }
    assert_eq!(*order.borrow(), "abcd");
}
