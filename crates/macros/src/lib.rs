//! The attribute behind `#[raddle::test]`.
//!
//! Use it through the `raddle` crate, which re-exports it and has the functions that expansions call. The
//! attribute names the test and turns its options into calls of `Checker`'s setters. `raddle` interprets the
//! values, so invalid strings are reported when the test runs.

use proc_macro::TokenStream;

mod expand;
mod faults;
mod function;
mod options;
#[cfg(test)]
mod tests;

/// Turns a function into a test that runs under many schedules.
///
/// ```ignore
/// #[raddle::test(strategy = "exhaustive", max_time = "20s")]
/// fn counter_is_not_lost() {
///     // Runs once for each schedule of the strategy.
/// }
/// ```
///
/// The function takes no parameters and may have the return types of ordinary tests, such as `Result`. Other
/// attributes (`#[should_panic]`, `#[ignore]`, `#[cfg(..)]`) keep their meaning.
///
/// # Options
///
/// Each may be given once.
///
/// | option | value | meaning |
/// | --- | --- | --- |
/// | `strategy` | string | exploration strategy, such as `"exhaustive"` or `"random"` |
/// | `max_executions` | integer | maximum number of executions |
/// | `max_time` | string | time limit: `"500ms"`, `"20s"`, `"2m"`, `"1h"` |
/// | `max_events` | integer | maximum number of events of one execution |
/// | `seed` | integer | seed of the random strategies |
/// | `workers` | integer | number of OS threads that run executions |
/// | `memory` | string | memory model: `"sc"` or `"rc11"` |
/// | `classes` | string | equivalence of executions: `"reads-from"` ignores unobserved coherence orders |
/// | `preemptions` | integer | explore only classes that need at most this number of preemptions |
/// | `verify_completeness` | `true` or `false` | also enumerate every schedule, and compare the classes |
/// | `keep_going` | `true` or `false` | collect distinct failures instead of stopping at the first |
/// | `spurious_wakeups` | `true` or `false` | explore spurious wake-ups of `Condvar` and `park` |
/// | `timeouts` | `true` or `false` | explore expiring timeouts |
/// | `weak_cas` | `true` or `false` | explore spurious failures of `compare_exchange_weak` |
/// | `known_schedules` | `true` or `false` | run schedules of earlier failures first |
/// | `lock_order` | `"allow"`, `"warn"`, `"deny"` | level of locks that are acquired in different orders |
/// | `leaks` | `"allow"`, `"warn"`, `"deny"` | level of messages that are never received |
/// | `coverage` | `true` or `false` | measure coverage |
/// | `remember` | `true` or `false` | record runs, and continue from recorded ones |
/// | `shorten` | `true` or `false` | minimise the schedule of a failure |
/// | `page` | `true` or `false` | write an HTML page for a failure |
/// | `watchdog` | string | maximum time without a scheduling point; `"0s"` disables the watchdog |
/// | `reduce` | string | reductions of the search: `"symmetry"`, `"releases"`, or both with a comma |
/// | `stack_size` | integer expression | stack size of each thread of the test in bytes |
/// | `crate` | path | path of `raddle` in a crate that renames or re-exports it |
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand_or_report(arguments.into(), item.into()).into()
}
