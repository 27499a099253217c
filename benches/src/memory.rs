//! Memory of a long check: it must not grow.

use std::sync::Mutex;

use crate::programs::{Program, raddle};

/// Default number of executions.
pub(crate) const EXECUTIONS: u64 = 10_000_000;

/// The default programs.
pub(crate) const PROGRAMS: [Program; 2] = [Program::racy(2, 1), Program::mutex(3, 2)];

/// Prints a line for each program: resident memory after 1 % of the executions, when everything
/// has been set up, after half of them, and at the last.
pub(crate) fn run(programs: &[Program], executions: u64) {
    for &program in programs {
        let moments = [executions / 100, executions / 2, executions - 1];
        let sizes = Mutex::new(Vec::with_capacity(moments.len()));
        raddle::random_with(program, executions, |done| {
            if moments.contains(&done) {
                sizes
                    .lock()
                    .expect("nothing panics in between")
                    .push(resident_kib());
            }
        });
        let sizes = sizes.into_inner().expect("nothing panics in between");
        println!(
            "memory {program} executions={executions} rss_start_kib={} rss_middle_kib={} \
             rss_end_kib={}",
            sizes[0], sizes[1], sizes[2]
        );
    }
}

/// Returns the resident memory of the process.
fn resident_kib() -> u64 {
    status_kib("VmRSS:")
}

/// Returns the peak resident memory of the process.
pub(crate) fn peak_kib() -> u64 {
    status_kib("VmHWM:")
}

fn status_kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is there on Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let size = line.and_then(|line| line.trim().strip_suffix(" kB"));
    size.and_then(|size| size.parse().ok())
        .expect("the size is a number of kB")
}
