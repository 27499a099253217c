//! The sections of the page, in order, and their text.

use std::time::Duration;

/// One command.
pub(super) struct Section {
    pub(super) title: &'static str,
    /// The first word of each of its lines.
    pub(super) name: &'static str,
    pub(super) command: &'static [&'static str],
    /// The subject of the measurement, and how to read it.
    pub(super) text: &'static str,
}

pub(super) const SECTIONS: [Section; 16] = [
    Section {
        title: "Executions per second",
        name: "speed",
        command: &["speed"],
        text: "A random walk of raddle's, shuttle's random scheduler and loom's search run the same programs. \
               Names describe the threads: `mutex_3x2` are three threads that take a lock and count, twice \
               each; `racy` loads and stores instead; `locks_10x10` are ten threads and ten locks. `x` are \
               raddle's executions for each of the other's. loom has at most five threads.",
    },
    Section {
        title: "One scheduling point",
        name: "point",
        command: &["speed", "point"],
        text: "Nanoseconds for one event of a program, when the same thread continues and when another does, under \
               sequential consistency and under RC11; next to a bare switch of the coroutines that threads run as.",
    },
    Section {
        title: "What looking for data races costs",
        name: "speed races",
        command: &["speed", "races"],
        text: "Executions per second with raddle's cells, which are watched, and with std's, which are not.",
    },
    Section {
        title: "What measuring coverage costs",
        name: "speed coverage",
        command: &["speed", "coverage"],
        text: "Executions per second with coverage and without.",
    },
    Section {
        title: "Larger programs, sampled",
        name: "scale",
        command: &["speed", "scale"],
        text: "Nanoseconds for one event, as executions have more threads and more events. `spread` is the \
               largest over the smallest: 1 if nothing grew.",
    },
    Section {
        title: "Larger programs with plain stores, sampled",
        name: "scale stores",
        command: &["speed", "scale", "stores"],
        text: "The same for programs of plain stores and compare-exchanges, which may follow any of several writes in \
               coherence order.",
    },
    Section {
        title: "Larger programs with SeqCst accesses beside weaker ones, sampled",
        name: "scale seq-cst",
        command: &["speed", "scale", "seq-cst"],
        text: "The same for `SeqCst` loads and stores in programs with a weaker access, where a stale source must fit \
               into an order of all `SeqCst` accesses.",
    },
    Section {
        title: "Larger programs, searched",
        name: "scale exhaustive",
        command: &["speed", "scale", "exhaustive"],
        text: "The same for the exhaustive search, under sequential consistency and under RC11.",
    },
    Section {
        title: "Running everything",
        name: "exhaust",
        command: &["exhaust", "--cut", "10s"],
        text: "Executions and seconds of processor time until a search ends: raddle's, which runs every class of \
               executions once; loom's; and shuttle's depth-first search. A search that has not ended after ten \
               seconds is stopped, and has `>`. loom's searches end sooner than they should where they miss executions. \
               The last lines are philosophers in a monitor, which no peer has, searched by one process and \
               by two: Lei and Carver published 901,752 sequences for six of them. The speedup is in wall-clock \
               time, and is meaningful only on an idle machine.",
    },
    Section {
        title: "How many classes there are, estimated",
        name: "estimate",
        command: &["estimate"],
        text: "Estimates from 4,000 runs each, where the true number is known.",
    },
    Section {
        title: "How evenly samplers draw",
        name: "samplers",
        command: &["samplers"],
        text: "Chi-square per degree of freedom over all orders of 5+5 and of 3+4+5 events, 1 if all are equally \
               likely; and how many of 2,343 ways to read 1,000 executions come to. [More](samplers.md).",
    },
    Section {
        title: "What guided search covers",
        name: "coverage",
        command: &["coverage"],
        text: "Requirements covered, and pairs of them, after 2,000 executions; the median of three seeds. \
               [More](coverage.md).",
    },
    Section {
        title: "Executions until a bug is found",
        name: "bugs",
        command: &["bugs", "--strategies", "auto"],
        text: "The [stories](stories.md), from a hundred seeds each: medians and 95th percentiles of raddle's \
               default and of shuttle's three schedulers. [How to read the last lines](stories.md#how-soon-they-are-found).",
    },
    Section {
        title: "How short failures become",
        name: "minimise",
        command: &["minimise"],
        text: "The same stories found by a random walk: preemptions and events as found and as minimised, and the \
               fewest preemptions with which any execution fails, `?` where that is not known.",
    },
    Section {
        title: "Memory of long checks",
        name: "memory",
        command: &["memory", "--executions", "3000000"],
        text: "Resident memory after one per cent of the executions, after half of them, and at the end.",
    },
    Section {
        title: "Programs that know nothing of raddle",
        name: "native",
        command: &["native"],
        text: "C and C++ programs, in all the ways that executions can begin anew; each is counted whole, with \
               every access observed. The cost of a point next to the published one of a prototype without \
               engine, clocks and race detection. Then unit tests of a plain Rust crate, built without \
               optimisation as `cargo test` does it, and with it as everything else here is; next to the same tests \
               written for shuttle, for loom and for raddle's library.",
    },
];

/// Returns the top of the page.
pub(super) fn before(machine: &str) -> String {
    format!(
        "# Numbers\n\n\
         Every figure that raddle says of itself, from one machine and one day. {machine}\n\n\
         ```console\n\
         cargo run --release -p raddle-bench -- all --markdown > docs/src/numbers.md\n\
         ```\n\n\
         makes this page. Rates are per second of processor time. A number with a peer's number beside it was \
         measured in alternation with it, in the same process, so that other load of the machine affects \
         both: ratios say more than rates, which differ from machine to machine by a factor of two and \
         more. Numbers of classes and executions are exact. `raddle-bench instructions` counts instructions \
         instead, which the load of a machine does not change; it compares two versions of raddle and is no part \
         of this page.\n\n"
    )
}

/// Returns the end of the page.
pub(super) fn after(time: Duration) -> String {
    format!(
        "## What was not measured\n\n\
         - Other processors: nothing here was run on anything but x86-64.\n\
         - More than two cores.\n\
         - Miri, TraceForge and others that have no common ground with all of these programs.\n\
         - How long it takes a person to understand a failure.\n\n\
         All of this took {:.0} minutes.\n",
        time.as_secs_f64() / 60.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments;

    #[test]
    fn every_command_can_be_typed() {
        for section in &SECTIONS {
            let words: Vec<String> = section.command.iter().map(|&word| word.into()).collect();
            assert!(arguments::parse(&words).is_ok(), "{}", section.title);
        }
    }
}
