//! The macros by which a program declares what must appear atomic and what belongs together.

/// Declares that a block of code must appear atomic: as if no other thread ran in its middle.
///
/// The macro evaluates to the value of the block. It synchronizes nothing: a check with
/// [`predictions`](crate::Checker::predictions) looks for uses of the block's data by other threads that come between
/// its own, and for executions in which the blocks have values that no serial order gives them. See the page
/// *Kinds of race* of the book.
///
/// ```
/// use raddle::sync::Mutex;
/// use std::collections::HashMap;
///
/// fn get(cache: &Mutex<HashMap<u32, u32>>, key: u32) -> u32 {
///     raddle::atomic_block!("get", {
///         let mut cache = cache.lock().unwrap();
///         *cache.entry(key).or_insert_with(|| key * key)
///     })
/// }
/// # assert_eq!(get(&Mutex::default(), 3), 9);
/// ```
///
/// The value is compared by its `Debug` text. A value without one, one whose text has an address in it (`0x`), and
/// that of a block that is left by `return`, `?` or a panic do not count. Without feature `check` the macro expands
/// to the block, and outside of a check it has no other effect.
#[cfg(feature = "check")]
#[macro_export]
macro_rules! atomic_block {
    ($name:literal, $block:block) => {{
        let entered = $crate::__private::Entered::new($name);
        let value = $block;
        entered.leave(|| {
            #[allow(unused_imports)]
            use $crate::__private::{WithDebug as _, WithoutDebug as _};
            (&$crate::__private::Value(&value)).text()
        });
        value
    }};
    ($block:block) => {
        $crate::atomic_block!("", $block)
    };
}

/// Declares that a block of code must appear atomic. Without feature `check` it expands to the block.
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! atomic_block {
    ($name:literal, $block:block) => {
        $block
    };
    ($block:block) => {
        $block
    };
}

/// Declares that controlled values belong together: a thread that uses several of them should see them in one state.
///
/// The values are locks, which stand for the data in them, atomics and cells, or all of these in a struct:
///
/// ```
/// use raddle::sync::{Arc, Mutex};
///
/// struct Account {
///     balance: Mutex<u32>,
///     debt: Mutex<u32>,
/// }
///
/// let account = Arc::new(Account { balance: Mutex::new(0), debt: Mutex::new(0) });
/// raddle::data_set!("account", &account.balance, &account.debt);
/// raddle::data_set!("account", struct account);
/// ```
///
/// A set holds for the running execution; declare it where the values are made. With `struct`, which takes a reference
/// or a pointer such as `Arc`, the struct must not move afterwards, and values behind pointers in it do not belong to
/// the set. Outside of a check the macro has no effect, and without feature `check` it expands to nothing: the arguments
/// are compiled, but not evaluated.
#[cfg(feature = "check")]
#[macro_export]
macro_rules! data_set {
    ($name:literal, struct $object:expr) => {
        $crate::__private::data_struct($name, &*$object)
    };
    ($name:literal, $($member:expr),+ $(,)?) => {
        $crate::__private::data_set($name, &[$(&$member as &dyn $crate::Labelled),+])
    };
}

/// Declares that controlled values belong together. Without feature `check` it expands to nothing: the arguments are
/// compiled, but not evaluated.
#[cfg(not(feature = "check"))]
#[macro_export]
macro_rules! data_set {
    ($name:literal, struct $object:expr) => {
        if false {
            let _ = &*$object;
        }
    };
    ($name:literal, $($member:expr),+ $(,)?) => {
        if false {
            let _ = ($(&$member),+);
        }
    };
}
