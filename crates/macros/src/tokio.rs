//! The attribute behind `#[tokio::test]` of `raddle-tokio`.
//!
//! Options of tokio's attribute that choose a runtime have no effect in a check, which has no runtime. All others
//! are those of `#[raddle::test]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, Token};

use crate::expand::expand_or_report;

/// Options of tokio's attribute that have no effect in a check.
const OF_RUNTIMES: [&str; 4] = [
    "flavor",
    "worker_threads",
    "start_paused",
    "unhandled_panic",
];

/// The option by which a test is an ordinary one.
const UNCONTROLLED: &str = "uncontrolled";

/// Expands the attribute.
pub fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let options = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(arguments);
    let options = match options {
        Ok(options) => options,
        Err(error) => {
            let error = error.into_compile_error();
            return quote!(#error #item);
        }
    };
    let name_of = |option: &Expr| match option {
        Expr::Assign(assignment) => assignment.left.to_token_stream().to_string(),
        other => other.to_token_stream().to_string(),
    };
    let is_runtime = |option: &Expr| OF_RUNTIMES.contains(&name_of(option).as_str());
    if options.iter().any(|option| name_of(option) == UNCONTROLLED) {
        let left = options
            .iter()
            .filter(|option| name_of(option) != UNCONTROLLED);
        return quote!(#[::tokio::__private::uncontrolled_test(#(#left),*)] #item);
    }
    let settings = options.iter().filter(|option| !is_runtime(option));
    let settings = quote!(#(#settings,)* crate = ::tokio::__private::raddle);
    expand_or_report(settings, item)
}
