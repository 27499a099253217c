//! The programs whose searches are shared. They are ignored tests of this binary, which the command line runs as it
//! runs a user's.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fastrand::Rng;
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Level, Strategy};
use raddle_tests::programs::dining;
use raddle_tests::published::readers_and_writers_continuing;
use raddle_tests::random_program::Program;

/// Number of random programs, and their seeds.
pub const RANDOM: u64 = 12;
const SEEDS: [u64; RANDOM as usize] = [119, 146, 423, 574, 582, 632, 692, 719, 872, 931, 973, 1099];

fn exhaustive() -> Checker {
    Checker::new().strategy(Strategy::Exhaustive)
}

/// The number of classes and the sum of the upper halves of their fingerprints, by a search of this process.
pub fn alone(checker: Checker, body: impl Fn() + Send + Sync) -> (u64, u64) {
    let sum = AtomicU64::new(0);
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        sum.fetch_add(execution.fingerprint() >> 32, Relaxed);
    });
    (report.executions, sum.into_inner())
}

/// The classes of the philosophers.
pub fn dp_alone(philosophers: usize) -> (u64, u64) {
    alone(exhaustive(), move || dining(philosophers))
}

/// The classes of a random program.
pub fn random_alone(number: u64) -> (u64, u64) {
    let (checker, program) = random(number);
    alone(checker, move || program.run())
}

/// A random program of the seeds below.
fn random(number: u64) -> (Checker, Program) {
    let program = Program::random(&mut Rng::with_seed(SEEDS[number as usize]));
    let checker = program
        .checker(Strategy::Exhaustive)
        .shorten(false)
        .lock_order(Level::Allow);
    (checker, program)
}

/// Prints seeds of programs that have some hundred classes.
#[test]
#[ignore = "for a new list of seeds"]
fn print_seeds() {
    let small = (0..).filter(|&seed| {
        let program = Program::random(&mut Rng::with_seed(seed));
        let checker = program.checker(Strategy::Exhaustive).shorten(false);
        let limited = checker.lock_order(Level::Allow).keep_going(true);
        let limited = limited.max_executions(1_000);
        (100..1_000).contains(&alone(limited, move || program.run()).0)
    });
    println!("{:?}", small.take(50).collect::<Vec<u64>>());
    let seeds = (0..).filter(|&seed| {
        let program = Program::random(&mut Rng::with_seed(seed));
        let checker = program.checker(Strategy::Exhaustive).shorten(false);
        let limited = checker.lock_order(Level::Allow).max_executions(3_000);
        (300..3_000).contains(&alone(limited, move || program.run()).0)
    });
    println!("{:?}", seeds.take(RANDOM as usize).collect::<Vec<u64>>());
}

