//! Errors about functions that cannot be a test.

use super::{assert_function_error, errors};

#[test]
fn only_a_function_with_a_body_can_be_a_test() {
    assert_function_error(
        "pub struct Counter;",
        "struct",
        "`#[raddle::test]` goes on a function: `fn name() { .. }`",
    );
    assert_function_error("fn name();", ";", "a raddle test needs a body: `{ .. }`");
}

#[test]
fn it_takes_no_parameters() {
    assert_function_error(
        "fn name(first: u8, second: u8) {}",
        "first: u8, second: u8",
        "a raddle test takes no parameters: create its values in the body",
    );
}

#[test]
fn it_is_not_generic() {
    let message = "a raddle test cannot be generic: remove the parameters, and call a generic \
                   function from the test instead";
    assert_function_error(
        "fn name<T, const N: usize>() {}",
        "<T, const N: usize>",
        message,
    );
    assert_function_error("fn name<'a>() {}", "<'a>", message);
    assert_function_error(
        "fn name() where u8: Copy {}",
        "where u8: Copy",
        "a raddle test cannot have a `where` clause: remove it",
    );
}

#[test]
fn it_has_no_qualifiers() {
    for (qualifier, advice) in [
        ("const", ""),
        ("unsafe", " and use an `unsafe` block in the body"),
        ("extern", ""),
    ] {
        assert_function_error(
            &format!("{qualifier} fn name() {{}}"),
            qualifier,
            &format!("a raddle test cannot be `{qualifier}`: remove the keyword{advice}"),
        );
    }
    assert_function_error(
        "extern \"C\" fn name() {}",
        "extern \"C\"",
        "a raddle test cannot be `extern`: remove the keyword",
    );
}

#[test]
fn it_has_one_test_attribute() {
    let message = "`#[raddle::test]` is a test attribute: remove this one";
    assert_function_error("#[test] fn name() {}", "#[test]", message);
    assert_function_error("#[tokio::test] fn name() {}", "#[tokio::test]", message);
}

#[test]
fn all_are_reported_at_once() {
    let found = errors(
        "",
        "#[test] const unsafe fn name<T>(value: T) where T: Copy {}",
    );
    let places: Vec<_> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(
        places,
        [
            "#[test]",
            "const",
            "unsafe",
            "<T>",
            "where T: Copy",
            "value: T"
        ]
    );
}
