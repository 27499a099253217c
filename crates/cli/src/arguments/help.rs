//! Help texts after the list of options: examples, environment, exit codes.

use std::fmt::Write as _;

use super::settings::SettingFlag;

pub const EXIT_CODES: &str = "\
Exit code: 0 all tests passed, 1 a failure was found, 2 wrong usage, failed build, exceeded event
limit or internal error, 130 interrupted before a failure was found.";

const TEST_EXAMPLES: &str = "\
Examples:
  cargo raddle test                               all tests in binaries that use raddle
  cargo raddle test counter --budget 2m           tests with `counter` in the name, 2 minutes each
  cargo raddle test --strategy random --seed 7    the same random schedules in every run
  cargo raddle test deep --workers 4 --resume     resume an interrupted search with four workers
  cargo raddle test -p queue --release            one package, with optimisations
  cargo raddle test --lib -- -- --ignored         one target, and a flag for the test binaries
  cargo raddle test --require bounded:2           less than this guarantee is a failure
  cargo raddle test --since main                  what has changed since the branch main
  cargo raddle test --report pages --junit j.xml  HTML report, and results for a CI server
  cargo raddle test --native                      unmodified tests that use the types of std
  cargo raddle test --strategy exhaustive --queue redis://10.0.0.1
                                                  searches shared with `cargo raddle work` elsewhere
  cargo raddle test --json                        events as lines of JSON
  cargo raddle test --message-format json         failures as compiler messages, for editors

Each test runs in its own process. Doc tests are not included; run `cargo test --doc` for them.
The first Ctrl-C stops the running tests and prints their findings, the second kills them, the third
ends this command.
";

const TEST_ENVIRONMENT: [(&str, &str); 6] = [
    (
        "RADDLE_QUEUE",
        "address of the queue for --queue without an address",
    ),
    (
        "RADDLE_LIBRARY",
        "with --native: path of libraddle_native.so; next to cargo-raddle by default",
    ),
    (
        "RADDLE_STD",
        "with --native: `plain` ignores the library of `cargo raddle setup --std`",
    ),
    (
        "RUSTC",
        "with --native: compiler used by cargo; `rustc` by default",
    ),
    ("CARGO", "cargo executable; set by cargo"),
    ("NO_COLOR", "disables colours if set"),
];

const RUN_EXAMPLES: &str = "\
Examples:
  cargo raddle run                                the program of the crate in this directory
  cargo raddle run --bin queue -- 3 items         one of its binaries, with arguments
  cargo raddle run -- ./queue                     an existing program, for example in C
  cargo raddle run --strategy exhaustive -- ./queue 3 items
  cargo raddle run --replay r1.OAECaXQDAQ -- ./queue
  cargo raddle run --queue redis://10.0.0.1 -- ./queue 3 items
                                                  shared with `cargo raddle work --program ./queue`

An existing program must have been compiled with `cargo raddle cc`, `cargo raddle c++` or
`-fsanitize=thread`.
";

const RUN_ENVIRONMENT: [(&str, &str); 4] = [
    ("RADDLE_REPLAY", "set by --replay"),
    (
        "RADDLE_LIBRARY",
        "path of libraddle_native.so; next to cargo-raddle by default",
    ),
    (
        "RADDLE_TRACE",
        "file for every event of every execution, one per line",
    ),
    (
        "OMP_NUM_THREADS",
        "number of threads of an OpenMP team; 2 by default",
    ),
];

pub const ALTERNATIVES: &str = "\
Examples:
  cargo raddle alternatives tests::counter                    the sends that each receive could have taken
  cargo raddle alternatives --native tests::counter           of a test that does not use raddle
  cargo raddle alternatives counter --steps-to 'main ready 0' the steps that this write depends on
  cargo raddle alternatives counter --save before.json        keep the list ...
  cargo raddle alternatives counter --compare before.json     ... and tell what an edit has changed in it

