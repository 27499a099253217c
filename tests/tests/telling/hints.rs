//! Which orderings are said to be too weak: only those that end the failure.

use std::collections::BTreeSet;

use fastrand::Rng;
use raddle::sync::atomic::{AtomicU32, Ordering, Ordering::*};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Checker, FailureKind, Report, Strategy, thread};
use raddle_tests::suite::{Suite, Verdict};

/// Two threads that write two variables and then read them; what they may read is up to a mask of
/// forbidden results. Each access has its own line, so that a hint names one of them.
#[derive(Clone, Copy, Debug)]
struct Program {
    orderings: [Ordering; 4],
    /// Bit `2 * first + second` is set where these two results are forbidden.
    forbidden: u32,
    chooses: bool,
}

/// The lines of the accesses, in the order of the orderings.
const LINES: [u32; 4] = [LINE + 9, LINE + 10, LINE + 13, LINE + 14];
const LINE: u32 = line!();

impl Program {
    fn run(self) {
        let [a, b, c, d] = self.orderings;
        let variables = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let shared = Arc::clone(&variables);
        let thread = thread::spawn(move || {
            let [x, y] = &*shared;
            x.store(1, a);
            y.load(b)
        });
        let [x, y] = &*variables;
        y.store(1, c);
        let first = x.load(d);
        let chosen = if self.chooses {
            raddle::choose(0..2)
        } else {
            0
        };
        let second = thread.join().unwrap();
        let result = 2 * first + second;
        assert!(self.forbidden >> result & 1 == 0, "{result} with {chosen}");
    }

    fn check(self) -> Report {
        let checker = Checker::new().strategy(Strategy::Exhaustive);
        checker.run(move || self.run())
    }
}

fn random(rng: &mut Rng) -> Program {
    let mut one = |from: [Ordering; 3]| rng.choice(from).expect("not empty");
    let (stores, loads) = ([Relaxed, Release, SeqCst], [Relaxed, Acquire, SeqCst]);
    Program {
        orderings: [one(stores), one(loads), one(stores), one(loads)],
        forbidden: rng.u32(1..16),
        chooses: rng.bool(),
    }
}

/// The orderings with the changes that the hint names, if there is a hint. `lines` are those of the accesses.
fn changed(orderings: [Ordering; 4], lines: [u32; 4], report: &Report) -> Option<[Ordering; 4]> {
    let message = &report.failures.first()?.message;
    let hint = message
        .lines()
        .find_map(|line| line.strip_prefix("help: with "))?;
    let mut changed = orderings;
    for (before, after) in hint.split("` at ").zip(hint.split("` at ").skip(1)) {
        let new = before
            .rsplit_once("` instead of `")
            .and_then(|(new, _)| new.rsplit_once('`'))
            .expect("an ordering")
            .1;
        let line: u32 = after
            .split([':', ' '])
            .nth(1)
            .and_then(|line| line.parse().ok())
            .expect("a line");
        let place = lines.iter().position(|&at| at == line);
        changed[place.expect("a line of an access")] = match new {
            "Acquire" => Acquire,
            "Release" => Release,
            "SeqCst" => SeqCst,
            other => panic!("{other}"),
        };
    }
    Some(changed)
}

#[test]
fn the_failure_is_gone_with_the_orderings_of_the_hint() {
    let (mut hints, mut without) = (0, 0);
    Suite::new(200, 3).run(random, |&program, _| {
        let report = program.check();
        if report.failures.is_empty() {
            return Verdict::Skipped;
        }
        match changed(program.orderings, LINES, &report) {
            None => without += 1,
            Some(orderings) => {
                hints += 1;
                let changed = Program {
                    orderings,
                    ..program
                };
                let again = changed.check();
                assert!(again.failures.is_empty(), "{report}\n{changed:?}\n{again}");
            }
        }
        Verdict::Agreed
    });
    println!("{hints} hints, {without} failures without");
    assert!(hints > 0 && without > 0);
}

/// A thread that announces itself and waits for a flag, and one that sets the flag and notifies. Only one thread
/// can be stuck, at one line: with a notification that is lost, or without any.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    orderings: [Ordering; 4],
    /// The notifier has the lock while it sets the flag; while it notifies.
    locks: [bool; 2],
    /// It notifies only if a thread has announced itself.
    asks: bool,
    /// The waiting thread looks at the flag before it has the lock, and after a wake-up.
    looks_early: bool,
    looks_again: bool,
    /// It is wrong that the notifier has seen no announcement.
    must_be_announced: bool,
}

