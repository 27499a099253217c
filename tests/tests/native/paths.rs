//! `--reduce paths` of native programs against the full search, on random programs in C: the same paths of threads, the
//! same failures, the same races.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use raddle_tests::suite::{Suite, Verdict};

use crate::support::{Finished, command_with, compile, folder, run};

/// Number of programs in one file of C, which is compiled and analysed once.
const BATCH: usize = 40;
/// Programs with more classes are skipped.
const MOST: &str = "3000";

/// A random program: the statements of its threads and, after these have ended, of `main`.
#[derive(Clone, Debug)]
struct Program {
    number: usize,
    threads: Vec<String>,
    end: String,
    settings: [(&'static str, &'static str); 2],
}

struct Drawing<'a> {
    rng: &'a mut Rng,
    text: String,
    /// True for programs whose plain accesses are explored.
    explores: bool,
    /// Number of plain accesses that may race and are left for the thread.
    races: usize,
    may_fail: bool,
    number: usize,
    thread: usize,
}

const ORDERS: [&str; 4] = ["relaxed", "acquire", "release", "seq_cst"];

impl Drawing<'_> {
    /// Returns an ordering, relaxed in most cases.
    fn order(&mut self, not: &str) -> String {
        let order = match self.rng.u8(..8) {
            0 => *self.rng.choice(ORDERS.iter()).unwrap(),
            _ => "relaxed",
        };
        let order = if order == not { "relaxed" } else { order };
        format!("memory_order_{order}")
    }

    fn variable(&mut self) -> String {
        format!("x{}_{}", self.number, self.rng.u8(..3))
    }

    /// Returns `r`, which may decide something, or `s`, which seldom does.
    fn register(&mut self) -> char {
        if self.rng.u8(..5) < 2 { 'r' } else { 's' }
    }

    fn block(&mut self, statements: usize, depth: usize) {
        for _ in 0..statements {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let (x, register) = (self.variable(), self.register());
        let (number, thread, constant) = (self.number, self.thread, self.rng.u8(1..4));
        let line = match self.rng.u8(..if depth < 2 { 24 } else { 18 }) {
            0..3 => {
                let order = self.order("release");
                format!("{register} = atomic_load_explicit(&{x}, {order});")
            }
            3..5 => {
                let order = self.order("acquire");
                format!("atomic_store_explicit(&{x}, {register} + {constant}, {order});")
            }
            5..8 => {
                let order = self.order("");
                format!("atomic_fetch_add_explicit(&{x}, {constant}, {order});")
            }
            8 => {
                let order = self.order("");
                format!("{register} = atomic_fetch_add_explicit(&{x}, {constant}, {order});")
            }
            9 => format!("{register} = get(&{x});"),
            10 => format!("put(&{x}, {register} + {constant});"),
            11 => format!("m{number}_{thread} = {register};"),
            12 => format!("{register} = m{number}_{thread};"),
            13 if self.rng.bool() => "s = r;".to_owned(),
            13 if self.rng.u8(..3) == 0 => "r = s;".to_owned(),
            14 if self.rng.u8(..4) == 0 => format!("a{number}_{thread}[{register} & 1] = 1;"),
            15 if self.rng.u8(..6) == 0 => {
                let order = self.order("");
                format!(
                    "{{ int e = {constant}; \
                     atomic_compare_exchange_strong_explicit(&{x}, &e, r + 1, {order}, memory_order_relaxed); }}"
                )
            }
            16 if self.rng.u8(..30) == 0 => "atomic_thread_fence(memory_order_seq_cst);".to_owned(),
            16 | 17 if self.explores && self.rng.bool() => format!("{register} = q{number};"),
            16 | 17 if self.explores => format!("q{number} = {register} + {constant};"),
            16 if self.races > 0 => {
                self.races -= 1;
                match self.rng.bool() {
                    true => format!("c{number} = 1;"),
                    false => format!("s = c{number};"),
                }
            }
            17 if self.may_fail => {
                self.may_fail = false;
                format!("assert(r != {constant});")
            }
            18..21 => {
                let of = if self.rng.u8(..8) == 0 { 's' } else { 'r' };
                let _ = writeln!(self.text, "if ({of} & {constant}) {{");
                let count = self.rng.usize(1..3);
                self.block(count, depth + 1);
                self.text += "} else {\n";
                let count = self.rng.usize(..2);
                self.block(count, depth + 1);
                "}".to_owned()
            }
            21..24 => {
                let _ = writeln!(self.text, "pthread_mutex_lock(&k{number});");
                match self.rng.u8(..3) {
                    0 => _ = writeln!(self.text, "p{number} = {register};"),
                    1 => _ = writeln!(self.text, "{register} = p{number};"),
                    _ => _ = writeln!(self.text, "p{number}++;"),
                }
                let count = self.rng.usize(..2);
                self.block(count, 2);
                format!("pthread_mutex_unlock(&k{number});")
            }
            _ => return,
        };
        self.text += &line;
        self.text.push('\n');
    }
}

