//! From options and a function to the test that `cargo test` runs.
//!
//! The user's function moves, unchanged, into a function of the same name that has the plain test
//! attribute and hands it to `raddle`. Every path is absolute, so nothing in the user's scope can
//! capture one, and every token the user wrote keeps its span.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::function::TestFunction;
use crate::options::{Call, Options};

/// The expansion, or the errors followed by the item as it was: keeping the item spares the user
/// errors about names that are missing only because the macro failed.
pub fn expand_or_report(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item.clone()).unwrap_or_else(|error| {
        let errors = error.into_compile_error();
        quote!(#errors #item)
    })
}

/// The expansion, or everything that is wrong with the options and the function.
pub fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    match (syn::parse2(arguments), syn::parse2(item)) {
        (Ok(options), Ok(function)) => Ok(test(&options, &function)),
        (Err(mut in_options), Err(in_function)) => {
            in_options.combine(in_function);
            Err(in_options)
        }
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
}

fn test(options: &Options, function: &TestFunction) -> TokenStream {
    let TestFunction {
        attributes,
        visibility,
        signature,
        body,
    } = function;
    let (fn_token, name) = (&signature.fn_token, &signature.ident);
    let raddle = options
        .crate_path
        .clone()
        .unwrap_or_else(|| quote!(::raddle));
    let configure = configuration(options);
    quote! {
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility #fn_token #name() {
            #signature #body
            #raddle::__private::test(
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name)),
                #configure,
                #name,
            );
        }
    }
}

fn configuration(options: &Options) -> impl ToTokens {
    // Mixed-site: an option's value is the user's expression, and must not see this name.
    let checker = Ident::new("checker", Span::mixed_site());
    let calls = options
        .calls
        .iter()
        .map(|Call { setter, value }| quote!(.#setter(#value)));
    quote!(|#checker| #checker #(#calls)*)
}
