//! Samplers on the bare engine: what cannot be asked for by name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::SeqCst;

use raddle_engine::strategy::{History, Lesson, Pct, Portfolio, SiteKeys, Surw, Urw};
use raddle_engine::{LocationId, Operation, SiteId, Step, Strategy, ThreadId, World};

const SITE: usize = 0;

/// Two threads, five stores each.
const FIVES: [&[usize]; 2] = [&[0; 5], &[0; 5]];

/// So many of all are what this probability lets one expect, up to four standard deviations.
fn assert_is_about(count: usize, all: usize, probability: f64) {
    let (count, all) = (count as f64, all as f64);
    let deviation = (all * probability * (1.0 - probability)).sqrt();
    let difference = (count - all * probability).abs();
    assert!(difference <= 4.0 * deviation, "{count} of {all}");
}

/// How often another thread goes on.
fn switches(order: &[(usize, usize)]) -> usize {
    let switches = order.windows(2).filter(|pair| pair[0].0 != pair[1].0);
    switches.count()
}

/// Main makes threads that store to locations, one store after the other, and joins them. Locations are
/// made known at their first use, as the library does. Who stored where, in order, and how often.
fn runs(
    strategy: Box<dyn Strategy>,
    executions: usize,
    scripts: &[&[usize]],
) -> BTreeMap<Vec<(usize, usize)>, usize> {
    runs_in(&mut World::new(strategy, 1_000), executions, scripts, SITE)
}

/// The same in a world in which the number of the first source location is `first`. Each store of a thread has its own.
fn runs_in(
    world: &mut World,
    executions: usize,
    scripts: &[&[usize]],
    first: usize,
) -> BTreeMap<Vec<(usize, usize)>, usize> {
    let site = SiteId::new(first);
    let mut seen = BTreeMap::new();
    for _ in 0..executions {
        assert!(world.begin(site));
        let mut locations: BTreeMap<usize, LocationId> = BTreeMap::new();
        let mut done = vec![0; scripts.len() + 1];
        let mut order = Vec::new();
        let mut step = world.advance();
        while let Step::Run(thread) = step {
            let index = thread.index();
            let position = done[index];
            done[index] += 1;
            if index == 0 {
                let children = scripts.len();
                step = match position {
                    _ if position < children => world.request(thread, Operation::Spawn, site),
                    _ if position < 2 * children => {
                        let target = ThreadId::new(position - children + 1);
                        world.request(thread, Operation::Join { target }, site)
                    }
                    _ => {
                        world.announce_end(thread, site);
                        world.advance()
                    }
                };
                continue;
            }
            let script = scripts[index - 1];
            if position > 0 {
                order.push((index, script[position - 1]));
            }
            step = match script.get(position) {
                Some(&which) => {
                    let location = *locations
                        .entry(which)
                        .or_insert_with(|| world.add_location(0));
                    let store = Operation::Store {
                        location,
                        ordering: SeqCst,
                        value: Some(1),
                    };
                    world.request(thread, store, SiteId::new(first + position))
                }
                None => {
                    world.announce_end(thread, site);
                    world.advance()
                }
            };
        }
        world.finish();
        *seen.entry(order).or_default() += 1;
    }
    seen
}

/// With five stores each, depth 1 reaches 2 orders, depth 2 reaches 10 and depth 3 reaches 42.
#[test]
fn a_portfolio_reaches_what_its_deepest_does() {
    for (deepest, reached) in [(1, 2), (2, 10), (3, 42)] {
        let seen = runs(Box::new(Pct::portfolio(deepest, 7)), 10_000, &FIVES);
        assert_eq!(seen.len(), reached, "up to depth {deepest}");
    }
}

