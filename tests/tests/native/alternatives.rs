//! Alternatives of programs in C: they have the names that stories have.

use serde_json::Value;

use crate::support::{EXHAUSTIVE, build, folder, run};

/// The alternatives that the page of the lost update has commands for.
fn on_the_page() -> Vec<String> {
    let program = build("lost_update.c", "alternatives");
    let pages = folder("alternatives").join("pages");
    let pages = pages.to_str().unwrap();
    run(&program, &[], &[EXHAUSTIVE, ("RADDLE_REPORT", pages)]).exits(1);
    let page = format!("{pages}/lost_update/test/report.json");
    let json = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{page}: {error}"));
    let data: Value = serde_json::from_str(&json).unwrap();
    let receives = data["report"]["failures"][0]["receives"].as_array();
    let sources = receives.unwrap().iter().flat_map(|receive| {
        let sources = receive["sources"].as_array();
        sources.unwrap().iter()
    });
    let commands = sources.filter_map(|source| source["command"].as_str());
    let alternatives = commands.map(|command| {
        let after = command.split("directed: ").nth(1).unwrap();
        after.split('\'').next().unwrap().to_owned()
    });
    let mut alternatives: Vec<String> = alternatives.collect();
    alternatives.sort();
    alternatives
}

#[test]
fn alternatives_in_c_have_the_names_of_the_story() {
    let alternatives = on_the_page();
    let expected = [
        "main counter 0 sees main.1 counter 0",
        "main counter 0 sees main.2 counter 0",
        "main.1 counter 0 sees initial",
        "main.1 counter 0 sees main.2 counter 0",
        "main.2 counter 0 sees initial",
        "main.2 counter 0 sees main.1 counter 0",
    ];
    assert_eq!(alternatives, expected);
}

#[test]
fn an_alternative_in_c_is_run_by_names_and_by_kinds() {
    let program = build("deadlock.c", "alternatives-run");
    let directed = |alternative: &str| {
        let strategy = format!("directed: {alternative}");
        run(&program, &[], &[("RADDLE_STRATEGY", &strategy)])
    };
    // main.2 takes `left` after main.1 has released it: no deadlock.
    for order in [
        "main.2 lock(left) 0 sees main.1 unlock(left) 0",
        "main.2 lock(mutex#1) 0 sees main.1 unlock(mutex#1) 0",
        "main.2 left 0 sees main.1 left 0",
    ] {
        directed(order).exits(0).says("the alternative was run");
    }
    // A name that nothing has.
    directed("main.2 lock(middle) 0 sees initial")
        .exits(1)
        .says("`main.2 lock(middle) 0` never happens")
        .says("left");
    directed("main.2 lock(mutex#3) 0 sees initial")
        .exits(1)
        .says("`main.2 lock(mutex#3) 0` never happens");
}
