//! The attribute: its arguments in the first line, then the item it stands at.

use proc_macro2::TokenStream;

use crate::expand::{expand, expand_or_report};

/// Expands the attribute. What comes out of an item that is Rust is Rust.
pub fn attribute(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (arguments, item) = text.split_once('\n').unwrap_or((text, "fn name() {}"));
    let tokens = |text: &str| text.parse::<TokenStream>().ok();
    let (Some(arguments), Some(item)) = (tokens(arguments), tokens(item)) else {
        return;
    };
    let is_rust = syn::parse2::<syn::Item>(item.clone()).is_ok();
    let expanded = expand_or_report(arguments.clone(), item.clone());
    if is_rust {
        let expanded = syn::parse2::<syn::File>(expanded);
        assert!(expanded.is_ok(), "the expansion is not Rust");
    }
    if let Err(error) = expand(arguments, item) {
        error
            .into_iter()
            .for_each(|error| crate::assert_told(&error));
    }
}
