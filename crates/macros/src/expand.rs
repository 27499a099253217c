//! Expands options and a function into a test for `cargo test`.
//!
//! The user's function moves, unchanged, into a function of the same name that has the plain test
//! attribute and passes it to `raddle`; the future of an `async` function is run by `block_on`. Every path is absolute, so that no item in the user's scope can
//! shadow it, and every token of the user keeps its span.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

use crate::function::TestFunction;
use crate::options::{Call, Options};

/// The expansion, or the errors followed by the unchanged item. Without the item, the compiler would also
/// report the missing name.
pub fn expand_or_report(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item.clone()).unwrap_or_else(|error| {
        let errors = error.into_compile_error();
        quote!(#errors #item)
    })
}

/// The expansion, or all errors in the options and the function.
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
    let body_of_check = match signature.asyncness {
        Some(_) => quote!(|| #raddle::future::block_on(#name())),
        None => quote!(#name),
    };
    quote! {
        #[::core::prelude::v1::test]
        #(#attributes)*
        #visibility #fn_token #name() {
            #signature #body
            #raddle::__private::test(
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name)),
                #configure,
                #body_of_check,
            );
        }
    }
}

fn configuration(options: &Options) -> impl ToTokens {
    // Mixed-site hygiene hides this name from the values, which are expressions of the user.
    let checker = Ident::new("checker", Span::mixed_site());
    let calls = options
        .calls
        .iter()
        .map(|Call { setter, arguments }| quote!(.#setter(#arguments)));
    quote!(|#checker| #checker #(#calls)*)
}
