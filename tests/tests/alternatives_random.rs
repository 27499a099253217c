//! What receives could have seen, on random programs: everything that some schedule shows is offered,
//! and nothing else.

use fastrand::Rng;
use raddle::{Alternative, AlternativeChoice, AlternativeList, Checker, Memory, Report, Strategy};
use raddle_engine::alternatives;
use raddle_tests::alternatives::{Counts, compared};
use raddle_tests::random_objects;
use raddle_tests::random_program::Program;
use raddle_tests::suite::{Suite, Verdict};

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 5_000;

fn add(sum: &mut Counts, counts: Counts) {
    sum.classes += counts.classes;
    sum.receives += counts.receives;
    sum.alternatives += counts.alternatives;
    sum.undecided += counts.undecided;
}

/// A random program in which none of these words is.
fn random_without(words: &[&str], rng: &mut Rng) -> Program {
    loop {
        let program = Program::random(rng);
        let text = format!("{program:?}");
        if !words.iter().any(|word| text.contains(word)) {
            return program;
        }
    }
}

/// What a program may see, if it is small enough to be run whole.
fn offered(checker: &Checker, program: &Program) -> Option<AlternativeList> {
    let limited = checker.clone().max_executions(500);
    let alternatives = limited.alternatives(|| program.run_named());
    alternatives.report.exhausted.then_some(alternatives)
}

/// Runs an alternative of a program.
fn directed(checker: &Checker, program: &Program, alternative: &Alternative) -> Report {
    let directed = checker
        .clone()
        .strategy(Strategy::Directed(alternative.clone()));
    directed.run(|| program.run_named())
}

/// AlternativeList that were asked for, of which it was known whether they are possible.
#[derive(Debug, Default)]
struct Asked {
    possible: u64,
    impossible: u64,
    runs: u64,
}

impl Asked {
    fn ask(
        &mut self,
        checker: &Checker,
        program: &Program,
        alternative: &Alternative,
        expected: bool,
    ) {
        let report = directed(checker, program, alternative);
        assert_eq!(report.executions == 1, expected, "{alternative}: {report}");
        assert_eq!(report.impossible(), !expected, "{alternative}: {report}");
        self.possible += u64::from(expected);
        self.impossible += u64::from(!expected);
        self.runs += report.executions + report.attempts;
    }

    /// That says something only if there were some of both.
    fn conclude(self) {
        println!("{self:?}");
        assert!(self.possible > 20 && self.impossible > 20);
    }
}

/// A check without writers that keep readers out: whether one can come by then is left undecided.
fn checker(program: &Program) -> Checker {
    program.checker(Strategy::Auto).waiting_writers(false)
}

#[test]
fn what_is_offered_is_what_happens() {
    let mut sum = Counts::default();
    // What does not count cannot show what is possible.
    let draw = |rng: &mut Rng| random_without(&["Assume"], rng);
    let suite = Suite::new(50, 1);
    suite.run(draw, |program, _| {
        let checker = checker(program);
        let counts = compared(&checker, program.memory, MAX_SCHEDULES, || program.run());
        counts.map(|counts| add(&mut sum, counts)).into()
    });
    println!("{sum:?}");
    assert!(
        sum.alternatives > sum.receives,
        "some receives have a choice"
    );
    assert!(
        sum.undecided > 0 || !suite.is_usual(),
        "some alternatives need a guess"
    );
}

#[test]
fn what_is_offered_is_what_happens_to_the_rarer_primitives() {
    let mut sum = Counts::default();
    Suite::new(25, 2).run(random_objects::Program::random, |program, _| {
        let counts = compared(&Checker::new(), Memory::Sc, MAX_SCHEDULES, || program.run());
        counts.map(|counts| add(&mut sum, counts)).into()
    });
    println!("{sum:?}");
    assert!(
        sum.alternatives > sum.receives,
        "some receives have a choice"
    );
}

#[test]
fn what_is_offered_can_be_run() {
    let (mut asked, mut at_once, mut attempts) = (0, 0, 0);
    // What does not count cannot be run.
    let draw = |rng: &mut Rng| random_without(&["Assume"], rng);
    Suite::new(30, 3).run(draw, |program, rng| {
        let checker = checker(program).shorten(false);
        let Some(alternatives) = offered(&checker, program) else {
            return Verdict::Skipped;
        };
        let open: Vec<_> = alternatives
            .open()
            .flat_map(|one| one.alternatives())
            .collect();
        for _ in 0..open.len().min(8) {
            let alternative = rng.choice(&open).expect("not empty");
            let report = directed(&checker, program, alternative);
            assert_eq!(report.executions, 1, "{alternative}: {report}");
            asked += 1;
            at_once += u64::from(report.attempts == 0);
            attempts += report.attempts;
        }
        Verdict::Agreed
    });
    println!("{asked} alternatives, {at_once} in one run, {attempts} attempts besides");
    assert!(at_once * 5 > asked * 4, "{at_once} of {asked} take one run");
}

