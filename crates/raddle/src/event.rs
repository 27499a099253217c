//! The macro that labels operations.

/// Labels the operation that the calling thread has just performed, for properties and graphs of the behaviour.
///
/// The text is that of a format string. It belongs to the last operation of the thread on a controlled value (a lock that was
/// taken or released, an atomic that was read or written, a message), or to the begin of the thread if there was none.
/// The order of two labelled events is the order of their operations: behind a lock that was taken, the label stands for
/// taking it.
///
/// ```
/// use raddle::sync::{Arc, Mutex};
/// use raddle::{Checker, Property, thread};
///
/// let (first, second) = (Property::event("write by first"), Property::event("write by second"));
/// let report = Checker::new()
///     .property("in order", Property::always(second.implies(Property::once(first))))
///     .run(|| {
///         let cell = Arc::new(Mutex::new(0));
///         let other = cell.clone();
///         let thread = thread::spawn(move || {
///             *other.lock().unwrap() += 1;
///             raddle::event!("write by {}", "second");
///         });
///         *cell.lock().unwrap() += 1;
///         raddle::event!("write by first");
///         thread.join().unwrap();
///     });
/// assert_eq!(report.failures.len(), 1);
/// ```
///
/// The arguments are evaluated only if the check uses labels ([`Checker::property`](crate::Checker::property),
/// [`Checker::behaviour`](crate::Checker::behaviour)), and then outside of the check, so that they perform no operation:
/// a check without them pays for a test of a flag. Outside a check the macro has no effect, and without feature
/// `check` it expands to nothing: the arguments are compiled, but not evaluated.
#[cfg(feature = "check")]
#[macro_export]
macro_rules! event {
    ($($text:tt)+) => {
        $crate::__private::label_event(|| ::std::format!($($text)+))
    };
}

/// Labels an operation inside a check. Without feature `check` it expands to nothing: the arguments are compiled, but not
/// evaluated.
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! event {
    ($($text:tt)+) => {
        if false {
            let _ = ::core::format_args!($($text)+);
        }
    };
}

#[cfg(all(test, not(feature = "check")))]
mod tests {
    #[test]
    fn arguments_are_compiled_and_not_evaluated() {
        let never = || -> u8 { panic!("it is not evaluated") };
        event!("event");
        event!("event {}", never());
    }
}
