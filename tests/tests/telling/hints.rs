//! Which orderings are said to be too weak: only those that end the failure.

use fastrand::Rng;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering, Ordering::*};
use raddle::{Checker, Report, Strategy, thread};
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

/// The program with the changes that the hint names, if there is a hint.
fn changed(program: Program, report: &Report) -> Option<Program> {
    let message = &report.failures.first()?.message;
    let hint = message
        .lines()
        .find_map(|line| line.strip_prefix("help: with "))?;
    let mut changed = program;
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
        let place = LINES.iter().position(|&at| at == line);
        changed.orderings[place.expect("a line of an access")] = match new {
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
        match changed(program, &report) {
            None => without += 1,
            Some(changed) => {
                hints += 1;
                let again = changed.check();
                assert!(again.failures.is_empty(), "{report}\n{changed:?}\n{again}");
            }
        }
        Verdict::Agreed
    });
    println!("{hints} hints, {without} failures without");
    assert!(hints > 0 && without > 0);
}