#[test]
fn what_is_not_offered_is_impossible() {
    let mut asked = Asked::default();
    let draw = |rng: &mut Rng| random_without(&["Assume"], rng);
    Suite::new(30, 5).run(draw, |program, rng| {
        let checker = checker(program).shorten(false);
        let Some(alternatives) = offered(&checker, program) else {
            return Verdict::Skipped;
        };
        let receives = &alternatives.receives;
        let known: Vec<_> = receives.iter().flat_map(|one| &one.terms).collect();
        // A receive is to see what another one sees.
        for _ in 0..4 {
            let (Some(one), Some(other)) = (rng.choice(receives), rng.choice(&known)) else {
                break;
            };
            let choice = AlternativeChoice {
                receive: one.receive.clone(),
                sees: other.sees.clone(),
                outcome: None,
            };
            if choice.sees.is_none() || one.terms[0].sees.is_none() {
                continue;
            }
            let expected = (one.terms.iter()).any(|term| term.sees == choice.sees);
            let alternative = Alternative::new().with(choice);
            asked.ask(&checker, program, &alternative, expected);
        }
        Verdict::Agreed
    });
    asked.conclude();
}

#[test]
fn several_receives_see_what_they_see_in_one_execution_and_nothing_else() {
    let mut asked = Asked::default();
    // What does not count cannot be run; and what parks has no name.
    let draw = |rng: &mut Rng| random_without(&["Assume", "ark"], rng);
    Suite::new(30, 8).run(draw, |program, rng| {
        let checker = program.checker(Strategy::Exhaustive).shorten(false);
        let mut executions: Vec<Vec<AlternativeChoice>> = Vec::new();
        let report = raddle::__private::run_observed(
            checker.clone().max_executions(500),
            || program.run_named(),
            &mut |execution| {
                let all = alternatives::as_seen(execution).into_iter();
                let all = all.map(|one| {
                    alternatives::choice(execution, one.position, one.alternatives[0]).unwrap()
                });
                executions.push(all.collect());
            },
        );
        if !report.exhausted || executions.len() < 2 {
            return Verdict::Skipped;
        }
        for _ in 0..6 {
            let (one, other) = (rng.choice(&executions), rng.choice(&executions));
            let mut alternative = Alternative::new();
            for from in [one, one, other] {
                if let Some(choice) = rng.choice(from.unwrap()) {
                    alternative = alternative.with(choice.clone());
                }
            }
            let has_all = |execution: &Vec<AlternativeChoice>| {
                let mut wanted = alternative.choices().iter();
                wanted.all(|choice| execution.iter().any(|seen| is_as(choice, seen)))
            };
            let expected = executions.iter().any(has_all);
            asked.ask(&checker, program, &alternative, expected);
        }
        Verdict::Agreed
    });
    asked.conclude();
}

/// Whether that is what was asked for, where what is not said is free.
fn is_as(choice: &AlternativeChoice, seen: &AlternativeChoice) -> bool {
    choice.receive == seen.receive
        && (choice.sees.is_none() || choice.sees == seen.sees)
        && (choice.outcome.is_none() || choice.outcome.unwrap_or(0) == seen.outcome.unwrap_or(0))
}

/// Reads twice where no writer ever comes.
#[test]
fn that_a_writer_comes_first_is_offered_to_no_reader() {
    let mut answers = 0;
    let program = || {
        let lock = raddle::sync::RwLock::new(0);
        let outer = lock.read().unwrap();
        drop((lock.read().unwrap(), outer));
    };
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    raddle::__private::run_observed(checker, program, &mut |execution| {
        for receive in alternatives::of(execution, raddle_engine::memory::Model::Sc) {
            let operation = &execution.events[receive.position].operation;
            if matches!(operation, raddle_engine::Operation::Chance { .. }) {
                let is_yes = |one: &alternatives::Candidate| one.outcome.is_yes();
                assert!(!receive.alternatives.iter().any(is_yes), "{receive:?}");
                assert!(receive.undecided.iter().any(is_yes), "{receive:?}");
                answers += 1;
            }
        }
    });
    assert_eq!(answers, 1);
}