/// Five philosophers who take their time, so that there is time to disturb them.
#[test]
#[ignore = "run by a queue"]
fn slow_dp5() {
    let report = exhaustive().run(|| {
        std::thread::sleep(std::time::Duration::from_micros(150));
        dining(5);
    });
    report.assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn dp4() {
    let address = std::env::var_os("RADDLE_QUEUE");
    assert!(address.is_none(), "a test can read a password");
    exhaustive().run(|| dining(4)).assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn dp5() {
    exhaustive().run(|| dining(5)).assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn dp6() {
    exhaustive().run(|| dining(6)).assert_ok();
}

/// The published program RW-monitorSC, with 61,716 sequences (Lei and Carver).
#[test]
#[ignore = "run by a queue"]
fn rw_monitor_sc() {
    exhaustive().run(readers_and_writers_continuing).assert_ok();
}

pub fn rw_alone() -> (u64, u64) {
    alone(exhaustive(), readers_and_writers_continuing)
}

/// Fifty random programs, one after the other, each with a check of its own.
#[test]
#[ignore = "run by a queue"]
fn fifty() {
    for seed in fifty_seeds() {
        let program = Program::random(&mut Rng::with_seed(seed));
        let checker = program.checker(Strategy::Exhaustive).shorten(false);
        checker
            .lock_order(Level::Allow)
            .named(format!("random {seed}"))
            .keep_going(true)
            .run(move || program.run());
    }
}

/// Seeds of programs with some hundred classes, for a longer comparison.
const FIFTY: [u64; 50] = [
    25, 73, 109, 119, 128, 155, 212, 274, 283, 288, 352, 367, 377, 386, 390, 423, 521, 582, 611,
    632, 665, 715, 719, 765, 780, 824, 829, 855, 872, 906, 931, 966, 983, 1263, 1269, 1277, 1283,
    1288, 1296, 1305, 1326, 1338, 1343, 1349, 1360, 1463, 1573, 1689, 1746, 1749,
];

pub fn fifty_seeds() -> impl Iterator<Item = u64> {
    FIFTY.into_iter()
}

pub fn fifty_alone(seed: u64) -> (u64, u64) {
    let program = Program::random(&mut Rng::with_seed(seed));
    let checker = program.checker(Strategy::Exhaustive).shorten(false);
    let checker = checker.lock_order(Level::Allow).keep_going(true);
    alone(checker, move || program.run())
}

/// A random program of one of four kinds.
fn generated(seed: u64) -> (Checker, Program) {
    let rng = &mut Rng::with_seed(seed);
    let program = match seed % 4 {
        0 | 1 => Program::random(rng),
        2 => Program::random(rng).with_loops(rng),
        _ => Program::random_readers(rng),
    };
    let checker = program.checker(Strategy::Exhaustive).shorten(false);
    (checker.lock_order(Level::Allow), program)
}

/// The fingerprints of the classes of such a program; `None` if there are more than this number of executions.
pub fn classes_of_generated(seed: u64, most: u64) -> Option<Vec<u64>> {
    let (checker, program) = generated(seed);
    let mut classes = Vec::new();
    let checker = checker.max_executions(most);
    let report =
        raddle::__private::run_observed(checker, move || program.run(), &mut |execution| {
            classes.push(execution.fingerprint());
        });
    report.exhausted.then_some(classes)
}

/// The programs of the seeds in this variable, one after the other.
#[test]
#[ignore = "run by a queue"]
fn generated_ones() {
    let seeds = std::env::var(SEED_LIST).expect("a list of seeds");
    for seed in seeds.split(',').map(|seed| seed.parse().unwrap()) {
        let (checker, program) = generated(seed);
        checker
            .named(format!("generated {seed}"))
            .run(move || program.run());
    }
}

/// The variable with a list of seeds.
pub const SEED_LIST: &str = "RADDLE_TEST_SEEDS";

/// A test with much to do before its check.
#[test]
#[ignore = "run by a queue"]
fn starts_slowly() {
    std::thread::sleep(std::time::Duration::from_millis(1500));
    exhaustive().run(|| dining(3)).assert_ok();
}

/// For measurements: executions that take no processor time.
#[test]
#[ignore = "run by a queue"]
fn slept_dp5() {
    let report = exhaustive().run(|| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        dining(5);
    });
    report.assert_ok();
}

/// The same for a longer time.
#[test]
#[ignore = "run by a queue"]
fn slept_dp6() {
    let report = exhaustive().run(|| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        dining(6);
    });
    report.assert_ok();
}

/// Two checks in one test: a process gets to the second one only with the results of the first.
#[test]
#[ignore = "run by a queue"]
fn two_checks() {
    let first = exhaustive().run(|| dining(3));
    assert_eq!(first.classes(), 30);
    assert!(first.exhausted);
    let second = exhaustive().run(|| dining(4));
    assert_eq!(second.classes(), 624);
}

/// Two locks in both orders: a deadlock in some classes.
fn crossed() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let other = locks.clone();
    let thread = raddle::thread::spawn(move || {
        let _second = other.1.lock().unwrap();
        let _first = other.0.lock().unwrap();
    });
    let _first = locks.0.lock().unwrap();
    let _second = locks.1.lock().unwrap();
    drop((_first, _second));
    thread.join().unwrap();
}

#[test]
#[ignore = "run by a queue"]
fn deadlock() {
    exhaustive().run(crossed).assert_ok();
}

/// A failure late in a search of many classes, and others before it.
#[test]
#[ignore = "run by a queue"]
fn several_failures() {
    let report = exhaustive().keep_going(true).run(|| {
        dining(4);
        let value = raddle::choose(0..4);
        assert!(value != 1, "the value is one");
        assert!(value != 3, "the value is three");
    });
    report.assert_ok();
}

/// A failure whose first time is recorded, in a search that goes on.
#[test]
#[ignore = "run by a queue"]
fn fails_at_a_time() {
    let report = exhaustive().keep_going(true).run(|| {
        std::thread::sleep(std::time::Duration::from_micros(300));
        dining(4);
        if raddle::choose(0..4) == 1 {
            if let Some(path) = std::env::var_os(FAILED) {
                let file = std::fs::File::options()
                    .write(true)
                    .create_new(true)
                    .open(path);
                let _ = file.and_then(|mut file| {
                    std::io::Write::write_all(&mut file, now().to_string().as_bytes())
                });
            }
            panic!("the value is one");
        }
    });
    report.assert_ok();
}

/// The variable with the file for that time.
pub const FAILED: &str = "RADDLE_TEST_FAILED";

/// The milliseconds since the epoch.
pub fn now() -> u128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_millis()
}

