//! The reports of races: the text of the book, the data of JSON, levels, replays and samplers.

use raddle::{Checker, FailureKind, Level, Strategy};

use super::world::{Part, World, accesses, checker, found, run};
use super::{account, cache};

#[test]
fn the_book_shows_what_is_printed() {
    let page = include_str!("../../../docs/src/race-classes.md");
    let sources = [include_str!("cache.rs"), include_str!("account.rs")];
    let programs: [fn(); 2] = [cache::program, account::program];
    for (source, program) in sources.into_iter().zip(programs) {
        let report = Checker::new()
            .predictions(Level::Warn)
            .page(false)
            .run(program);
        let message = &report.failures[0].message;
        for line in message.lines() {
            let line = line.replace("tests/tests/race_classes/", "src/");
            assert!(
                page.contains(line.trim()),
                "the page has no line `{line}`\n{report}"
            );
        }
        let start = source.find("    fn ").expect("it has a method");
        let end = source.find("pub fn program").expect("it has a program");
        assert!(
            page.contains(&source[start..end]),
            "the page has no method like\n{}",
            &source[start..end]
        );
    }
}

fn count(w: &World) {
    raddle::atomic_block!("count", {
        let old = w.get('a');
        w.set('a', old + 1);
        old
    });
}

const COUNT: &[Part] = &[count, count];

fn program() {
    run(|_| (), COUNT, |_| ());
}

#[test]
fn a_race_is_data_and_text() {
    let report = checker().run(program);
    let failure = &report.failures[0];
    let race = failure.race.as_ref().expect("the race is named");
    assert_eq!(race.kind, FailureKind::BlockRace);
    assert_eq!(race.block.as_deref(), Some("count"));
    let in_block: Vec<_> = race.accesses.iter().map(|access| access.in_block).collect();
    assert_eq!(in_block, [true, false, true]);
    let lines: Vec<_> = race
        .accesses
        .iter()
        .map(|it| it.place.as_ref().unwrap().line)
        .collect();
    assert_eq!(lines[0] + 1, lines[2]);
    // Each access is a line to look at, and that of the other thread is the place of the failure.
    let primary: Vec<_> = failure.marks.iter().map(|mark| mark.is_primary).collect();
    assert!(
        primary.contains(&true) && primary.contains(&false),
        "{:?}",
        failure.marks
    );

    let json: serde_json::Value = serde_json::from_str(&raddle_report::to_json(&report)).unwrap();
    let json = &json["failures"][0];
    assert_eq!(json["kind"], "BlockRace");
    assert_eq!(json["race"]["accesses"][1]["writes"], true);
    assert_eq!(json["race"]["accesses"].as_array().unwrap().len(), 3);
    // The page shows the message and the marks.
    let page = raddle_report::html::page(&raddle_report::to_json(&report));
    assert!(page.contains("no serial order of the blocks") && page.contains("writes a here"));
}

#[test]
fn the_level_is_that_of_races_without_confirmation_only() {
    for level in [Level::Warn, Level::Deny] {
        let report = Checker::new().predictions(level).page(false).run(program);
        assert_eq!(report.failures[0].kind, FailureKind::BlockRace, "{report}");
    }
    let off = Checker::new().predictions(Level::Allow).run(program);
    assert!(found(&off).is_empty(), "{off}");
}

#[test]
fn a_confirmed_race_is_replayed() {
    let first = checker().run(program);
    let failure = &first.failures[0];
    let replay = checker().strategy(Strategy::Replay(failure.schedule.clone()));
    let again = replay.run(program);
    assert_eq!(again.failures[0].kind, FailureKind::BlockRace, "{again}");
    assert_eq!(accesses(&again.failures[0]), accesses(failure));
    assert_eq!(again.failures[0].message, failure.message);
    let token: raddle::Schedule = failure.schedule.to_token().parse().unwrap();
    let again = checker().strategy(Strategy::Replay(token)).run(program);
    assert_eq!(again.failures[0].message, failure.message);
}

#[test]
fn samplers_predict_and_confirm_at_once() {
    for strategy in [
        Strategy::Random,
        Strategy::Pct { depth: 3 },
        Strategy::Exhaustive,
    ] {
        let checker = checker().strategy(strategy).max_executions(5_000);
        let report = checker.run(program);
        assert_eq!(report.failures[0].kind, FailureKind::BlockRace, "{report}");
        assert!(report.runs() < 100, "{} runs", report.runs());
    }
}

#[test]
fn a_set_is_the_values_in_a_struct() {
    struct Pair {
        first: raddle::sync::atomic::AtomicU32,
        second: raddle::sync::atomic::AtomicU32,
    }
    use raddle::sync::Arc;
    use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    let report = checker().run(|| {
        let pair = Arc::new(Pair {
            first: AtomicU32::new(0),
            second: AtomicU32::new(0),
        });
        raddle::data_set!("pair", struct pair);
        let other = Arc::clone(&pair);
        let thread = raddle::thread::spawn(move || {
            if other.first.load(SeqCst) == 0 {
                other.second.store(1, SeqCst);
            }
        });
        if pair.second.load(SeqCst) == 0 {
            pair.first.store(1, SeqCst);
        }
        thread.join().unwrap();
        assert!(pair.first.load(SeqCst) + pair.second.load(SeqCst) < 2);
    });
    let race = report.failures[0].race.as_ref().expect("the race is named");
    assert_eq!(
        (race.kind, race.set.as_deref()),
        (FailureKind::MultiDataRace, Some("pair"))
    );
}

#[test]
fn blocks_within_blocks_and_without_names_are_blocks() {
    fn nested(w: &World) {
        raddle::atomic_block!({
            let old = raddle::atomic_block!("inner", { w.get('a') });
            w.set('a', old + 1);
            old
        });
    }
    let report = checker().run(|| run(|_| (), &[nested, nested], |_| ()));
    assert_eq!(report.failures[0].kind, FailureKind::BlockRace, "{report}");
    assert!(
        report.failures[0].message.starts_with("the block at "),
        "{report}"
    );
}

#[test]
fn a_block_that_is_left_early_has_no_value() {
    fn leaves(w: &World) -> Option<i32> {
        raddle::atomic_block!("leaves", {
            let old = w.get('a');
            w.set('a', old + 1);
            if old < 10 {
                return Some(old);
            }
            old
        });
        None
    }
    let part: Part = |w| _ = leaves(w);
    let report = checker().run(move || run(|_| (), &[part, part], |_| ()));
    assert!(report.failures.is_empty(), "{report}");
    assert!(
        report
            .warnings
            .iter()
            .all(|one| one.kind == FailureKind::UnconfirmedRace)
    );
}
