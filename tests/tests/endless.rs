//! Loops without end that threads leave when a round repeats the one before, against the same loops with an end that the
//! program itself computes, against all schedules, and where they would say too much.

use std::collections::{BTreeSet, HashMap};

use fastrand::Rng;
use raddle::cell::UnsafeCell;
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Checker, FailureKind, Guarantee, Level, Memory, Reduction, Report, Strategy, thread};
use raddle_engine::{ClassEntry, Execution};
use raddle_tests::suite::{Suite, Verdict};

/// A variable without a lock.
#[derive(Default)]
struct Shared(UnsafeCell<u32>);

// SAFETY: `Sync` needs exclusion between OS threads: one runs everything. Races of modelled threads are the subject of
// the tests.
unsafe impl Sync for Shared {}

impl Shared {
    #[track_caller]
    fn get(&self) -> u32 {
        // SAFETY: one OS thread runs everything, so no other access happens during this one.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    fn set(&self, new: u32) {
        // SAFETY: one OS thread runs everything, so no other access happens during this one.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

fn search() -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(Memory::Sc)
        .keep_going(true)
        .shorten(false)
        .lock_order(Level::Allow)
}

fn leaving() -> Checker {
    search().reduce(Reduction::Manners)
}

#[derive(Default)]
struct Shop {
    jobs: Mutex<u32>,
    served: Shared,
    reply: Mutex<bool>,
    replied: Condvar,
}

/// Takes jobs for ever.
fn serve(shop: &Shop) {
    loop {
        let mut jobs = shop.jobs.lock().unwrap();
        if *jobs > 0 {
            *jobs -= 1;
            drop(jobs);
            shop.served.set(1);
        }
    }
}

fn with_server(client: fn(&Shop)) {
    let shop = Arc::new(Shop::default());
    let served = Arc::clone(&shop);
    thread::spawn(move || serve(&served));
    client(&shop);
}

fn submit(shop: &Shop) {
    *shop.jobs.lock().unwrap() += 1;
}

/// The lock of the client comes before the first, the second or the third round of the server; a third one without a
/// job is not run. Rounds with the job, and without: `J E E`, `E J E E` and `E E`.
#[test]
fn a_server_ends_after_the_rounds_that_suffice() {
    let report = leaving().run(|| with_server(submit));
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.guarantee(), Guarantee::Manners, "{report}");
    assert!(!report.exhausted);
    assert_eq!(report.classes(), 3);
    let [left] = report.left_loops() else {
        panic!("{report}");
    };
    assert_eq!((&*left.thread, left.rounds), ("main.1", 4));
    let place = left.place.as_ref().unwrap().to_string();
    assert!(place.contains("endless.rs"), "{place}");
    let text = report.to_string();
    assert!(text.contains("4 rounds of the loop of main.1"), "{text}");
    // Without the reduction there is no end.
    let cut = search().max_events(300).max_executions(50);
    let cut = cut.run(|| with_server(submit));
    assert_eq!(cut.guarantee(), Guarantee::Sampled, "{cut}");
    assert!(cut.too_long() > 0);
    // Required guarantees.
    let required = |guarantee| {
        let report = leaving().require(guarantee).run(|| with_server(submit));
        report.failures.is_empty()
    };
    assert!(required(Guarantee::Manners) && required(Guarantee::Sampled));
    assert!(!required(Guarantee::Exhaustive) && !required(Guarantee::Paths));
}

#[test]
fn a_race_with_a_server_is_found() {
    let report = leaving().run(|| {
        with_server(|shop| {
            submit(shop);
            shop.served.get();
        });
    });
    let kinds: BTreeSet<_> = report
        .failures
        .iter()
        .map(|it| it.kind.to_string())
        .collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["data race"],
        "{report}"
    );
    // Its schedule shows it again.
    let schedule = report.failures[0].schedule.clone();
    let again = leaving().strategy(Strategy::Replay(schedule)).run(|| {
        with_server(|shop| {
            submit(shop);
            shop.served.get();
        });
    });
    assert_eq!(again.failures[0].kind, FailureKind::DataRace, "{again}");
}

/// Without a loop that has no end, nothing is left out, and nothing less is claimed.
#[test]
fn loops_that_end_are_run_to_their_end() {
    let program = || {
        let shop = Arc::new(Shop::default());
        let other = Arc::clone(&shop);
        let thread = thread::spawn(move || (0..10).for_each(|_| submit(&other)));
        submit(&shop);
        thread.join().unwrap();
        assert_eq!(*shop.jobs.lock().unwrap(), 11);
    };
    let report = leaving().run(program);
    assert_eq!(report.guarantee(), Guarantee::Exhaustive, "{report}");
    assert_eq!(report.classes(), 11);
    assert!(report.left_loops().is_empty());
    assert_eq!(search().run(program).classes(), 11);
}

/// A loop that fails in a round.
fn fails_in<const ROUND: u32>() {
    let count = Mutex::new(0);
    loop {
        let mut count = count.lock().unwrap();
        *count += 1;
        assert_ne!(*count, ROUND, "too many rounds");
    }
}

