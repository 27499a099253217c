//! The macro that names objects and locations of the program.

/// Gives a lock, an atomic or another controlled value a name, which traces and messages then use
/// instead of its type.
///
/// The name may be a format string, whose arguments stand in it or come last:
///
/// ```
/// # use raddle::sync::{Arc, Mutex, atomic::AtomicBool};
/// # fn body() {
/// let ready = AtomicBool::new(false);
/// raddle::label!("ready", &ready);
/// let forks: Vec<_> = (0..5).map(|_| Arc::new(Mutex::new(()))).collect();
/// for (i, fork) in forks.iter().enumerate() {
///     raddle::label!("fork[{i}]", fork);
/// }
/// raddle::label!("fork {} of {}", &forks[0], 1, forks.len());
/// # }
/// # body();
/// ```
///
/// A name holds for the running execution; give it where the value is created. Outside a check the
/// macro has no effect, and without feature `check` it expands to nothing: the arguments are
/// compiled, but not evaluated.
#[cfg(feature = "check")]
#[macro_export]
macro_rules! label {
    ($name:literal, $object:expr $(, $($argument:tt)*)?) => {
        $crate::__private::label(&$object, ::core::format_args!($name $(, $($argument)*)?))
    };
}

/// Gives a controlled value a name inside a check. Without feature `check` it expands to nothing: the
/// arguments are compiled, but not evaluated.
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! label {
    ($name:literal, $object:expr $(, $($argument:tt)*)?) => {
        if false {
            let _ = (&$object, ::core::format_args!($name $(, $($argument)*)?));
        }
    };
}

#[cfg(all(test, not(feature = "check")))]
mod tests {
    fn never() -> u8 {
        panic!("it is not evaluated")
    }

    #[test]
    fn arguments_are_compiled_and_not_evaluated() {
        let (lock, number) = (std::sync::Mutex::new(String::new()), 3);
        label!("lock", &lock);
        label!("lock {number}", lock);
        label!(
            "lock {} of {all}",
            lock.lock().unwrap().clone(),
            never(),
            all = 2
        );
        drop(lock);
    }
}