/// How often one thread runs after the other. Executions have nine steps at most. A change at the first
/// lets the other thread begin; one after the fifth never comes, unless there was an earlier one. So
/// with one change it is 5/9. With two changes it is all pairs of the sixth to ninth step (16), the first
/// and one of these (8), the first twice (1), and the first and one of the second to fifth if who falls
/// there stays above who fell before (4): 29/81. A portfolio has each depth as often as the others.
#[test]
fn a_portfolio_has_all_depths_equally_often() {
    let executions = 10_000;
    let undisturbed = |strategy: Pct| {
        let seen = runs(Box::new(strategy), executions, &FIVES);
        let orders = seen.into_iter().filter(|(order, _)| switches(order) == 1);
        orders.map(|(_, count)| count).sum::<usize>()
    };
    for (strategy, probability) in [
        (Pct::new(1, 7), 1.0),
        (Pct::new(2, 7), 5.0 / 9.0),
        (Pct::new(3, 7), 29.0 / 81.0),
        (Pct::portfolio(3, 7), (1.0 + 5.0 / 9.0 + 29.0 / 81.0) / 3.0),
    ] {
        assert_is_about(undisturbed(strategy), executions, probability);
    }
}

/// Two threads use location 0 three times each, and then location 1 once. So location 0 is the target of
/// three executions in four. Then each of 20 orders of its uses is equally likely; with the other target
/// one thread uses it three times before the other does if three priorities are higher than a fourth, the
/// integral of (1 - u)^3. For both threads that is 2 (3/4 1/20 + 1/4 1/4).
#[test]
fn what_is_used_most_is_the_target_most_often() {
    let scripts: [&[usize]; 2] = [&[0, 0, 0, 1], &[0, 0, 0, 1]];
    let executions = 20_000;
    let mut count = 0;
    for (order, times) in runs(Box::new(Surw::new(3)), executions, &scripts) {
        let uses: Vec<_> = order.into_iter().filter(|(_, which)| *which == 0).collect();
        count += if switches(&uses) == 1 { times } else { 0 };
    }
    assert_is_about(count, executions, 0.2);
}

/// A strategy can be told of executions whose choices another one made, and learns from them.
#[test]
fn what_others_ran_can_be_learned_from() {
    struct Turns(Urw, Pct, bool);

    impl Strategy for Turns {
        fn begin(&mut self) -> bool {
            self.2 = !self.2;
            if self.2 {
                self.0.begin()
            } else {
                self.1.begin()
            }
        }

        fn choose(
            &mut self,
            state: &raddle_engine::State,
        ) -> Result<raddle_engine::Choice, Box<raddle_engine::Divergence>> {
            match self.2 {
                true => self.0.choose(state),
                false => self.1.choose(state),
            }
        }

        fn end(&mut self, execution: &raddle_engine::Execution, ending: &raddle_engine::Ending) {
            self.0.end(execution, ending);
        }
    }

    // Depth 1 runs one thread after the other; all 10 orders of 2 and 3 come from the other strategy,
    // each with a tenth of half of the executions.
    let turns = Turns(Urw::new(5), Pct::new(1, 5), false);
    let scripts: [&[usize]; 2] = [&[0; 2], &[0; 3]];
    let seen = runs(Box::new(turns), 20_000, &scripts);
    assert_eq!(seen.len(), 10);
    for (order, count) in seen {
        let expected = if switches(&order) == 1 {
            1_000 + 5_000
        } else {
            1_000
        };
        assert!(count.abs_diff(expected) < 300, "{order:?}: {count}");
    }
}

/// What a strategy has learned from these executions.
fn lessons(strategy: Box<dyn Strategy>, executions: usize, first: usize) -> Vec<Lesson> {
    let mut world = World::new(strategy, 1_000);
    runs_in(&mut world, executions, &FIVES, first);
    world.strategy().lessons()
}

/// The number of first executions of strategies with these seeds in which one thread runs after the other.
fn undisturbed_first(
    strategy: impl Fn(u64) -> Box<dyn Strategy>,
    seeds: usize,
    lessons: &[Lesson],
) -> usize {
    let first = |seed| {
        let mut strategy = strategy(seed);
        lessons.iter().for_each(|lesson| strategy.recall(lesson));
        runs(strategy, 1, &FIVES).into_keys().next().unwrap()
    };
    let orders = (0..seeds as u64).map(first);
    orders.filter(|order| switches(order) == 1).count()
}