/// Equal manners say nothing about values: this is the case in which the result would be wrong if it claimed more than
/// it does.
#[test]
fn a_failure_in_a_late_round_is_not_excluded() {
    // A loop that ends within the limit of the first executions has an end, and is run to it.
    let report = leaving().run(fails_in::<100>);
    assert_eq!(report.failures[0].kind, FailureKind::Panic, "{report}");
    // The next one is not found, and the guarantee does not exclude it.
    let report = leaving().run(fails_in::<30_000>);
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.guarantee(), Guarantee::Manners);
    assert_eq!((report.classes(), report.left_loops()[0].rounds), (1, 2));
    let text = report.to_string();
    assert!(
        text.contains("later rounds may do something else"),
        "{text}"
    );
    let random = Checker::new().strategy(Strategy::Random).max_executions(1);
    assert_eq!(
        random.run(fails_in::<30_000>).failures[0].kind,
        FailureKind::Panic
    );
}

/// A client waits for a reply that the server would give in a round that is not run: no lost wake-up and no deadlock.
#[test]
fn who_waits_for_a_later_round_is_not_blocked_for_ever() {
    let program = || {
        let shop = Arc::new(Shop::default());
        let served = Arc::clone(&shop);
        thread::spawn(move || {
            loop {
                let mut jobs = served.jobs.lock().unwrap();
                if *jobs > 0 {
                    *jobs -= 1;
                    drop(jobs);
                    *served.reply.lock().unwrap() = true;
                    served.replied.notify_one();
                }
            }
        });
        submit(&shop);
        let reply = shop.reply.lock().unwrap();
        let _reply = shop.replied.wait_while(reply, |it| !*it).unwrap();
    };
    let report = leaving().spurious_wakeups(false).run(program);
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.guarantee(), Guarantee::Manners);
}

/// A thread that polls for what a later round would set is in no livelock.
#[test]
fn who_polls_for_a_later_round_is_in_no_livelock() {
    use raddle::sync::atomic::{AtomicBool, Ordering::SeqCst};
    let program = || {
        let shop = Arc::new((Shop::default(), AtomicBool::new(false)));
        let served = Arc::clone(&shop);
        thread::spawn(move || {
            loop {
                let mut jobs = served.0.jobs.lock().unwrap();
                if *jobs > 0 {
                    *jobs -= 1;
                    served.1.store(true, SeqCst);
                }
            }
        });
        submit(&shop.0);
        while !shop.1.load(SeqCst) {}
    };
    let report = leaving().run(program);
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.guarantee(), Guarantee::Manners);
}

/// A cycle of locks beside the loop is one whatever the loop does later.
#[test]
fn a_cycle_of_locks_is_found_beside_a_loop() {
    let report = leaving().run(|| {
        with_server(|_| {
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = Arc::clone(&locks);
            let thread = thread::spawn(move || {
                let _one = other.0.lock().unwrap();
                let _two = other.1.lock().unwrap();
            });
            {
                let _one = locks.1.lock().unwrap();
                let _two = locks.0.lock().unwrap();
            }
            let _ = thread.join();
        });
    });
    let kinds: BTreeSet<_> = report
        .failures
        .iter()
        .map(|it| it.kind.to_string())
        .collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["deadlock"],
        "{report}"
    );
}

/// A statement of a random server or client. Values that decide anything are behind locks, so that a class has one
/// path.
#[derive(Clone, Debug)]
enum Statement {
    /// Reads a number into the register.
    Get(usize),
    /// Sets a number to 1.
    Put(usize),
    /// Accesses a variable without more.
    Touch(usize, bool),
    Lock(usize, Vec<Statement>),
    /// The statements, if the register is not 0.
    If(Vec<Statement>),
}

const LOCKS: usize = 2;
const VARIABLES: usize = 2;

fn draw(rng: &mut Rng, depth: usize, first_lock: usize) -> Vec<Statement> {
    let count = rng.usize(1..=2);
    let mut statements = Vec::new();
    for _ in 0..count {
        let variable = rng.usize(..VARIABLES);
        statements.push(match rng.u32(..12) {
            0..=1 => Statement::Get(variable),
            2..=3 => Statement::Put(variable),
            4..=5 if depth > 0 && first_lock < LOCKS => {
                let lock = rng.usize(first_lock..LOCKS);
                Statement::Lock(lock, draw(rng, depth - 1, lock + 1))
            }
            6..=7 if depth > 0 => Statement::If(draw(rng, depth - 1, first_lock)),
            _ => Statement::Touch(variable, rng.bool()),
        });
    }
    statements
}

/// A server whose rounds depend on a number.
fn draw_server(rng: &mut Rng) -> Vec<Statement> {
    let mut statements = vec![Statement::Get(rng.usize(..VARIABLES))];
    statements.push(Statement::If(draw(rng, 1, 0)));
    statements.extend(draw(rng, 1, 0));
    statements
}

