//! Expansions of the attribute, and its errors.

use proc_macro2::TokenStream;

use crate::expand::expand;

mod expansion;
mod function_errors;
mod option_errors;

fn tokens(source: &str) -> TokenStream {
    source
        .parse()
        .expect("the source of the test consists of tokens")
}

fn pretty(arguments: &str, item: &str) -> String {
    let expansion = expand(tokens(arguments), tokens(item)).expect("the source is valid");
    prettyplease::unparse(&syn::parse2(expansion).expect("the expansion consists of items"))
}

/// Each error as the piece of source it points at and its message.
fn errors(arguments: &str, item: &str) -> Vec<(String, String)> {
    let error = expand(tokens(arguments), tokens(item)).expect_err("the source is invalid");
    let describe = |error: syn::Error| {
        (
            error.span().source_text().unwrap_or_default(),
            error.to_string(),
        )
    };
    error.into_iter().map(describe).collect()
}

#[track_caller]
fn assert_options_error(arguments: &str, place: &str, message: &str) {
    assert_eq!(
        errors(arguments, "fn name() {}"),
        [(place.to_owned(), message.to_owned())]
    );
}

#[track_caller]
fn assert_function_error(item: &str, place: &str, message: &str) {
    assert_eq!(errors("", item), [(place.to_owned(), message.to_owned())]);
}