/// The watchdog ends the process in the middle of an execution, after a report.
#[test]
#[ignore = "run by a queue"]
fn hangs() {
    exhaustive()
        .watchdog(std::time::Duration::from_millis(300))
        .run(|| {
            if raddle::choose(0..3) == 2 {
                std::thread::sleep(std::time::Duration::from_secs(60));
            }
        })
        .assert_ok();
}

/// The process ends without a word.
#[test]
#[ignore = "run by a queue"]
fn aborts() {
    exhaustive()
        .run(|| {
            if raddle::choose(0..3) == 2 {
                std::process::abort();
            }
        })
        .assert_ok();
}

/// The executions, seed and samplers of sampling checks.
pub const SAMPLED: u64 = 5_000;
pub const SEED: u64 = 11;
pub const SAMPLERS: [(&str, Strategy); 10] = [
    ("random", Strategy::Random),
    ("pct", Strategy::Pct { depth: 3 }),
    ("pos", Strategy::Pos),
    ("urw", Strategy::Urw),
    ("surw", Strategy::Surw),
    ("history", Strategy::History),
    ("noise", Strategy::Noise { probability: 0.2 }),
    ("race", Strategy::RaceDirected),
    ("atomicity", Strategy::AtomicityDirected),
    ("deadlock", Strategy::DeadlockDirected),
];

pub fn sampling(strategy: Strategy) -> Checker {
    Checker::new()
        .strategy(strategy)
        .seed(SEED)
        .max_executions(SAMPLED)
}

macro_rules! sampled_programs {
    ($($name:ident = $number:literal)*) => {$(
        #[test]
        #[ignore = "run by a queue"]
        fn $name() {
            sampling(SAMPLERS[$number].1.clone()).run(|| dining(4)).assert_ok();
        }
    )*};
}
sampled_programs! {
    sampled_random = 0 sampled_pct = 1 sampled_pos = 2 sampled_urw = 3 sampled_surw = 4 sampled_history = 5
    sampled_noise = 6 sampled_race = 7 sampled_atomicity = 8 sampled_deadlock = 9
}

/// Executions that take their time, so that there is time to disturb them.
#[test]
#[ignore = "run by a queue"]
fn slowly_sampled() {
    sampling(Strategy::Random)
        .run(|| {
            std::thread::sleep(std::time::Duration::from_micros(800));
            dining(4);
        })
        .assert_ok();
}

/// More classes than are counted exactly.
#[test]
#[ignore = "run by a queue"]
fn many_sampled() {
    many().run(|| dining(6)).assert_ok();
}

pub fn many() -> Checker {
    Checker::new().strategy(Strategy::Random).seed(3)
}

/// Executions until the time is over.
#[test]
#[ignore = "run by a queue"]
fn timed() {
    Checker::new()
        .strategy(Strategy::Urw)
        .max_time(std::time::Duration::from_millis(1500))
        .run(|| {
            std::thread::sleep(std::time::Duration::from_micros(500));
            dining(4);
        })
        .assert_ok();
}

