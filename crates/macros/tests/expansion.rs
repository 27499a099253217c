//! Compiles expansions against a fake `raddle` that runs each body once.
//!
//! The bodies assert the settings that the fake has received. Tests that should panic show that bodies run.

#![deny(warnings, missing_docs)]

// Expansions refer to `::raddle` by default, which is this file.
extern crate self as raddle;

/// The part of `raddle` that the expansion calls.
#[doc(hidden)]
pub mod __private {
    use std::cell::RefCell;

    /// The settings of the running test.
    #[derive(Clone, Default)]
    pub struct Checker {
        /// The name of the test.
        pub name: &'static str,
        /// Calls of setters.
        pub calls: Vec<String>,
    }

    macro_rules! setters {
        ($($setter:ident: $value:ty,)*) => {$(
            /// Records the call.
            pub fn $setter(mut self, value: $value) -> Self {
                self.calls.push(format!("{}({value:?})", stringify!($setter)));
                self
            }
        )*};
    }

    impl Checker {
        /// Records the call.
        pub fn set_option(mut self, name: &str, value: &str) -> Self {
            self.calls.push(format!("{name}: {value}"));
            self
        }

        setters! {
            max_executions: u64,
            max_events: u64,
            seed: u64,
            preemptions: u32,
            verify_completeness: bool,
            keep_going: bool,
            spurious_wakeups: bool,
            timeouts: bool,
            weak_cas: bool,
            waiting_writers: bool,
            known_schedules: bool,
            remember: bool,
            shorten: bool,
            page: bool,
            stack_size: usize,
        }
    }

    /// Return types of bodies.
    pub trait Outcome {
        /// Panics if the body failed.
        fn unwrap_outcome(self);
    }

    impl Outcome for () {
        fn unwrap_outcome(self) {}
    }

    impl Outcome for Result<(), String> {
        fn unwrap_outcome(self) {
            self.unwrap();
        }
    }

    thread_local!(static CURRENT: RefCell<Checker> = RefCell::default());

    /// The checker of the test that runs on this thread.
    pub fn current() -> Checker {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs the body once.
    pub fn test<T: Outcome>(
        name: &'static str,
        configure: impl FnOnce(Checker) -> Checker,
        body: fn() -> T,
    ) {
        CURRENT.set(configure(Checker {
            name,
            calls: Vec::new(),
        }));
        body().unwrap_outcome();
    }
}

/// A re-export, as in a crate that re-exports `raddle`.
pub mod facade {
    pub use crate::__private;
}

use crate::__private::current;

const KIB: usize = 1024;

#[raddle_macros::test]
fn the_name_includes_the_module() {
    assert_eq!(current().name, "expansion::the_name_includes_the_module");
    assert!(current().calls.is_empty());
}

#[raddle_macros::test(
    strategy = "pct",
    max_executions = 50_000,
    max_time = "20s",
    max_events = 1_000,
    seed = 7,
    memory = "rc11",
    classes = "reads-from",
    preemptions = 2,
    verify_completeness = true,
    keep_going = true,
    spurious_wakeups = false,
    timeouts = false,
    weak_cas = false,
    waiting_writers = false,
    known_schedules = false,
    lock_order = "deny",
    leaks = "deny",
    remember = true,
    shorten = false,
    page = false,
    watchdog = "1m",
    reduce = "symmetry",
    stack_size = 256 * KIB
)]
fn options_reach_the_checker() {
    let expected = [
        "strategy: pct",
        "max_executions(50000)",
        "max_time: 20s",
        "max_events(1000)",
        "seed(7)",
        "memory: rc11",
        "classes: reads-from",
        "preemptions(2)",
        "verify_completeness(true)",
        "keep_going(true)",
        "spurious_wakeups(false)",
        "timeouts(false)",
        "weak_cas(false)",
        "waiting_writers(false)",
        "known_schedules(false)",
        "lock_order: deny",
        "leaks: deny",
        "remember(true)",
        "shorten(false)",
        "page(false)",
        "watchdog: 1m",
        "reduce: symmetry",
        "stack_size(262144)",
    ];
    assert_eq!(current().calls, expected);
}

/// The test keeps attributes and documentation.
#[raddle_macros::test]
#[should_panic(expected = "the body ran")]
fn a_panic_of_the_body_is_the_panic_of_the_test() {
    panic!("the body ran");
}

#[should_panic(expected = "the body returned")]
#[raddle_macros::test]
fn a_returned_error_fails_the_test() -> Result<(), String> {
    Err("the body returned".to_owned())
}

#[raddle_macros::test]
#[ignore = "it must not run"]
fn an_ignored_test_is_ignored() {
    panic!("it ran");
}

#[raddle_macros::test]
#[cfg(any())]
fn a_test_that_is_configured_out_is_not_compiled() {
    this_does_not_exist();
}

#[raddle_macros::test(crate = facade)]
fn the_crate_can_be_a_path() {}

#[raddle_macros::test(crate = "crate::facade")]
fn the_crate_can_be_a_string() {}

#[raddle_macros::test(seed = 7)]
fn checker() {
    assert_eq!(current().name, "expansion::checker");
    assert_eq!(current().calls, ["seed(7)"]);
}

#[raddle_macros::test]
fn r#match() {
    assert_eq!(current().name, "expansion::r#match");
}

macro_rules! tests_of_seeds {
    ($($name:ident: $seed:expr, $size:expr;)*) => {$(
        #[raddle_macros::test(seed = $seed, stack_size = $size, crate = $crate::facade)]
        fn $name() {
            assert_eq!(current().calls, [format!("seed({})", $seed), format!("stack_size({})", $size)]);
        }
    )*};
}

tests_of_seeds! {
    values_can_come_through_a_macro: 7, 2 * KIB;
    names_can_come_through_a_macro: 8, KIB;
}

mod hostile_scope {
    #![allow(dead_code, unused_macros, unused_imports)]

    mod core {}
    mod std {}
    mod raddle {}
    struct Some;
    struct Ok;
    struct Result;

    macro_rules! concat {
        ($($anything:tt)*) => {
            compile_error!("captured")
        };
    }
    macro_rules! module_path {
        () => {
            compile_error!("captured")
        };
    }
    macro_rules! stringify {
        ($($anything:tt)*) => {
            compile_error!("captured")
        };
    }

    use raddle_macros::test;

    #[test(seed = 7, keep_going = false)]
    fn test() {
        let checker = super::current();
        assert_eq!(checker.name, "expansion::hostile_scope::test");
        assert_eq!(checker.calls, ["seed(7)", "keep_going(false)"]);
    }
}
