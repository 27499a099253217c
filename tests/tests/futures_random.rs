//! What receives could have seen, on random programs: everything that some schedule shows is offered,
//! and nothing else.
//!
//! `RADDLE_TEST_PROGRAMS` and `RADDLE_TEST_SEED` do what they do in `brute_force.rs`.

use fastrand::Rng;
use raddle::{Checker, Future, FutureChoice, Futures, Memory, Report, Strategy};
use raddle_engine::futures;
use raddle_tests::compare::{ShownOnPanic, setting};
use raddle_tests::futures::{Counts, compared};
use raddle_tests::random_objects;
use raddle_tests::random_program::Program;

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 5_000;

fn add(sum: &mut Counts, counts: Counts) {
    sum.classes += counts.classes;
    sum.receives += counts.receives;
    sum.alternatives += counts.alternatives;
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
fn offered(checker: &Checker, program: &Program) -> Option<Futures> {
    let limited = checker.clone().max_executions(500);
    let futures = limited.futures(|| program.run_named());
    futures.report.exhausted.then_some(futures)
}

/// Runs a future of a program.
fn directed(checker: &Checker, program: &Program, future: &Future) -> Report {
    let directed = checker.clone().strategy(Strategy::Directed(future.clone()));
    directed.run(|| program.run_named())
}

/// Futures that were asked for, of which it was known whether they are possible.
#[derive(Debug, Default)]
struct Asked {
    possible: u64,
    impossible: u64,
    runs: u64,
}

impl Asked {
    fn ask(&mut self, checker: &Checker, program: &Program, future: &Future, expected: bool) {
        let report = directed(checker, program, future);
        assert_eq!(report.executions == 1, expected, "{future}: {report}");
        assert_eq!(report.impossible(), !expected, "{future}: {report}");
        self.possible += u64::from(expected);
        self.impossible += u64::from(!expected);
        self.runs += report.executions + report.attempts;
    }

    /// That says something only if there were some of both.
    fn conclude(self, programs: u64) {
        println!("{programs} programs, {self:?}");
        assert!(self.possible > 20 && self.impossible > 20);
    }
}

#[test]
fn what_is_offered_is_what_happens() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 250);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 1));
    let (mut done, mut sum) = (0, Counts::default());
    while done < programs {
        // What does not count cannot show what is possible.
        let program = random_without(&["Assume"], &mut rng);
        let _shown = ShownOnPanic(&program);
        let checker = program.checker(Strategy::Auto);
        let Some(counts) = compared(&checker, program.memory, MAX_SCHEDULES, || program.run())
        else {
            continue;
        };
        add(&mut sum, counts);
        done += 1;
    }
    println!("{done} programs, {sum:?}");
    assert!(sum.alternatives > sum.receives, "somebody has a choice");
}

#[test]
fn what_is_offered_is_what_happens_to_the_rarer_primitives() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 120);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 2));
    let (mut done, mut sum) = (0, Counts::default());
    while done < programs {
        let program = random_objects::Program::random(&mut rng);
        let _shown = ShownOnPanic(&program);
        let counts = compared(&Checker::new(), Memory::Sc, MAX_SCHEDULES, || program.run());
        let Some(counts) = counts else { continue };
        add(&mut sum, counts);
        done += 1;
    }
    println!("{done} programs, {sum:?}");
    assert!(sum.alternatives > sum.receives, "somebody has a choice");
}

#[test]
fn what_is_offered_can_be_run() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 150);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 3));
    let (mut done, mut asked, mut at_once, mut attempts) = (0, 0, 0, 0);
    while done < programs {
        // What does not count cannot be run.
        let program = random_without(&["Assume"], &mut rng);
        let _shown = ShownOnPanic(&program);
        let checker = program.checker(Strategy::Auto).shorten(false);
        let Some(futures) = offered(&checker, &program) else {
            continue;
        };
        done += 1;
        let open: Vec<_> = futures.open().flat_map(|one| one.futures()).collect();
        for _ in 0..open.len().min(8) {
            let future = rng.choice(&open).expect("not empty");
            let report = directed(&checker, &program, future);
            assert_eq!(report.executions, 1, "{future}: {report}");
            asked += 1;
            at_once += u64::from(report.attempts == 0);
            attempts += report.attempts;
        }
    }
    println!("{done} programs, {asked} futures, {at_once} in one run, {attempts} attempts besides");
    assert!(at_once * 5 > asked * 4, "{at_once} of {asked} take one run");
}

#[test]
fn what_is_not_offered_is_impossible() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 150);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 5));
    let (mut done, mut asked) = (0, Asked::default());
    while done < programs {
        let program = random_without(&["Assume"], &mut rng);
        let _shown = ShownOnPanic(&program);
        let checker = program.checker(Strategy::Auto).shorten(false);
        let Some(futures) = offered(&checker, &program) else {
            continue;
        };
        done += 1;
        let receives = &futures.receives;
        let known: Vec<_> = receives.iter().flat_map(|one| &one.terms).collect();
        // A receive is to see what another one sees.
        for _ in 0..4 {
            let (Some(one), Some(other)) = (rng.choice(receives), rng.choice(&known)) else {
                break;
            };
            let choice = FutureChoice {
                receive: one.receive.clone(),
                sees: other.sees.clone(),
                outcome: None,
            };
            if choice.sees.is_none() || one.terms[0].sees.is_none() {
                continue;
            }
            let expected = (one.terms.iter()).any(|term| term.sees == choice.sees);
            let future = Future::new().with(choice);
            asked.ask(&checker, &program, &future, expected);
        }
    }
    asked.conclude(done);
}

#[test]
fn several_receives_see_what_they_see_in_one_execution_and_nothing_else() {
    let programs = setting("RADDLE_TEST_PROGRAMS", 150);
    let mut rng = Rng::with_seed(setting("RADDLE_TEST_SEED", 8));
    let (mut done, mut asked) = (0, Asked::default());
    while done < programs {
        // What does not count cannot be run; and what parks has no name.
        let program = random_without(&["Assume", "ark"], &mut rng);
        let _shown = ShownOnPanic(&program);
        let checker = program.checker(Strategy::Exhaustive).shorten(false);
        let mut executions: Vec<Vec<FutureChoice>> = Vec::new();
        let report = raddle::__private::run_observed(
            checker.clone().max_executions(500),
            || program.run_named(),
            &mut |execution| {
                let all = futures::as_seen(execution).into_iter();
                let all = all.map(|one| {
                    futures::choice(execution, one.position, one.alternatives[0]).unwrap()
                });
                executions.push(all.collect());
            },
        );
        if !report.exhausted || executions.len() < 2 {
            continue;
        }
        done += 1;
        for _ in 0..6 {
            let (one, other) = (rng.choice(&executions), rng.choice(&executions));
            let mut future = Future::new();
            for from in [one, one, other] {
                if let Some(choice) = rng.choice(from.unwrap()) {
                    future = future.with(choice.clone());
                }
            }
            let has_all = |execution: &Vec<FutureChoice>| {
                let mut wanted = future.choices().iter();
                wanted.all(|choice| execution.iter().any(|seen| is_as(choice, seen)))
            };
            let expected = executions.iter().any(has_all);
            asked.ask(&checker, &program, &future, expected);
        }
    }
    asked.conclude(done);
}

/// Whether that is what was asked for, where what is not said is free.
fn is_as(choice: &FutureChoice, seen: &FutureChoice) -> bool {
    choice.receive == seen.receive
        && (choice.sees.is_none() || choice.sees == seen.sees)
        && (choice.outcome.is_none() || choice.outcome.unwrap_or(0) == seen.outcome.unwrap_or(0))
}