/// The lines of the accesses, in the order of the orderings.
const WAITING_LINES: [u32; 4] = [
    WAITING_LINE + 14,
    WAITING_LINE + 17,
    WAITING_LINE + 31,
    WAITING_LINE + 33,
];
const WAITING_LINE: u32 = line!();

impl Waiting {
    fn run(self) {
        let [a, b, c, d] = self.orderings;
        let shared = Arc::new((
            AtomicU32::new(0),
            AtomicU32::new(0),
            Mutex::new(()),
            Condvar::new(),
        ));
        let other = Arc::clone(&shared);
        let waiting = thread::spawn(move || {
            let (announced, flag, lock, changed) = &*other;
            announced.store(1, a);
            let mut guard = (!self.looks_early).then(|| lock.lock().unwrap());
            loop {
                let is_set = flag.load(b) == 1;
                if is_set {
                    break;
                }
                let held = guard.take().unwrap_or_else(|| lock.lock().unwrap());
                guard = Some(changed.wait(held).unwrap());
                if !self.looks_again {
                    break;
                }
            }
        });
        let (announced, flag, lock, changed) = &*shared;
        let [sets, notifies] = self.locks;
        let guard = sets.then(|| lock.lock().unwrap());
        flag.store(1, c);
        drop(guard);
        let is_announced = announced.load(d) == 1;
        if is_announced || !self.asks {
            let guard = notifies.then(|| lock.lock().unwrap());
            changed.notify_one();
            drop(guard);
        }
        assert!(is_announced || !self.must_be_announced, "not announced");
        waiting.join().unwrap();
    }

    fn checker() -> Checker {
        let checker = Checker::new().strategy(Strategy::Exhaustive);
        checker.spurious_wakeups(false)
    }

    /// What goes wrong in some class: threads are stuck, or it panics.
    fn failures(self) -> BTreeSet<&'static str> {
        let checker = Waiting::checker().keep_going(true).shorten(false);
        let report = checker.run(move || self.run());
        assert!(report.exhausted, "{report}");
        report.failures.iter().map(what).collect()
    }

    fn random(rng: &mut Rng) -> Waiting {
        // Nearly all of these programs need `SeqCst` four times.
        let mut one = |weak: Ordering| match rng.u32(0..3) {
            0 => Relaxed,
            1 => weak,
            _ => SeqCst,
        };
        Waiting {
            orderings: [one(Release), one(Acquire), one(Release), one(Acquire)],
            locks: [rng.bool(), rng.u32(0..4) > 0],
            asks: rng.u32(0..4) > 0,
            looks_early: rng.u32(0..4) == 0,
            looks_again: rng.bool(),
            must_be_announced: rng.u32(0..4) == 0,
        }
    }
}

fn what(failure: &raddle::Failure) -> &'static str {
    match failure.kind {
        FailureKind::Deadlock | FailureKind::LostWakeup => "stuck",
        FailureKind::Panic => "panic",
        other => panic!("{other:?}: {}", failure.message),
    }
}

/// A thread that waits for ever is one failure, be it a deadlock or a lost wake-up: with the orderings of the hint
/// it is gone, and nothing goes wrong that did not before.
#[test]
fn threads_are_not_stuck_in_another_way_with_the_orderings_of_the_hint() {
    let (mut hints, mut without) = (0, 0);
    Suite::new(100, 5).run(Waiting::random, |&program, _| {
        let report = Waiting::checker().run(move || program.run());
        let Some(failure) = report.failures.first() else {
            return Verdict::Skipped;
        };
        match changed(program.orderings, WAITING_LINES, &report) {
            None => without += 1,
            Some(orderings) => {
                hints += 1;
                let changed = Waiting {
                    orderings,
                    ..program
                };
                let mut allowed = program.failures();
                allowed.remove(what(failure));
                let left = changed.failures();
                assert!(left.is_subset(&allowed), "{report}\n{changed:?}: {left:?}");
            }
        }
        Verdict::Agreed
    });
    println!("{hints} hints, {without} failures without");
    assert!(hints > 0 && without > 0);
}