#[derive(Clone, Debug)]
struct Program {
    server: Vec<Statement>,
    clients: Vec<Vec<Statement>>,
}

#[derive(Default)]
struct World {
    /// Each round of the server begins with it.
    tick: Mutex<()>,
    numbers: [Mutex<u32>; VARIABLES],
    locks: [Mutex<()>; LOCKS],
    variables: [Shared; VARIABLES],
}

/// A step of a round: what is done, to what.
type Steps = Vec<(u8, usize)>;

fn interpret(world: &World, all: &[Statement], register: &mut u32, steps: &mut Steps) {
    for statement in all {
        match statement {
            Statement::Get(number) => {
                steps.push((0, *number));
                *register = *world.numbers[*number].lock().unwrap();
            }
            Statement::Put(number) => {
                steps.push((1, *number));
                *world.numbers[*number].lock().unwrap() = 1;
            }
            Statement::Touch(variable, true) => {
                steps.push((2, *variable));
                world.variables[*variable].set(1);
            }
            Statement::Touch(variable, false) => {
                steps.push((3, *variable));
                world.variables[*variable].get();
            }
            Statement::Lock(lock, inner) => {
                steps.push((4, *lock));
                let _lock = world.locks[*lock].lock().unwrap();
                interpret(world, inner, register, steps);
                steps.push((5, *lock));
            }
            Statement::If(inner) if *register != 0 => interpret(world, inner, register, steps),
            Statement::If(_) => {}
        }
    }
}

impl Program {
    /// Runs the program; with `ends` the server itself ends before a round whose two predecessors are equal.
    fn run(&self, ends: bool) {
        let world = Arc::new(World::default());
        // So that variables have the same numbers in every execution.
        world.variables.iter().for_each(|variable| variable.set(0));
        let (served, server) = (Arc::clone(&world), self.server.clone());
        thread::spawn(move || {
            let mut rounds: Vec<Steps> = Vec::new();
            loop {
                if let [.., first, second] = &rounds[..]
                    && ends
                    && first == second
                {
                    return;
                }
                drop(served.tick.lock().unwrap());
                let mut steps = Vec::new();
                interpret(&served, &server, &mut 0, &mut steps);
                match rounds.len() {
                    0 | 1 => rounds.push(steps),
                    _ => {
                        rounds.remove(0);
                        rounds.push(steps);
                    }
                }
            }
        });
        for client in self.clients.clone() {
            let world = Arc::clone(&world);
            thread::spawn(move || interpret(&world, &client, &mut 0, &mut Vec::new()));
        }
    }
}

/// A race: the variable, and both threads with whether they write.
type Race = (usize, BTreeSet<(usize, bool)>);

#[derive(Default, PartialEq, Debug)]
struct Found {
    classes: BTreeSet<Vec<ClassEntry>>,
    races: BTreeSet<Race>,
}

fn found(checker: Checker, program: impl Fn() + Sync) -> (Report, Found) {
    let mut found = Found::default();
    let report = raddle::__private::run_observed(checker, &program, &mut |it: &Execution| {
        found.classes.insert(it.class());
        if let Some(conflict) = &it.conflict {
            let side = |access: raddle_engine::memory::races::Access| {
                (access.thread.index(), access.writes)
            };
            let threads = [conflict.first, conflict.second].map(side).into();
            found.races.insert((conflict.cell.index(), threads));
        }
    });
    (report, found)
}

#[test]
fn random_servers_have_the_classes_of_those_that_end_by_themselves() {
    let draw = |rng: &mut Rng| Program {
        server: draw_server(rng),
        clients: (0..rng.usize(1..=2)).map(|_| draw(rng, 2, 0)).collect(),
    };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let suite = Suite::new(40, 5);
    suite.run(draw, |program, _| {
        // Accesses are kept, so that executions with a race are whole.
        let limited = |checker: Checker| checker.predictions(Level::Warn).max_executions(3_000);
        let (expected, with_end) = found(limited(search()), || program.run(true));
        let (report, left) = found(limited(leaving()), || program.run(false));
        if !expected.exhausted {
            return Verdict::Skipped;
        }
        assert_eq!(report.guarantee(), Guarantee::Manners, "{report}");
        assert_eq!(left, with_end);
        if left.classes.len() <= 6 {
            let enumerate = limited(leaving()).strategy(Strategy::Enumerate);
            let enumerate = enumerate.max_executions(30_000);
            let (schedules, all) = found(enumerate, || program.run(false));
            if schedules.guarantee() == Guarantee::Manners {
                *counts.entry("compared with all schedules").or_default() += 1;
                assert_eq!(left, all);
            }
        }
        *counts.entry("classes").or_default() += left.classes.len();
        *counts.entry("races").or_default() += left.races.len();
        *counts.entry("servers with several rounds").or_default() +=
            usize::from(report.left_loops()[0].rounds > 2);
        Verdict::Agreed
    });
    println!("{counts:?}");
    if suite.is_usual() {
        assert!(counts["races"] > 0 && counts["servers with several rounds"] > 5);
    }
}