/// A uniform walk knows nothing before its first execution, in which a thread comes after the other with a probability of
/// 2^-4. With the lessons of another process it is uniform at once: 2 of 252 orders.
#[test]
fn lessons_of_another_process_make_the_first_execution_uniform() {
    let urw = |seed| -> Box<dyn Strategy> { Box::new(Urw::new(seed)) };
    let learned = lessons(urw(3), 60, SITE);
    let seeds = 20_000;
    assert_is_about(undisturbed_first(urw, seeds, &[]), seeds, 1.0 / 16.0);
    let count = undisturbed_first(urw, seeds, &learned);
    assert_is_about(count, seeds, 2.0 / 252.0);
    // A portfolio hands them to its samplers.
    let of_urw = |seed| -> Box<dyn Strategy> {
        Box::new(Portfolio::new(vec![urw(seed), urw(seed + 1)], None, seed))
    };
    assert_eq!(undisturbed_first(of_urw, seeds, &learned), count);
}

/// A first execution has no changes of priorities, because its length is not known. With the length it is as later ones.
#[test]
fn the_length_of_another_process_has_priorities_change_at_once() {
    let pct = |seed| -> Box<dyn Strategy> { Box::new(Pct::new(2, seed)) };
    let learned = lessons(pct(7), 100, SITE);
    assert_eq!(learned, [Lesson::Longest(9)]);
    let seeds = 10_000;
    assert_eq!(undisturbed_first(pct, seeds, &[]), seeds);
    assert_is_about(undisturbed_first(pct, seeds, &learned), seeds, 5.0 / 9.0);
}

/// Decisions mean the same in a process that has other numbers for source locations, and are not handed on twice. Two
/// threads are at two of five lines, in any of 10 ways, and one of both goes on; or at the same line, in 5 ways.
#[test]
fn decisions_of_another_process_are_not_made_again_first() {
    let history = |seed, first: usize| {
        let keys = SiteKeys::new(move |site| (site.index() - first) as u64);
        History::new(seed).with_keys(keys)
    };
    let decisions = |strategy: History, executions, first| -> BTreeSet<u32> {
        let lessons = lessons(Box::new(strategy), executions, first).into_iter();
        lessons
            .map(|lesson| match lesson {
                Lesson::Decision(decision) => decision,
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let first = decisions(history(1, 0), 1, 0);
    assert!((5..=9).contains(&first.len()), "{first:?}");
    assert_eq!(decisions(history(1, 7), 1, 7), first);
    let all = decisions(history(2, 7), 300, 7);
    assert_eq!(all.len(), 2 * 10 + 5);
    assert!(all.is_superset(&first));
    let mut later = history(2, 7);
    let known = first.iter().map(|&it| Lesson::Decision(it));
    known.for_each(|lesson| later.recall(&lesson));
    assert_eq!(decisions(later, 300, 7), &all - &first);
    // Without numbers that others know, there is nothing to hand on.
    assert!(lessons(Box::new(History::new(1)), 3, 0).is_empty());
}

/// Three threads have lengths, and two samplers of one kind hand them on once.
#[test]
fn a_portfolio_hands_on_the_lessons_of_each_kind_of_sampler_once() {
    let samplers: Vec<Box<dyn Strategy>> = vec![
        Box::new(Urw::new(1)),
        Box::new(Urw::new(2)),
        Box::new(Pct::new(2, 3)),
        Box::new(Surw::new(4)),
        Box::new(History::new(5).with_keys(SiteKeys::new(|site| site.index() as u64))),
    ];
    let learned = lessons(Box::new(Portfolio::new(samplers, None, 6)), 1_000, SITE);
    let count = |is_one: fn(&Lesson) -> bool| learned.iter().filter(|it| is_one(it)).count();
    assert_eq!(count(|it| matches!(it, Lesson::Lengths { .. })), 3);
    assert_eq!(count(|it| matches!(it, Lesson::Longest(_))), 1);
    assert_eq!(count(|it| matches!(it, Lesson::Decision(_))), 25);
}
