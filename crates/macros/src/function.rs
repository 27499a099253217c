//! The function under the attribute, and the errors if it cannot be a test.
//!
//! The body is kept as tokens, so that syntax newer than the parser passes through.

use proc_macro2::Group;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Safety, Signature, Token, Visibility, token};

use crate::faults::Faults;

/// A function that can be a test: no parameters, no generics, no qualifier but `async`.
pub struct TestFunction {
    pub attributes: Vec<Attribute>,
    pub visibility: Visibility,
    pub signature: Signature,
    pub body: Group,
}

impl Parse for TestFunction {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        if !starts_a_signature(input) {
            return Err(input.error("`#[raddle::test]` goes on a function: `fn name() { .. }`"));
        }
        let signature = input.parse()?;
        if !input.peek(token::Brace) {
            return Err(input.error("a raddle test needs a body: `{ .. }`"));
        }
        let body = input.parse()?;
        let function = Self {
            attributes,
            visibility,
            signature,
            body,
        };
        function.faults().unless_any(function)
    }
}

fn starts_a_signature(input: ParseStream) -> bool {
    input.peek(Token![fn])
        || input.peek(Token![const])
        || input.peek(Token![async])
        || input.peek(Token![unsafe])
        || input.peek(Token![extern])
}

impl TestFunction {
    fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        self.check_attributes(&mut faults);
        self.check_qualifiers(&mut faults);
        self.check_parameters(&mut faults);
        faults
    }

    fn check_attributes(&self, faults: &mut Faults) {
        for attribute in &self.attributes {
            let segments = &attribute.path().segments;
            if segments.last().is_some_and(|last| last.ident == "test") {
                faults.add(
                    attribute,
                    "`#[raddle::test]` is a test attribute: remove this one",
                );
            }
        }
    }

    fn check_qualifiers(&self, faults: &mut Faults) {
        faults.add_if_present(
            &self.signature.constness,
            "a raddle test cannot be `const`: remove the keyword",
        );
        if let Safety::Unsafe(keyword) = &self.signature.safety {
            faults.add(
                keyword,
                "a raddle test cannot be `unsafe`: remove the keyword and use an `unsafe` block in \
                 the body",
            );
        }
        faults.add_if_present(
            &self.signature.abi,
            "a raddle test cannot be `extern`: remove the keyword",
        );
    }

    fn check_parameters(&self, faults: &mut Faults) {
        let generics = &self.signature.generics;
        if !generics.params.is_empty() {
            faults.add(
                generics,
                "a raddle test cannot be generic: remove the parameters, and call a generic \
                 function from the test instead",
            );
        }
        faults.add_if_present(
            &generics.where_clause,
            "a raddle test cannot have a `where` clause: remove it",
        );
        if !self.signature.inputs.is_empty() {
            faults.add(
                &self.signature.inputs,
                "a raddle test takes no parameters: create its values in the body",
            );
        }
    }
}