The test runs once. A listed source is possible in some execution, unless it is marked as undecided; what
comes behind it can be run with RADDLE_STRATEGY.

Environment:
  CARGO     cargo executable; set by cargo
  NO_COLOR  disables colours if set";

pub const REPLAY: &str = "\
Examples:
  cargo raddle replay tests::counter                        the schedule saved by the last failure
  cargo raddle replay counter                               the only test with this part in its name
  cargo raddle replay tests::counter counter.schedule       a schedule in a file
  cargo raddle replay tests::counter r1.OAECaXQDAQ          the token printed with a failure
  cargo raddle replay tests::counter 'raddle schedule ...'  the text of a schedule
  cargo raddle replay --native tests::counter               a test that does not use raddle
  cargo raddle replay tests::counter --graphviz run.dot     write the execution as a graph for `dot`
  cargo raddle replay tests::counter --std-trace run.std    write a trace for offline race predictors, and
                                                            its source locations to run.std.places

Environment:
  RADDLE_REPLAY  set to SCHEDULE or its file
  RADDLE_DIR     directory of saved schedules; `target/raddle` by default
  CARGO          cargo executable; set by cargo
  NO_COLOR       disables colours if set
";

pub const MUTANTS: &str = "\
Each change is made while the tests run, without another build: a weaker memory ordering of an atomic operation or a
fence, a fence or a notification left out, `notify_one` instead of `notify_all`, a wake-up of a parked thread or the
return of a permit left out. With `--tier source`, mistakes are made in a copy of the source, with a build for each: guards
that are dropped early or late, locks in another order, waits, joins and conditions left out or changed. A change that
no test notices is a gap in the tests, or makes no difference to them.

Examples:
  cargo raddle mutants                   all changes that the tests reach
  cargo raddle mutants --list            list them
  cargo raddle mutants queue --jobs 4    judged by the tests with `queue` in the name
  cargo raddle mutants --in-diff main    changes of lines that differ from the branch main
  cargo raddle mutants --shard 2/8       the second of eight parts, for one of eight machines
  cargo raddle mutants --tier source --list     mistakes in the source, each with its difference
  cargo raddle mutants --tier all --junit mutants.xml --html mutants.html
                                         both kinds, for a CI server and as a page
  cargo raddle mutants --queue           judged by `cargo raddle work` on other machines, from RADDLE_QUEUE

A check takes at most a minute, unless --budget gives another time, and a test with a change at most 90 s, unless
it takes long without one or --timeout gives another time. Code of tests stays as it is: files in `tests`,
`examples` and `benches`, and what follows `#[cfg(test)]` in others.

Environment:
  CARGO     cargo executable; set by cargo
  NO_COLOR  disables colours if set

Exit code: 0 every change was noticed, 1 some were not, 2 wrong usage, failed build, tests that fail as they are or
internal error, 130 interrupted.";

pub const ORDERINGS: &str = "\
Weakens the memory ordering of every atomic operation and fence that the tests reach, as far as every test still
passes with every behaviour run, all changes together. Only tests that run every behaviour within a minute, or the
time given by --budget, take part: where one of the others reaches an operation, its ordering stays.

Examples:
  cargo raddle orderings                        a table, and a patch
  cargo raddle orderings --patch weaker.patch   the patch in a file, for `git apply`
  cargo raddle orderings queue                  judged by the tests with `queue` in the name

The result is as good as the tests: an ordering that they do not need may be needed by other code. A change that the
memory model cannot judge, because it has no load buffering and hardware has, is listed and is no part of the patch.

Environment:
  CARGO     cargo executable; set by cargo
  NO_COLOR  disables colours if set

Exit code: 0 done, 2 wrong usage, failed build, tests that fail as they are or internal error, 130 interrupted.";

pub const REPORT: &str = "\
Examples:
  cargo raddle test --report pages    check, and write a page for each check
  cargo raddle report pages           rebuild the pages and open the index

Each page is a self-contained file that can be shared and read offline. It is built from the
`report.json` next to it.
";