fn draw(rng: &mut Rng, number: usize) -> Program {
    let settings = *rng
        .choice(&[
            [("RADDLE_MEMORY", "sc"), ("RADDLE_PLAIN", "race")],
            [("RADDLE_MEMORY", "rc11"), ("RADDLE_PLAIN", "race")],
            [("RADDLE_MEMORY", "sc"), ("RADDLE_PLAIN", "promote")],
            [("RADDLE_MEMORY", "sc"), ("RADDLE_PLAIN", "explore")],
        ])
        .unwrap();
    let count = rng.usize(2..4);
    let [failing, other] = [0; 2].map(|_| rng.usize(..count));
    let explores = settings[1].1 == "explore";
    let mut body = |thread: usize, length: usize| {
        let mut drawing = Drawing {
            rng: &mut *rng,
            text: String::new(),
            explores,
            // One pair of accesses at most.
            races: usize::from(!explores && (thread == failing || thread == other)),
            may_fail: thread == failing,
            number,
            thread,
        };
        drawing.block(length, 0);
        drawing.text
    };
    let length = if count == 2 { 7 } else { 5 };
    Program {
        number,
        threads: (0..count).map(|thread| body(thread, length)).collect(),
        end: body(count, 2),
        settings,
    }
}

/// Writes programs in C; the first argument is the number of the one to run.
fn source(programs: &[Program]) -> String {
    let mut text = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
        __attribute__((noinline)) static int get(_Atomic int *x) { return atomic_load_explicit(x, memory_order_relaxed); }\n\
        __attribute__((noinline)) static void put(_Atomic int *x, int v) { atomic_store_explicit(x, v, memory_order_relaxed); }\n"
        .to_owned();
    for program in programs {
        let number = program.number;
        let _ = writeln!(
            text,
            "_Atomic int x{number}_0, x{number}_1, x{number}_2;\nint p{number}, q{number}, c{number};\n\
             pthread_mutex_t k{number} = PTHREAD_MUTEX_INITIALIZER;"
        );
        let threads = program.threads.len();
        for thread in 0..=threads {
            let _ = writeln!(text, "int m{number}_{thread}, a{number}_{thread}[2];");
        }
        for (thread, body) in program.threads.iter().chain([&program.end]).enumerate() {
            let _ = writeln!(
                text,
                "static void *t{number}_{thread}(void *unused)\n{{\nint r = 0, s = 0;\n{body}\n(void)r; (void)s;\nreturn unused;\n}}"
            );
        }
        let each = |what: &str| -> String {
            (0..threads)
                .map(|it| what.replace('?', &it.to_string()))
                .collect()
        };
        let _ = writeln!(
            text,
            "static void run{number}(void)\n{{\npthread_t t[{threads}];\n{}{}t{number}_{threads}(0);\n}}",
            each(&format!("pthread_create(&t[?], 0, t{number}_?, 0);\n")),
            each("pthread_join(t[?], 0);\n"),
        );
    }
    text +=
        "int main(int count, char **arguments)\n{\nswitch (count > 1 ? atoi(arguments[1]) : 0) {\n";
    for Program { number, .. } in programs {
        let _ = writeln!(text, "case {number}: run{number}(); break;");
    }
    text + "}\nreturn 0;\n}\n"
}

/// Compiles programs.
fn build(programs: &[Program], level: &str, compiler: &str) -> PathBuf {
    let folder = folder("paths-random").join(std::process::id().to_string());
    std::fs::create_dir_all(&folder).unwrap();
    let (file, program) = (folder.join("random.c"), folder.join("random"));
    std::fs::write(&file, source(programs)).unwrap();
    let paths = [&file, &program].map(|path| path.to_str().unwrap());
    let words = ["cc", level, "-g", "-Wno-tsan", paths[0], "-o", paths[1]];
    let compilers = [("RADDLE_CC", compiler)];
    command_with(&words, &compilers).exits(0);
    program
}

