//! The macros that mark states of the program, so that a check says whether any execution reached them.

/// Marks a place that some execution is expected to come to.
///
/// A check counts the executions that come to it: [`Report::reached`](crate::Report::reached). With the setting
/// `require_reached` and the name, the check fails if none does: then it passed without the situation that the test is about.
///
/// ```
/// # fn main() {
/// use raddle::sync::{Arc, Mutex};
/// use raddle::{Checker, thread};
///
/// let check = Checker::new().require_reached("the lock is taken");
/// check.run(|| {
///     let lock = Arc::new(Mutex::new(0));
///     let other = Arc::clone(&lock);
///     let thread = thread::spawn(move || *other.lock().unwrap() += 1);
///     if lock.try_lock().is_err() {
///         raddle::reachable!("the lock is taken");
///     }
///     thread.join().unwrap();
/// })
/// .assert_ok();
/// # }
/// ```
///
/// The name is a literal without a comma. Outside a check the macro has no effect, and without feature `check` it
/// expands to nothing.
#[cfg(feature = "check")]
#[macro_export]
macro_rules! reachable {
    ($name:literal $(,)?) => {
        $crate::__private::pass($name, true)
    };
}

/// Marks a place that some execution is expected to come to. Without feature `check` it expands to nothing.
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! reachable {
    ($name:literal $(,)?) => {{
        let _: &str = $name;
    }};
}

/// Marks a condition that is expected to be true at this place in some execution, and may be false in others.
///
/// A check that passes prints a line for a condition that was true in no execution, and
/// [`Report::reached`](crate::Report::reached) has the counts. With the setting `require_reached` and the name such a check
/// fails. The name is a literal without a comma; by default it is the text of the condition.
///
/// ```
/// # fn main() {
/// use raddle::sync::mpsc::sync_channel;
/// use raddle::{Checker, thread};
///
/// let report = Checker::new().run(|| {
///     let (sender, receiver) = sync_channel(1);
///     let thread = thread::spawn(move || {
///         for item in 0..2 {
///             let result = sender.try_send(item);
///             raddle::sometimes!(result.is_err(), "the channel is full");
///         }
///     });
///     drop(receiver.try_recv());
///     thread.join().unwrap();
/// });
/// let full = &report.reached().states[0];
/// assert_eq!(full.name, "the channel is full");
/// assert!(0 < full.held && full.held < report.executions);
/// # }
/// ```
///
/// The condition is evaluated inside checks only, each time a thread comes to the place. What it does with controlled
/// values are operations of the program like any others.
#[cfg(feature = "check")]
#[macro_export]
macro_rules! sometimes {
    ($condition:expr $(,)?) => {
        $crate::sometimes!($condition, ::core::stringify!($condition))
    };
    ($condition:expr, $name:expr $(,)?) => {
        if $crate::__private::is_checked() {
            let holds: bool = $condition;
            $crate::__private::pass($name, holds);
        }
    };
}

/// Marks a condition that is expected to be true at this place in some execution. Without feature `check` it expands
/// to nothing: the condition is compiled, but not evaluated.
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! sometimes {
    ($condition:expr $(, $name:expr)? $(,)?) => {
        if false {
            let _: bool = $condition;
            $(let _: &str = $name;)?
        }
    };
}

#[cfg(all(test, not(feature = "check")))]
mod tests {
    #[test]
    fn conditions_are_compiled_and_not_evaluated() {
        let never = || -> bool { panic!("it is not evaluated") };
        reachable!("here");
        sometimes!(never());
        sometimes!(never(), "never");
    }
}
