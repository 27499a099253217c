//! The attribute behind `#[raddle::test]`.
//!
//! Use it through the `raddle` crate, which re-exports it and provides the functions that the
//! expansion calls. The attribute only rewrites the function: it names the test and turns its
//! options into calls of `Checker`'s setters. What an option means is `raddle`'s business, so the
//! values of strings are checked there, when the test runs.

use proc_macro::TokenStream;

mod expand;
mod faults;
mod function;
mod options;
#[cfg(test)]
mod tests;

/// Makes a function a test that is checked under many schedules.
///
/// ```ignore
/// #[raddle::test(strategy = "exhaustive", max_time = "20s")]
/// fn counter_is_not_lost() {
///     // Runs once for every schedule that the strategy picks.
/// }
/// ```
///
/// The function takes no parameters and may return whatever an ordinary test may, such as a
/// `Result`. Other attributes (`#[should_panic]`, `#[ignore]`, `#[cfg(..)]`) keep their meaning.
///
/// # Options
///
/// All are optional, and each may be given once.
///
/// | option | value | meaning |
/// | --- | --- | --- |
/// | `strategy` | string | how schedules are picked, as in `"exhaustive"` or `"random"` |
/// | `max_executions` | integer | stop after this many executions |
/// | `max_time` | string | stop after this long: `"500ms"`, `"20s"`, `"2m"`, `"1h"` |
/// | `max_events` | integer | an execution with more events than this is too long |
/// | `seed` | integer | where strategies that draw at random start |
/// | `memory` | string | the memory model: `"sc"` or `"rc11"` |
/// | `preemptions` | integer | run only classes that need no more preemptions than this |
/// | `verify_completeness` | `true` or `false` | whether to run every schedule as well and compare |
/// | `keep_going` | `true` or `false` | collect distinct failures instead of stopping at the first |
/// | `spurious_wakeups` | `true` or `false` | whether a thread may wake up from a `Condvar` or from `park` for no reason |
/// | `timeouts` | `true` or `false` | whether a wait with a time limit may run out |
/// | `weak_cas` | `true` or `false` | whether `compare_exchange_weak` may fail for no reason |
/// | `known_schedules` | `true` or `false` | whether schedules that have failed before run first |
/// | `lock_order` | `"allow"`, `"warn"`, `"deny"` | what becomes of locks taken in different orders |
/// | `leaks` | `"allow"`, `"warn"`, `"deny"` | what becomes of messages that nobody received |
/// | `shorten` | `true` or `false` | whether to look for a shorter story of a failure |
/// | `watchdog` | string | how long a thread may run without a scheduling point; `"0s"` is for ever |
/// | `reduce` | string | what to leave out: `"symmetry"`, `"releases"` or both, with a comma |
/// | `stack_size` | integer expression | bytes of stack for each thread of the test |
/// | `crate` | path | where `raddle` is, for a crate that renames or re-exports it |
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand_or_report(arguments.into(), item.into()).into()
}
