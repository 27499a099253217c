//! Properties, graphs and given sequences against plain enumeration of all schedules, on random programs with labelled
//! operations.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex};

use fastrand::Rng;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Mutex, mpsc};
use raddle::{
    BehaviourGraph, Checker, Feasibility, GivenSequences, Memory, Property, PropertyVerdict,
    Strategy, thread,
};
use raddle_engine::behaviour::monitor::{Monitor, WordEnd};
use raddle_tests::suite::{Suite, Verdict};

const MAX_SCHEDULES: u64 = 3_000;
const LABELS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Store(usize),
    Lock(usize),
    Unlock,
    Send,
    TryReceive,
}

/// The steps of each thread, some of them with a label.
#[derive(Clone, Debug)]
struct Program(Vec<Vec<(Step, Option<&'static str>)>>);

impl Program {
    fn random(rng: &mut Rng) -> Self {
        let threads = rng.usize(2..=3);
        let longest = if threads == 2 { 4 } else { 2 };
        let mut thread = |number: usize| {
            let steps = (0..rng.usize(1..=longest)).map(|_| {
                let step = match rng.u32(0..8) {
                    0 | 1 => Step::Load(rng.usize(0..2)),
                    2 | 3 => Step::Store(rng.usize(0..2)),
                    4 => Step::Lock(rng.usize(0..2)),
                    5 => Step::Unlock,
                    _ if number == 0 => Step::TryReceive,
                    _ => Step::Send,
                };
                let label = rng.choice(LABELS).expect("not empty");
                (step, (rng.u32(0..3) > 0).then_some(label))
            });
            steps.collect()
        };
        Program((0..threads).map(&mut thread).collect())
    }

    /// Runs the program; `word` gets the labels in the order of their operations.
    fn run(&self, word: &Arc<StdMutex<Vec<String>>>) {
        word.lock().unwrap().clear();
        let variables = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let (sender, receiver) = mpsc::channel();
        let mut receiver = Some(receiver);
        let mut threads = Vec::new();
        for (number, steps) in self.0.iter().enumerate() {
            let (steps, word) = (steps.clone(), Arc::clone(word));
            let (variables, locks) = (Arc::clone(&variables), Arc::clone(&locks));
            let (sender, receiver) = (sender.clone(), receiver.take());
            threads.push(thread::spawn(move || {
                let mut held = Vec::new();
                for (step, label) in steps {
                    match step {
                        Step::Load(x) => _ = variables[x].load(SeqCst),
                        Step::Store(x) => variables[x].store(number as u32 + 1, SeqCst),
                        Step::Lock(x) => held.push(locks[x].lock().unwrap()),
                        Step::Unlock => drop(held.pop()),
                        Step::Send => _ = sender.send(number),
                        Step::TryReceive => {
                            let received = receiver.as_ref().map(|receiver| receiver.try_recv());
                            assert!(received.is_some());
                        }
                    }
                    if let Some(label) = label {
                        raddle::event!("{label}");
                        // No other thread has run since the operation.
                        word.lock().unwrap().push(label.to_owned());
                    }
                }
                while let Some(guard) = held.pop() {
                    drop(guard);
                }
            }));
        }
        drop(sender);
        for thread in threads {
            thread.join().unwrap();
        }
    }

    fn checker(strategy: Strategy) -> Checker {
        let checker = Checker::new().strategy(strategy).memory(Memory::Sc);
        let checker = checker.keep_going(true).shorten(false);
        checker
            .lock_order(raddle::Level::Allow)
            .leaks(raddle::Level::Allow)
    }

    /// The words of all schedules; `None` if there are too many.
    fn words(&self) -> Option<BTreeSet<Vec<String>>> {
        let word: Arc<StdMutex<Vec<String>>> = Arc::default();
        let mut words = BTreeSet::new();
        let checker = Program::checker(Strategy::Enumerate).max_executions(MAX_SCHEDULES);
        let report = raddle::__private::run_observed(checker, || self.run(&word), &mut |_| {
            words.insert(word.lock().unwrap().clone());
        });
        report.exhausted.then_some(words)
    }
}

fn property(rng: &mut Rng, depth: u32, may_look_ahead: bool) -> Property {
    let label = |rng: &mut Rng| Property::event(rng.choice(LABELS).expect("not empty"));
    if depth == 0 {
        return label(rng);
    }
    let one = property(rng, depth - 1, may_look_ahead);
    let other = property(rng, depth - 1, may_look_ahead);
    let past = property(rng, depth - 1, false);
    let other_past = property(rng, depth - 1, false);
    match rng.u32(0..if may_look_ahead { 11 } else { 7 }) {
        0 => !one,
        1 => one & other,
        2 => one | other,
        3 => one.implies(other),
        4 => Property::once(past),
        5 => past.since(other_past),
        6 => Property::previously(past),
        7 => Property::always(one),
        8 => Property::eventually(one),
        9 => one.until(other),
        _ => Property::responds(one, other),
    }
}

/// The words of all paths of a graph to an ending.
fn words_of(graph: &BehaviourGraph) -> BTreeSet<Vec<String>> {
    let mut words = BTreeSet::new();
    let mut open = vec![(0, Vec::new())];
    while let Some((state, word)) = open.pop() {
        if graph.states()[state].ending.is_some() {
            words.insert(word.clone());
        }
        for step in graph.from(state) {
            let mut word = word.clone();
            word.extend(step.label.clone());
            open.push((step.to, word));
        }
    }
    words
}

#[test]
fn random_properties_hold_if_the_words_of_all_schedules_fulfil_them() {
    let (mut holds, mut violated, mut more_than_one_word) = (0, 0, 0);
    let suite = Suite::new(150, 31);
    suite.run(Program::random, |program, rng| {
        let Some(words) = program.words() else {
            return Verdict::Skipped;
        };
        more_than_one_word += u32::from(words.len() > 1);
        let depth = rng.u32(1..4);
        let property = property(rng, depth, true);
        let monitor = Monitor::new(&property);
        let fulfils = |word: &Vec<String>| {
            let mut state = monitor.start();
            for label in word {
                state = monitor.step(&state, label);
            }
            monitor.end(&state, WordEnd::Finite) == Some(true)
        };
        let expected = words.iter().all(fulfils);
        let word: Arc<StdMutex<Vec<String>>> = Arc::default();
        let report = Program::checker(Strategy::Exhaustive)
            .property("it", property.clone())
            .run(|| program.run(&word));
        let verdict = report.properties()[0].verdict;
        assert_eq!(
            verdict,
            if expected {
                PropertyVerdict::Holds
            } else {
                PropertyVerdict::Violated
            },
            "{property}: {words:?}\n{report}"
        );
        *(if expected { &mut holds } else { &mut violated }) += 1;
        Verdict::Agreed
    });
    println!(
        "{holds} hold, {violated} are violated, {more_than_one_word} programs with several words"
    );
    assert!(!suite.is_usual() || holds > 30 && violated > 30 && more_than_one_word > 80);
}

#[test]
fn random_graphs_have_the_words_of_all_schedules() {
    let mut most = 0;
    Suite::new(80, 32).run(Program::random, |program, _| {
        let Some(words) = program.words() else {
            return Verdict::Skipped;
        };
        let word: Arc<StdMutex<Vec<String>>> = Arc::default();
        let behaviour = Program::checker(Strategy::Exhaustive).behaviour(|| program.run(&word));
        assert!(behaviour.is_exact(), "{behaviour}");
        let graph = &behaviour.graph;
        for graph in [graph.minimised(), graph.without_internal_steps()] {
            assert_eq!(words_of(&graph), words, "{}", graph.to_aut());
        }
        most = most.max(words.len());
        Verdict::Agreed
    });
    println!("at most {most} words");
}

#[test]
fn random_sequences_are_feasible_if_some_schedule_has_them() {
    let (mut feasible, mut infeasible) = (0, 0);
    let suite = Suite::new(80, 33);
    suite.run(Program::random, |program, rng| {
        let Some(words) = program.words() else {
            return Verdict::Skipped;
        };
        let own: Vec<_> = words
            .iter()
            .filter(|word| !word.is_empty())
            .cloned()
            .collect();
        if own.is_empty() {
            return Verdict::Skipped;
        }
        let mut given: Vec<Vec<String>> = own.iter().filter(|_| rng.bool()).cloned().collect();
        for _ in 0..3 {
            let labels =
                (0..rng.usize(1..4)).map(|_| rng.choice(LABELS).expect("not empty").to_owned());
            given.push(labels.collect());
        }
        let word: Arc<StdMutex<Vec<String>>> = Arc::default();
        let is_strict = rng.bool();
        let sequences = GivenSequences::from(given.clone());
        let sequences = if is_strict {
            sequences.strict()
        } else {
            sequences
        };
        let checker = Program::checker(Strategy::Exhaustive);
        let conformance = checker
            .clone()
            .conformance(&sequences, || program.run(&word));
        let has = |word: &[String], sequence: &[String]| {
            let mut labels = word.iter();
            match is_strict {
                true => word == sequence,
                false => sequence
                    .iter()
                    .all(|next| labels.any(|label| label == next)),
            }
        };
        for result in &conformance.sequences {
            let expected = words.iter().any(|word| has(word, &result.sequence));
            match &result.feasibility {
                Feasibility::Feasible(schedule) => {
                    assert!(expected, "{:?} of {words:?}", result.sequence);
                    let replay = Program::checker(Strategy::Replay(schedule.clone()));
                    replay.run(|| program.run(&word));
                    assert!(has(&word.lock().unwrap(), &result.sequence), "{schedule}");
                    feasible += 1;
                }
                Feasibility::Infeasible(reasons) => {
                    assert!(!expected, "{:?} of {words:?}", result.sequence);
                    assert!(!reasons.is_empty());
                    infeasible += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        let is_given = |word: &&Vec<String>| given.iter().any(|sequence| has(word, sequence));
        let missing: Vec<_> = words.iter().filter(|word| !is_given(word)).collect();
        assert_eq!(
            conformance.missing_count,
            missing.len() as u64,
            "{words:?} {given:?}"
        );
        for word in &conformance.missing {
            assert!(missing.contains(&word), "{word:?}");
        }
        Verdict::Agreed
    });
    println!("{feasible} feasible, {infeasible} infeasible");
    assert!(!suite.is_usual() || feasible > 100 && infeasible > 50);
}
