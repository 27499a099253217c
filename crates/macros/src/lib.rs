//! The attribute behind `#[raddle::test]`.
//!
//! Use it through the `raddle` crate, which re-exports it and has the functions that expansions call. The
//! attribute names the test and turns its options, which come from the table of `raddle-settings`, into calls of
//! `Checker`'s setters. Names of strategies are reported when the test runs, because `raddle` interprets them.

use proc_macro::TokenStream;

mod expand;
mod faults;
mod function;
mod options;
#[cfg(test)]
mod tests;
mod tokio;

macro_rules! attribute {
    (
        checks {$(
            #[doc = $summary:literal] $(#[doc = $more:literal])*
            $name:ident $(($($argument:tt)*))?: $field:ty = $initial:expr
                $(, then $other:ident = $then:expr)?;
            {
                kind: $kind:expr,
                option: $(is($example:literal))? $(not($why_not:literal))?,
                $($details:tt)*
            }
        )*}
        native $native:tt
    ) => {
        /// Turns a function into a test that runs under many schedules.
        ///
        /// ```ignore
        /// #[raddle::test(strategy = "exhaustive", max_time = "20s")]
        /// fn counter_is_not_lost() {
        ///     // Runs once for each schedule of the strategy.
        /// }
        /// ```
        ///
        /// The function takes no parameters and may have the return types of ordinary tests, such as `Result`.
        /// Other attributes (`#[should_panic]`, `#[ignore]`, `#[cfg(..)]`) keep their meaning.
        ///
        /// # Options
        ///
        /// Each may be given once.
        ///
        /// | option | meaning |
        /// | --- | --- |
        $($(#[doc = concat!("| `", stringify!($name), " = ", $example, "` |", $summary, " |")])?)*
        /// | `crate = my_raddle` | Path of `raddle` in a crate that renames or re-exports it. |
        #[proc_macro_attribute]
        pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
            expand::expand_or_report(arguments.into(), item.into()).into()
        }
    };
}

raddle_settings::settings!(attribute);

/// For `raddle-tokio`, which re-exports it as `test`: turns an `async` function into a check.
///
/// The options are those of `#[raddle::test]`. Those of tokio's attribute that choose a runtime are accepted and have
/// no effect. With `uncontrolled` the test is an ordinary one of tokio.
#[proc_macro_attribute]
pub fn tokio_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tokio::expand(arguments.into(), item.into()).into()
}
