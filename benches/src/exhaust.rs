//! The work of running every class: raddle's exhaustive search, loom's, and shuttle's DFS.

use std::time::{Duration, Instant};

use raddle::{Checker, Strategy};

use crate::lock_free;
use crate::measure::{processor_time, processor_time_of_all};
use crate::programs::{Program, loom, raddle as ours, shuttle};

/// Default time limit of a search.
pub(crate) const CUT: Duration = Duration::from_secs(60);

/// The default programs.
pub(crate) const PROGRAMS: [Program; 9] = [
    Program::mutex(2, 1),
    Program::mutex(3, 1),
    Program::mutex(4, 1),
    Program::mutex(3, 2),
    Program::racy(2, 1),
    Program::racy(2, 2),
    Program::racy(3, 1),
    Program::racy(3, 2),
    Program::TwoLocks,
];

/// Prints a line for each program.
pub(crate) fn run(programs: &[Program], cut: Duration) {
    for &program in programs {
        print!("exhaust {program}");
        print_search("classes", "raddle_s", cut, || ours::exhaust(program));
        if loom::can_run(program) {
            print_search("loom_execs", "loom_s", cut, || loom::exhaust(program, cut));
        } else {
            print!(" loom_execs=- loom_s=-");
        }
        print_search("shuttle_dfs_execs", "shuttle_dfs_s", cut, || {
            shuttle::exhaust(program, cut)
        });
        println!();
    }
    if programs == PROGRAMS {
        lock_free::run(cut);
        dining(6);
    }
}

/// Prints lines for philosophers in a monitor, which no peer has, with one worker and with two. Lei
/// and Carver report 901,752 sequences for six of them, in 144.5 minutes on one machine of 2005.
///
/// Seconds are wall-clock time, from which the speedup is computed; it is meaningful only on an
/// idle machine. Processor time is meaningful on any: if two workers use no more of it than one,
/// they do not disturb each other.
pub(crate) fn dining(philosophers: usize) {
    let mut alone = 0.0;
    for workers in [1, 2] {
        let (start, start_processor) = (Instant::now(), processor_time_of_all());
        let report = Checker::new()
            .strategy(Strategy::Exhaustive)
            .workers(workers)
            .run(|| raddle_tests::programs::dining(philosophers));
        let seconds = start.elapsed().as_secs_f64();
        let processor = (processor_time_of_all() - start_processor).as_secs_f64();
        report.assert_ok();
        let classes = report.classes();
        print!(
            "exhaust dp{philosophers} classes={classes} seconds={seconds:.2} \
             processor_s={processor:.2} workers={workers}"
        );
        match workers {
            1 => alone = seconds,
            _ => print!(" speedup={:.2}", alone / seconds),
        }
        println!();
    }
}

/// Prints the result of one search. Peers do not report whether they reached the end, but a search
/// that did not has used all its time.
fn print_search(count: &str, seconds: &str, cut: Duration, search: impl Fn() -> u64) {
    let (start, start_processor) = (Instant::now(), processor_time());
    let executions = search();
    if start.elapsed() >= cut {
        print!(" {count}=>{executions} {seconds}=>{}", cut.as_secs_f64());
    } else {
        let time = (processor_time() - start_processor).as_secs_f64();
        print!(" {count}={executions} {seconds}={time:.4}");
    }
}