/// A failure that a sampler finds.
#[test]
#[ignore = "run by a queue"]
fn deadlock_sampled() {
    Checker::new()
        .strategy(Strategy::Random)
        .seed(5)
        .run(crossed)
        .assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn delayed() {
    Checker::new()
        .strategy(Strategy::Delay { bound: 1 })
        .run(|| dining(3))
        .assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn limited() {
    exhaustive()
        .max_executions(3_001)
        .run(|| dining(5))
        .assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn limited_in_time() {
    exhaustive()
        .max_time(std::time::Duration::from_millis(1200))
        .run(|| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            dining(5);
        })
        .assert_ok();
}

/// `Auto` with a search that ends within its half, and with one that does not.
#[test]
#[ignore = "run by a queue"]
fn auto_small() {
    Checker::new()
        .max_executions(1_500)
        .run(|| dining(4))
        .assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn auto_large() {
    Checker::new()
        .seed(SEED)
        .max_executions(AUTO)
        .run(|| dining(5))
        .assert_ok();
}

/// The executions of `auto_large`.
pub const AUTO: u64 = 6_001;

#[test]
#[ignore = "run by a queue"]
fn auto_timed() {
    Checker::new()
        .max_time(std::time::Duration::from_millis(1600))
        .run(|| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            dining(5);
        })
        .assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn reduced_auto() {
    Checker::new()
        .reduce(raddle::Reduction::Symmetry)
        .run(|| dining(3))
        .assert_ok();
}

/// Writes the coverage of a check into the directory of the machine.
fn keep_coverage(report: &raddle::Report) {
    let coverage = report.coverage();
    let mut text = format!("{}\n", coverage.executions);
    for (goal, covered) in coverage.goals() {
        text += &format!("{covered}\t{goal}\n");
    }
    let directory = std::env::var_os("QUEUE_TEST").expect("it is set");
    std::fs::write(std::path::Path::new(&directory).join("coverage"), text).unwrap();
}

/// A program with requirements that few classes cover: each way out of the table takes a lock of its own place.
pub fn ways_out(philosophers: usize) {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let other = locks.clone();
    let way = raddle::choose(0..6);
    let thread = raddle::thread::spawn(move || {
        *other.0.lock().unwrap() += 1;
        *other.1.lock().unwrap() += 1;
    });
    dining(philosophers);
    match way {
        0 => *locks.0.lock().unwrap() += 1,
        1 => *locks.0.lock().unwrap() += 2,
        2 => *locks.1.lock().unwrap() += 3,
        3 => *locks.1.lock().unwrap() += 4,
        4 => *locks.0.lock().unwrap() += 5,
        _ => *locks.1.lock().unwrap() += 6,
    }
    thread.join().unwrap();
}

#[test]
#[ignore = "run by a queue"]
fn covered() {
    let checker = exhaustive().coverage(true);
    keep_coverage(&checker.run(|| ways_out(2)));
}

/// The same with executions that take their time, so that there is time to disturb them.
#[test]
#[ignore = "run by a queue"]
fn slowly_covered() {
    let checker = exhaustive().coverage(true);
    keep_coverage(&checker.run(|| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        ways_out(2);
    }));
}

/// A search that is not run to its end.
#[test]
#[ignore = "run by a queue"]
fn covered_in_part() {
    let checker = exhaustive().coverage(true).max_executions(40);
    keep_coverage(&checker.run(|| ways_out(2)));
}

#[test]
#[ignore = "run by a queue"]
fn covered_at_random() {
    let checker = sampling(Strategy::Random).coverage(true);
    keep_coverage(&checker.max_executions(300).run(|| ways_out(3)));
}

#[test]
#[ignore = "run by a queue"]
fn guided() {
    keep_coverage(&guided_checker().max_executions(300).run(|| ways_out(3)));
}

/// Executions of several generations of streams, each of which is guided by what earlier ones have covered.
#[test]
#[ignore = "run by a queue"]
fn guided_for_long() {
    keep_coverage(&guided_checker().max_executions(GUIDED).run(|| ways_out(3)));
}

/// Executions of it: 8, 8 and 4 streams of 64.
pub const GUIDED: u64 = 1_280;

pub fn guided_checker() -> Checker {
    let metric = raddle::Metrics::SYNC_PAIR_DEF_USE;
    sampling(Strategy::Coverage { metric })
}

/// The classes within a bound of preemptions.
#[test]
#[ignore = "run by a queue"]
fn bounded() {
    exhaustive().preemptions(1).run(|| dining(4)).assert_ok();
}

pub fn bounded_alone() -> (u64, u64) {
    alone(exhaustive().preemptions(1), || dining(4))
}

#[test]
#[ignore = "run by a queue"]
fn bounded_auto() {
    Checker::new().preemptions(1).run(|| dining(3)).assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn remembered() {
    exhaustive().remember(true).run(crossed).assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn remembered_random() {
    sampling(Strategy::Random)
        .remember(true)
        .run(crossed)
        .assert_ok();
}

#[test]
#[ignore = "run by a queue"]
fn verified() {
    exhaustive()
        .verify_completeness(true)
        .run(|| dining(2))
        .assert_ok();
}

/// Orderings that are needed, and some that are not: for changes of operations.
fn hand_over(is_slow: bool) {
    use raddle::sync::atomic::{AtomicU32, Ordering};
    if is_slow {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let value = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    let other = value.clone();
    let thread = raddle::thread::spawn(move || {
        other.0.store(7, Ordering::Relaxed);
        other.1.store(1, Ordering::Release);
    });
    if value.1.load(Ordering::Acquire) == 1 {
        assert_eq!(value.0.load(Ordering::Relaxed), 7);
    }
    thread.join().unwrap();
    // No other thread is left.
    value.1.swap(2, Ordering::AcqRel);
}

#[test]
#[ignore = "run by a queue"]
fn mutated_first() {
    raddle::check(|| hand_over(false));
}

#[test]
#[ignore = "run by a queue"]
fn mutated_second() {
    raddle::check(|| hand_over(true));
}

macro_rules! random_programs {
    ($($name:ident = $number:literal)*) => {$(
        #[test]
        #[ignore = "run by a queue"]
        fn $name() {
            let (checker, program) = random($number);
            // Failures are part of random programs.
            checker.run(move || program.run());
        }
    )*};
}
random_programs! {
    random_00 = 0 random_01 = 1 random_02 = 2 random_03 = 3 random_04 = 4 random_05 = 5
    random_06 = 6 random_07 = 7 random_08 = 8 random_09 = 9 random_10 = 10 random_11 = 11
}