/// What a search has shown.
#[derive(Debug)]
struct Shown {
    /// By execution, what each thread has done: the kind and the place of each operation.
    paths: BTreeSet<Vec<Vec<String>>>,
    /// Failed assertions and races.
    failures: BTreeSet<String>,
}

/// Runs a search of all classes, and returns their number with what it has shown; `None` if there are too many.
fn search(program: &Path, of: &Program, reduces: bool) -> Option<(usize, Shown)> {
    let trace = program.with_extension("trace");
    let _ = std::fs::remove_file(&trace);
    let number = of.number.to_string();
    let mut settings = vec![
        ("RADDLE_NATIVE", "program"),
        ("RADDLE_STRATEGY", "exhaustive"),
        ("RADDLE_KEEP_GOING", "1"),
        ("RADDLE_SHORTEN", "0"),
        ("RADDLE_MAX_EXECUTIONS", MOST),
        ("RADDLE_TRACE", trace.to_str().unwrap()),
    ];
    settings.extend(of.settings);
    settings.extend(reduces.then_some(("RADDLE_REDUCE", "paths")));
    let found = run(program, &[&number], &settings);
    let promise = match reduces {
        true => "every combination of paths was run",
        false => "every behaviour was run",
    };
    let promises = [promise, "not every behaviour was run"];
    assert!(
        promises.iter().any(|it| found.text.contains(it)),
        "{}",
        found.text
    );
    let (classes, paths) = paths(&std::fs::read_to_string(&trace).unwrap_or_default());
    let is_complete = !found.text.contains("not every behaviour was run");
    is_complete.then(|| {
        let failures = failures(&found);
        (classes, Shown { paths, failures })
    })
}

/// Returns the number of executions of the last search, and their paths.
fn paths(trace: &str) -> (usize, BTreeSet<Vec<Vec<String>>>) {
    let (mut paths, mut classes, mut last) = (BTreeSet::new(), 0, 0);
    for execution in trace.split("execution ").skip(1) {
        let mut threads: Vec<Vec<String>> = Vec::new();
        for line in execution.lines().skip(1) {
            if let Some(search) = line.strip_prefix("search ") {
                let search: u64 = search.parse().unwrap();
                if search != last {
                    (paths, classes, last) = (BTreeSet::new(), 0, search);
                }
                continue;
            }
            let (thread, rest) = line.split_once('.').unwrap();
            let (_, rest) = rest.split_once(' ').unwrap();
            let kind = rest.split([' ', '{', '(']).next().unwrap();
            let place = rest.rsplit(" at ").next().unwrap();
            let thread: usize = thread.parse().unwrap();
            threads.resize(threads.len().max(thread + 1), Vec::new());
            threads[thread].push(format!("{kind} {place}"));
        }
        classes += 1;
        paths.insert(threads);
    }
    (classes, paths)
}

/// Returns the places of failed assertions, and of the two accesses of each race.
fn failures(found: &Finished) -> BTreeSet<String> {
    let place = |line: &str| {
        let mut words = line.split([' ', ',', ';']);
        let place = words.find(|word| word.contains("random.c:"));
        place.unwrap_or("nowhere").to_owned()
    };
    let (mut all, mut before) = (BTreeSet::new(), "");
    for line in found.text.lines() {
        if line.contains("Assertion") {
            all.insert(place(line));
        } else if line.contains("nothing orders the two") {
            let mut pair = [place(before), place(line)];
            pair.sort_unstable();
            all.insert(pair.join(" and "));
        } else if line.contains("reads memory") || line.contains("writes memory") {
            before = line;
        }
    }
    all
}

/// Programs that are compiled together.
#[derive(Clone, Debug)]
struct Batch {
    programs: Vec<Program>,
    level: &'static str,
}

