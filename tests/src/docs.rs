//! The pages of the book, so that `cargo test --doc` compiles and runs their code.
#![cfg(doctest)]

macro_rules! pages {
    ($($module:ident = $file:literal)*) => {$(
        #[doc = include_str!(concat!("../../docs/src/", $file))]
        mod $module {}
    )*};
}
pages! {
    introduction = "introduction.md"
    first_test = "first-test.md"
    tutorial = "tutorial.md"
    promises = "promises.md"
    samplers = "samplers.md"
    paths = "paths.md"
    chance = "chance.md"
    spinning = "spinning.md"
    failures = "failures.md"
    report = "report.md"
    gallery = "gallery.md"
    stories = "stories.md"
    replaying = "replaying.md"
    total_replay = "total-replay.md"
    alternatives = "alternatives.md"
    programs = "programs.md"
    memory = "memory.md"
    races = "races.md"
    linearizability = "linearizability.md"
    predictions = "predictions.md"
    reached = "reached.md"
    properties = "properties.md"
    branches = "branches.md"
    race_classes = "race-classes.md"
    coverage = "coverage.md"
    mutants = "mutants.md"
    between_runs = "between-runs.md"
    since = "since.md"
    many_machines = "many-machines.md"
    messages = "messages.md"
    async_programs = "async.md"
    native = "native.md"
    native_rust = "native-rust.md"
    adopting = "adopting.md"
    from_loom = "from-loom.md"
    from_shuttle = "from-shuttle.md"
    limits = "limits.md"
    primitives = "primitives.md"
    reference = "reference.md"
    frontier = "frontier.md"
    relevance = "relevance.md"
    numbers = "numbers.md"
    study = "study.md"
    hardening = "hardening.md"
    dependencies = "dependencies.md"
    architecture = "architecture.md"
}

#[doc = include_str!("../../README.md")]
mod readme {}

#[doc = include_str!("../../crates/runs/README.md")]
mod readme_of_runs {}
