//! Expansions of the attribute.

use super::{pretty, tokens};
use crate::expand::expand_or_report;

#[test]
fn without_options_the_checker_is_unchanged() {
    assert_eq!(
        pretty("", "fn counter() { work(); }"),
        r#"#[::core::prelude::v1::test]
fn counter() {
    fn counter() {
        work();
    }
    ::raddle::__private::test(
        ::core::concat!(::core::module_path!(), "::", ::core::stringify!(counter)),
        |checker| checker,
        counter,
    );
}
"#
    );
}

#[test]
fn the_future_of_an_async_function_is_run() {
    let expansion = pretty("crate = my::raddle", "async fn counter() { work().await; }");
    let body = "        || my::raddle::future::block_on(counter()),\n";
    assert!(expansion.contains(body), "{expansion}");
    assert!(
        expansion.contains("    async fn counter() {\n"),
        "{expansion}"
    );
}

#[test]
fn every_option_calls_its_setter_in_order() {
    let arguments = r#"
        strategy = "pct", max_executions = 50_000, max_time = "20s", max_events = 1_000,
        seed = 7, memory = "rc11", keep_going = true, spurious_wakeups = false, timeouts = false,
        weak_cas = false, waiting_writers = false, known_schedules = false, lock_order = "deny", leaks = "allow",
        shorten = false, watchdog = "1m", reduce = "symmetry, releases", stack_size = 256 * 1024,
        crate = my::raddle,
    "#;
    assert_eq!(
        pretty(arguments, "fn counter() {}"),
        r#"#[::core::prelude::v1::test]
fn counter() {
    fn counter() {}
    my::raddle::__private::test(
        ::core::concat!(::core::module_path!(), "::", ::core::stringify!(counter)),
        |checker| {
            checker
                .set_option("strategy", "pct")
                .max_executions(50_000)
                .set_option("max_time", "20s")
                .max_events(1_000)
                .seed(7)
                .set_option("memory", "rc11")
                .keep_going(true)
                .spurious_wakeups(false)
                .timeouts(false)
                .weak_cas(false)
                .waiting_writers(false)
                .known_schedules(false)
                .set_option("lock_order", "deny")
                .set_option("leaks", "allow")
                .shorten(false)
                .set_option("watchdog", "1m")
                .set_option("reduce", "symmetry, releases")
                .stack_size(256 * 1024)
        },
        counter,
    );
}
"#
    );
}

#[test]
fn attributes_and_visibility_go_outside_and_the_return_type_inside() {
    let item = r#"
        /// Why this is here.
        #[cfg(unix)] #[should_panic(expected = "lost")] #[ignore]
        pub(crate) fn counter() -> Result<(), Error> { Ok(()) }
    "#;
    assert_eq!(
        pretty("", item),
        r#"#[::core::prelude::v1::test]
/// Why this is here.
#[cfg(unix)]
#[should_panic(expected = "lost")]
#[ignore]
pub(crate) fn counter() {
    fn counter() -> Result<(), Error> {
        Ok(())
    }
    ::raddle::__private::test(
        ::core::concat!(::core::module_path!(), "::", ::core::stringify!(counter)),
        |checker| checker,
        counter,
    );
}
"#
    );
}

#[test]
fn the_crate_may_be_a_path_or_a_string() {
    for (written, path) in [
        ("my_raddle", "my_raddle"),
        ("::my::raddle", "::my::raddle"),
        ("\"my::raddle\"", "my::raddle"),
        ("crate", "crate"),
        ("\"crate\"", "crate"),
        ("super::raddle", "super::raddle"),
    ] {
        let expansion = pretty(&format!("crate = {written}"), "fn counter() {}");
        let call = format!("\n    {path}::__private::test(\n");
        assert!(expansion.contains(&call), "{written}: {expansion}");
    }
}

#[test]
fn parentheses_around_a_value_are_removed() {
    let expansion = pretty("seed = (7), stack_size = ((2 * KIB))", "fn counter() {}");
    let configuration = "|checker| checker.seed(7).stack_size(2 * KIB),";
    assert!(expansion.contains(configuration), "{expansion}");
}

#[test]
fn an_error_keeps_the_function() {
    let reported = expand_or_report(tokens("sed = 7"), tokens("fn counter() {}")).to_string();
    let errors = ":: core :: compile_error !";
    assert!(reported.starts_with(errors), "{reported}");
    assert!(reported.ends_with("fn counter () { }"), "{reported}");
}