pub const COVERAGE: &str = "\
Examples:
  cargo raddle coverage                     executions and coverage of tests with `remember = true`
  cargo raddle coverage --merge other.redb  merge the records of another machine first

Environment:
  RADDLE_DIR  directory of `runs.redb`; `target/raddle` by default
  CARGO       cargo executable, asked for the target directory; set by cargo
  NO_COLOR    disables colours if set
";

pub const WORK: &str = "\
Examples:
  cargo raddle work --queue redis://10.0.0.1         as many processes as there are cores
  cargo raddle work --queue redis://10.0.0.1 -j 2    two processes
  RADDLE_QUEUE=redis://:PASSWORD@10.0.0.1 cargo raddle work
  cargo raddle work --native                         for `cargo raddle test --native --queue`
  cargo raddle work --program ./queue                for `cargo raddle run --queue -- ./queue 3 items`

Workers may join and leave at any time, and end with the run. A worker needs the same build of the tests as the front
end; settings of the checks come from the front end. An address with a password belongs into the variable, because
other users of a machine can see command lines.

Environment:
  RADDLE_QUEUE  address of the queue: redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]
  CARGO         cargo executable; set by cargo
  NO_COLOR      disables colours if set
";

pub const QUEUE: &str = "\
Examples:
  cargo raddle queue status --queue redis://10.0.0.1         searches, workers and failures
  cargo raddle queue status --json --queue redis://10.0.0.1  the same as a JSON object
  cargo raddle queue clear --queue redis://10.0.0.1          remove an unfinished run

Environment:
  RADDLE_QUEUE  address of the queue: redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]
";

pub const COMPILER: &str = "\
Examples:
  cargo raddle cc -o queue queue.c                gcc with the flags for raddle
  cargo raddle c++ -O2 -c queue.cpp               g++ with the flags for raddle
  make CC='cargo raddle cc' CXX='cargo raddle c++'
  RADDLE_CC=clang cargo raddle cc -o queue queue.c

Environment:
  RADDLE_CC       C compiler; `gcc` by default
  RADDLE_CXX      C++ compiler; `g++` by default
  RADDLE_LIBRARY  path of libraddle_native.so; next to cargo-raddle by default
";

pub const SETUP: &str = "\
Examples:
  cargo raddle setup        once after `cargo install`; takes a few minutes
  cargo raddle setup --std  once for each compiler version; needs `rustup component add rust-src`

Environment:
  CARGO  cargo executable; set by cargo
  RUSTC  with --std: compiler to build the standard library for; `rustc` by default
";

pub const COMPLETIONS: &str = "\
Examples:
  cargo raddle completions bash > ~/.local/share/bash-completion/completions/cargo-raddle
  cargo raddle completions fish > ~/.config/fish/completions/cargo-raddle.fish
";

pub const MANUAL: &str = "\
Examples:
  cargo raddle manual ~/.local/share/man/man1    then `man cargo-raddle` and `man cargo-raddle-test`
";

pub fn test() -> String {
    with_settings(TEST_EXAMPLES, &TEST_ENVIRONMENT)
}

pub fn run() -> String {
    with_settings(RUN_EXAMPLES, &RUN_ENVIRONMENT)
}

pub fn with_exit_codes(text: &str) -> String {
    format!("{text}\n{EXIT_CODES}")
}

/// Returns the examples, the variables of all setting flags, and these other variables, as text.
fn with_settings(examples: &str, others: &[(&str, &str)]) -> String {
    let mut text =
        format!("{examples}\nEnvironment (a flag takes precedence over its variable):\n");
    let mut line = |variable: &str, meaning: &str| {
        let _ = writeln!(text, "  {variable:<21}  {meaning}");
    };
    for setting in SettingFlag::all() {
        line(setting.variable, &format!("set by --{}", setting.flag.name));
    }
    for (variable, meaning) in others {
        line(variable, meaning);
    }
    with_exit_codes(&text)
}
