//! Errors about options.

use super::{assert_options_error, errors};

#[test]
fn an_unknown_name_lists_the_known_names() {
    let rows = raddle_settings::TABLE.iter();
    let names = rows.filter(|row| row.option.is_ok()).map(|row| row.name);
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    let list = format!("the options are {}, `crate`", names.join(", "));
    assert!(list.starts_with("the options are `strategy`, `max_executions`, `max_time`, "));
    let message = format!("unknown option `sed`; {list}");
    assert_options_error("strategy = \"pct\", sed = 7", "sed", &message);
    assert_options_error("sed", "sed", &message);
    assert_options_error("sed(7)", "sed", &message);
    assert_options_error("7", "7", &format!("expected an option; {list}"));
}

#[test]
fn a_name_needs_a_value() {
    let seed = "`seed` needs a value: write `seed = 7`";
    for arguments in ["seed", "seed(7)", "seed =", "seed = , memory = \"sc\""] {
        assert_options_error(arguments, "seed", seed);
    }
    let path = "`crate` needs a value: write `crate = my_raddle`";
    assert_options_error("crate", "crate", path);
}

#[test]
fn a_name_is_given_once() {
    let message = "`seed` is given twice: remove one";
    assert_options_error("seed = 1, seed = 2", "seed", message);
    let message = "`crate` is given twice: remove one";
    assert_options_error("crate = a, crate = b", "crate", message);
}

#[test]
fn a_value_of_the_wrong_kind_is_refused() {
    let (text, integer) = ("a string", "a non-negative integer");
    let expression = "an integer expression";
    for (option, value, kind, example) in [
        ("strategy", "pct", text, "\"exhaustive\""),
        ("max_time", "20", text, "\"20s\""),
        ("memory", "b\"sc\"", text, "\"rc11\""),
        ("leaks", "Level::Deny", text, "\"deny\""),
        ("watchdog", "30", text, "\"30s\""),
        ("reduce", "symmetry", text, "\"symmetry\""),
        ("seed", "\"7\"", integer, "7"),
        ("seed", "-7", integer, "7"),
        ("max_executions", "1.5", integer, "50_000"),
        ("max_events", "true", integer, "100_000"),
        ("preemptions", "-1", integer, "2"),
        ("verify_completeness", "1", "`true` or `false`", "true"),
        ("keep_going", "1", "`true` or `false`", "true"),
        ("coverage", "\"sync-pair\"", "`true` or `false`", "true"),
        ("remember", "1", "`true` or `false`", "true"),
        ("stack_size", "\"1M\"", expression, "256 * 1024"),
        ("crate", "7", "a path", "my_raddle"),
        ("crate", "\"not a path\"", "a path", "my_raddle"),
    ] {
        let message = format!("`{option}` takes {kind}: write `{option} = {example}`");
        assert_options_error(&format!("{option} = {value}"), value, &message);
    }
}

#[test]
fn a_value_that_the_setting_does_not_have_is_refused() {
    let level = "one of: allow, warn, deny";
    let time = "a time such as 500ms, 20s, 2m or 1h";
    for (option, value, allowed, example) in [
        ("leaks", "\"loud\"", level, "\"deny\""),
        ("watchdog", "\"soon\"", time, "\"30s\""),
        (
            "max_time",
            "\"20\"",
            &format!("{time}, of at least 1ms"),
            "\"20s\"",
        ),
        (
            "reduce",
            "\"symmetry; releases\"",
            "one of: symmetry, releases, paths, manners, or several with commas",
            "\"symmetry\"",
        ),
        ("workers", "0", "a whole number from 1 to 1024", "2"),
        (
            "max_executions",
            "0_0",
            "a whole number of at least 1",
            "50_000",
        ),
    ] {
        let message = format!("`{option}` takes {allowed}: write `{option} = {example}`");
        assert_options_error(&format!("{option} = {value}"), value, &message);
    }
}

#[test]
fn every_option_accepts_its_example() {
    for row in raddle_settings::TABLE {
        if let Ok(example) = row.option {
            super::pretty(&format!("{} = {example}", row.name), "fn name() {}");
        }
    }
}

#[test]
fn an_empty_string_is_refused() {
    for (option, example) in [
        ("strategy", "exhaustive"),
        ("max_time", "20s"),
        ("memory", "rc11"),
        ("leaks", "deny"),
        ("watchdog", "30s"),
    ] {
        let message =
            format!("`{option}` is empty: write `{option} = \"{example}\"`, or leave it out");
        assert_options_error(&format!("{option} = \"\""), "\"\"", &message);
        assert_options_error(&format!("{option} = \" \""), "\" \"", &message);
    }
}

#[test]
fn all_are_reported_at_once() {
    let found = errors("seed = \"7\", seed = 8, keep_going = 0", "struct Counter;");
    let places: Vec<_> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["\"7\"", "seed", "0", "struct"]);
}