#[test]
fn random_native_programs_have_the_paths_failures_and_races_of_the_full_search() {
    let (mut all, mut left, mut compared, mut reduced) = (0, 0, 0, 0);
    Suite::new(1, 1).run(
        |rng| Batch {
            level: rng.choice(["-O0", "-O1", "-O2"]).unwrap(),
            programs: (0..BATCH).map(|number| draw(rng, number)).collect(),
        },
        |Batch { programs, level }, _| {
            let binary = build(programs, level, "gcc");
            for program in programs {
                let Some((full, expected)) = search(&binary, program, false) else {
                    continue;
                };
                let found = search(&binary, program, true);
                let (classes, shown) = found.expect("the reduced search is no larger");
                assert_eq!(shown.failures, expected.failures, "{program:?}");
                let lost = expected.paths.difference(&shown.paths).next();
                assert_eq!(lost, None, "a lost path of {program:?}");
                let new = shown.paths.difference(&expected.paths).next();
                assert_eq!(new, None, "a path that there is not of {program:?}");
                assert!(classes <= full, "{classes} of {full}");
                (all, left, compared) = (all + full, left + classes, compared + 1);
                reduced += usize::from(classes < full);
            }
            Verdict::Agreed
        },
    );
    println!(
        "{compared} programs with {all} classes; {reduced} were reduced, to {left} classes in all"
    );
    assert!(reduced > 0);
}

/// Returns the number of classes of a program of `irrelevant.c`, and whether a race was found.
fn classes(
    program: &Path,
    number: usize,
    settings: [(&'static str, &'static str); 2],
    reduces: bool,
) -> (u64, bool) {
    let reduce = ("RADDLE_REDUCE", if reduces { "paths" } else { "" });
    let settings = [
        ("RADDLE_NATIVE", "program"),
        ("RADDLE_STRATEGY", "exhaustive"),
        ("RADDLE_KEEP_GOING", "1"),
        settings[0],
        settings[1],
        reduce,
    ];
    let found = run(program, &vec!["more"; number], &settings);
    assert!(!found.text.contains("not every"), "{}", found.text);
    let promise = match reduces {
        true => "without values that decide nothing: ",
        false => "every behaviour was run: ",
    };
    let after = found.text.split(promise).nth(1);
    let number = after.and_then(|after| after.split(' ').next()?.parse().ok());
    let number = number.unwrap_or_else(|| panic!("{}", found.text));
    (number, found.text.contains("nothing orders the two"))
}

/// The numbers of the full search are those of the sources of reads and the orders of writes.
#[test]
fn relaxed_accesses_that_decide_nothing_are_left_out_and_no_others() {
    for level in ["-O0", "-O1"] {
        let program = compile(
            "gcc",
            "irrelevant.c",
            &format!("irrelevant{level}"),
            &[level],
        );
        let numbers = |number, memory| {
            let [full, reduced] = [false, true].map(|reduces| {
                let settings = [("RADDLE_PLAIN", "race"), ("RADDLE_MEMORY", memory)];
                classes(&program, number, settings, reduces)
            });
            assert_eq!(full.1, reduced.1, "{level} {number} {memory}");
            (full.0, reduced.0, full.1)
        };
        for memory in ["sc", "rc11"] {
            let weak = memory == "rc11";
            assert_eq!(numbers(0, memory), (90, 1, false), "statistics");
            // Of store buffering, the value of one read is needed: it is old or new.
            let all = if weak { 4 } else { 3 };
            assert_eq!(numbers(1, memory), (all, 2, false), "{level} {memory}");
            assert_eq!(numbers(3, memory), (3, 1, false), "passed on");
            assert_eq!(
                numbers(4, memory).0,
                numbers(4, memory).1,
                "passed on to a branch"
            );
            assert_eq!(numbers(6, memory), (3, 3, false), "copied to a branch");
            assert_eq!(numbers(7, memory), (3, 3, false), "with a fence");
        }
        // The flag is not used, but orders the accesses of what it protects. Without it they race.
        assert_eq!(numbers(2, "rc11"), (2, 2, true), "an unused flag");
    }
}

#[test]
fn a_loop_that_waits_and_reads_what_decides_nothing_is_not_said_to_be_exhausted() {
    let program = compile("gcc", "irrelevant.c", "irrelevant-loop", &["-O1"]);
    let settings = [
        ("RADDLE_NATIVE", "program"),
        ("RADDLE_STRATEGY", "exhaustive"),
        ("RADDLE_REDUCE", "paths"),
        ("RADDLE_MAX_EVENTS", "2000"),
        ("RADDLE_MAX_EXECUTIONS", "300"),
    ];
    let found = run(&program, &["more"; 8], &settings);
    found.says("not every behaviour was run");
}
