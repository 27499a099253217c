//! What `--help` says besides the list of options.

pub const EXIT_CODES: &str = "\
Exit code: 0 all passed, 1 findings, 2 bad usage, a failed build, tests that are too long or an
internal error, 130 interrupted before anything was found.";

pub const TEST_HELP: &str = "\
Examples:
  cargo raddle test                               every test in binaries that use raddle
  cargo raddle test counter --budget 2m           tests with `counter` in the name, 2 minutes each
  cargo raddle test --strategy random --seed 7    the same random schedules on every run
  cargo raddle test deep --workers 4 --resume     four workers, from where it was interrupted
  cargo raddle test -p queue -- --release         one package, with a flag for `cargo test`
  cargo raddle test -- --lib -- --ignored         flags for `cargo test`, then for the tests
  cargo raddle test --report pages --junit j.xml  pages to look at, results for a build server
  cargo raddle test --native                      all tests as they are, with std's types
  cargo raddle test --json                        what happens as lines of JSON
  cargo raddle test --message-format json         failures as compiler messages, for editors

Each test runs in a process of its own. Doc tests are run by `cargo test --doc`. Ctrl-C asks running
tests to stop and shows what they have found; a second one ends them, a third this command.

Environment (a flag wins over the variable that it sets):
  RADDLE_MAX_TIME        set by --budget
  RADDLE_STRATEGY        set by --strategy
  RADDLE_MAX_EXECUTIONS  set by --max-executions
  RADDLE_MAX_EVENTS      set by --max-events
  RADDLE_SEED            set by --seed
  RADDLE_WORKERS         set by --workers
  RADDLE_RESUME          set by --resume
  RADDLE_REMEMBER        set by --remember
  RADDLE_REPORT          set by --report
  RADDLE_MEMORY          set by --memory
  RADDLE_PLAIN           set by --plain
  RADDLE_SUBSTRATE       set by --substrate
  RADDLE_RESTART         set by --restart
  RADDLE_LIBRARY         for --native: the libraddle_native.so to use, if not the one beside cargo-raddle
  RADDLE_STD             for --native: plain, instead of the library of `cargo raddle setup --std`
  RUSTC                  for --native: the compiler that cargo uses, if not rustc
  CARGO                  the cargo to run; cargo sets it
  NO_COLOR               no colours, if set
";

pub const REPLAY_HELP: &str = "\
Examples:
  cargo raddle replay tests::counter                        the schedule that its last failure saved
  cargo raddle replay tests::counter counter.schedule       a schedule in a file
  cargo raddle replay tests::counter r1.OAECaXQDAQ          a token that a failure printed
  cargo raddle replay tests::counter 'raddle schedule ...'  the text of a schedule
  cargo raddle replay --native tests::counter               of a test that does not use raddle
  cargo raddle replay tests::counter --graphviz run.dot     what happened, as a graph for `dot`
  cargo raddle replay tests::counter --std-trace run.std    the same for offline race predictors; what
                                                            its places are is in run.std.places

Environment:
  RADDLE_REPLAY  set to SCHEDULE, or to the file that has it
  RADDLE_DIR     where schedules are saved, if not in `target/raddle`
  CARGO          the cargo to run; cargo sets it
  NO_COLOR       no colours, if set
";

pub const COVERAGE_HELP: &str = "\
Examples:
  cargo raddle coverage                         what tests with `remember = true` have run and covered
  cargo raddle coverage --merge other.redb      add what another machine remembers, and show all of it

Environment:
  RADDLE_DIR  where `runs.redb` is, if not in `target/raddle`
  CARGO       the cargo to ask for the target folder; cargo sets it
  NO_COLOR    no colours, if set
";

pub const COMPLETIONS_HELP: &str = "\
Examples:
  cargo raddle completions bash > ~/.local/share/bash-completion/completions/cargo-raddle
  cargo raddle completions fish > ~/.config/fish/completions/cargo-raddle.fish
";

pub const MANUAL_HELP: &str = "\
Examples:
  cargo raddle manual ~/.local/share/man/man1    then `man cargo-raddle` and `man cargo-raddle-test`
";

pub const REPORT_HELP: &str = "\
Examples:
  cargo raddle test --report pages    check, and write a page for each check
  cargo raddle report pages           make the pages anew, and open the one that lists them

A page is one file that needs no network: send it to whom it may concern. What it is made from is
`report.json` beside it.
";
