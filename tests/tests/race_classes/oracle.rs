//! The values of serial executions against those of all schedules, and the report of a race against both.

use std::collections::BTreeSet;

use fastrand::Rng;
use raddle::{Checker, FailureKind, Level, Memory, Strategy};
use raddle_engine::race_kinds::{BlockValue, is_serializable, values};
use raddle_engine::{Block, Execution};
use raddle_tests::suite::{Suite, Verdict};

use super::world::{World, found};

/// A use of a variable.
#[derive(Clone, Copy, Debug)]
enum Access {
    Read(char),
    Write(char, i32),
    Add(char),
}

/// A block or a use outside of one.
#[derive(Clone, Debug)]
enum Statement {
    Block(Vec<Access>),
    Alone(Access),
}

/// Every execution up to this number is recorded.
const RECORDED: u64 = 256;

fn draw(rng: &mut Rng) -> Vec<Vec<Statement>> {
    let access = |rng: &mut Rng| {
        let name = *rng.choice(&['a', 'a', 'b', 'x']).unwrap();
        match rng.u32(..5) {
            0..=1 => Access::Read(name),
            2..=3 => Access::Write(name, rng.i32(1..=9)),
            _ if name == 'b' => Access::Read(name),
            _ => Access::Add(name),
        }
    };
    let threads = 0..rng.usize(2..=3);
    let thread = |_| {
        let count = rng.usize(1..=2);
        let block = (0..count + 1).map(|_| access(rng)).collect();
        let mut statements = vec![Statement::Block(block)];
        if rng.bool() {
            let at = rng.usize(..=1);
            statements.insert(at, Statement::Alone(access(rng)));
        }
        statements
    };
    threads.map(thread).collect()
}

fn interpret(w: &World, access: Access) -> Option<i32> {
    match access {
        Access::Read(name) => Some(w.get(name)),
        Access::Write(name, value) => {
            w.set(name, value);
            None
        }
        Access::Add(name) => Some(w.add(name, 1)),
    }
}

fn perform(w: &World, statements: &[Statement]) {
    for statement in statements {
        match statement {
            Statement::Alone(access) => _ = interpret(w, *access),
            Statement::Block(accesses) => {
                raddle::atomic_block!("block", {
                    let read = accesses.iter().filter_map(|access| interpret(w, *access));
                    read.collect::<Vec<_>>()
                });
            }
        }
    }
}

fn run(threads: &[Vec<Statement>]) {
    let world = World::new();
    raddle::thread::scope(|scope| {
        for statements in threads {
            scope.spawn(|| perform(&world, statements));
        }
    });
    raddle::atomic_block!("end", { ['a', 'b', 'x'].map(|name| world.get(name)) });
}

/// True when no other thread has an event in the middle of a block.
fn interrupts_no_block(execution: &Execution) -> bool {
    let blocks = execution.declared.iter().flat_map(|it| &it.blocks);
    let is_whole = |block: &Block| {
        let inside = |(_, event): &(usize, &raddle_engine::Event)| {
            event.id.thread == block.thread
                && block.from <= event.id.index
                && block.to.is_some_and(|to| event.id.index < to)
        };
        let own = execution.events.iter().enumerate().filter(inside);
        let own: Vec<usize> = own.map(|(position, _)| position).collect();
        own.windows(2).all(|pair| pair[0] + 1 == pair[1])
    };
    blocks.into_iter().all(is_whole)
}

fn checker(strategy: Strategy) -> Checker {
    Checker::new()
        .strategy(strategy)
        .memory(Memory::Sc)
        .max_executions(RECORDED)
        .predictions(Level::Warn)
        .shorten(false)
        .page(false)
}

type Values = BTreeSet<Vec<BlockValue>>;

/// Returns the values of the executions that `is_serial`, and those of all; `None` if there are too many to record.
fn collect(
    strategy: Strategy,
    threads: &[Vec<Statement>],
    is_serial: impl Fn(&Execution) -> bool + Sync,
) -> Option<[Values; 2]> {
    let (mut serial, mut all) = (Values::new(), Values::new());
    let report = raddle::__private::run_observed(
        // Races are not of interest here, and failures there are none.
        checker(strategy)
            .race_model("timestamp".parse().unwrap())
            .keep_going(true),
        || run(threads),
        &mut |execution: &Execution| {
            if is_serial(execution) {
                serial.insert(values(execution));
            }
            all.insert(values(execution));
        },
    );
    report.exhausted.then_some([serial, all])
}

#[test]
fn serial_values_are_those_of_schedules_that_interrupt_no_block() {
    let mut counts = [0; 4];
    let suite = Suite::new(60, 11);
    suite.run(draw, |threads, _| {
        let schedules = collect(
            Strategy::EnumeratePrivateFirst,
            threads,
            interrupts_no_block,
        );
        let classes = collect(Strategy::Exhaustive, threads, |execution| {
            is_serializable(execution).expect("it is small")
        });
        let (Some([serial, all]), Some([found_serial, found_all])) = (schedules, classes) else {
            return Verdict::Skipped;
        };
        assert_eq!(all, found_all, "{threads:?}");
        assert_eq!(serial, found_serial, "{threads:?}");
        counts[0] += 1;
        // What a check reports: a race where, and only where, some values are those of no serial schedule.
        let has_other = all.iter().any(|values| !serial.contains(values));
        let report = checker(Strategy::Exhaustive)
            .max_executions(20_000)
            .run(|| run(threads));
        let is_race = |kind| {
            matches!(
                kind,
                FailureKind::BlockRace | FailureKind::MultiDataBlockRace
            )
        };
        let is_found = report.failures.iter().any(|failure| is_race(failure.kind));
        assert!(
            !is_found || has_other,
            "{threads:?} {serial:?} {all:?}\n{report}"
        );
        assert_eq!(is_found, !report.failures.is_empty(), "{report}");
        counts[1] += usize::from(has_other);
        counts[2] += usize::from(is_found);
        counts[3] += usize::from(!found(&report).is_empty());
        Verdict::Agreed
    });
    let [compared, others, confirmed, reported] = counts;
    println!(
        "{compared} compared, {others} not serial, {confirmed} confirmed, {reported} reported"
    );
    if suite.is_usual() {
        assert!(compared == 60 && others > 20, "{counts:?}");
        // Cycles of three threads have no two accesses of one block with one thread between them.
        assert!(confirmed * 10 >= others * 9, "{counts:?}");
        assert!(
            reported > confirmed,
            "some races have no effect: {counts:?}"
        );
    }
}
