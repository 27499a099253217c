//! C and C++ programs under control: the programs of `tests/native/`, built with the system's compilers.

use crate::support::{self, ENUMERATE, EXHAUSTIVE, build, command_with, compile, run};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, Semaphore};
use raddle::{Checker, Memory, Strategy, thread};

/// What the search finds in the library for the same program.
fn classes(body: impl Fn() + Send + Sync) -> u64 {
    let checker = Checker::new()
        .memory(Memory::Sc)
        .strategy(Strategy::Exhaustive);
    let report = checker.run(body);
    report.assert_ok();
    assert!(report.exhausted);
    report.classes()
}

/// Runs all of them as threads and waits for them.
fn run_all(bodies: Vec<Box<dyn FnOnce() + Send>>) {
    let threads: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn repeat(count: usize, body: impl Fn() + Clone + Send + 'static) {
    let body = || Box::new(body.clone()) as Box<dyn FnOnce() + Send>;
    run_all((0..count).map(|_| body()).collect());
}

fn load_and_store(count: usize) {
    let x = Arc::new(AtomicU32::new(0));
    repeat(count, move || x.store(x.load(SeqCst) + 1, SeqCst));
}

fn locked_add(count: usize) {
    let shared = Arc::new(Mutex::new(0));
    let other = shared.clone();
    repeat(count, move || *other.lock().unwrap() += 1);
    assert_eq!(*shared.lock().unwrap(), count);
}

fn permitted_add() {
    let (x, semaphore) = (AtomicU32::new(0), Semaphore::new(1));
    let both = Arc::new((x, semaphore));
    repeat(3, move || {
        both.1.acquire();
        both.0.store(both.0.load(SeqCst) + 1, SeqCst);
        both.1.release();
    });
}

fn store_buffering() {
    let [x, y, r, s] = std::array::from_fn(|_| Arc::new(AtomicU32::new(0)));
    let (results, [a, b, c, d]) = ([r.clone(), s.clone()], [x.clone(), y.clone(), x, y]);
    run_all(vec![
        Box::new(move || {
            a.store(1, SeqCst);
            r.store(b.load(SeqCst), SeqCst);
        }),
        Box::new(move || {
            d.store(1, SeqCst);
            s.store(c.load(SeqCst), SeqCst);
        }),
    ]);
    assert!(results.iter().any(|it| it.load(SeqCst) > 0));
}

fn philosophers() {
    let forks: [_; 3] = std::array::from_fn(|_| Arc::new(Mutex::new(())));
    let dine = |first: usize, second: usize| {
        let (first, second) = (forks[first].clone(), forks[second].clone());
        Box::new(move || {
            let _first = first.lock().unwrap();
            let _second = second.lock().unwrap();
        }) as Box<dyn FnOnce() + Send>
    };
    run_all(vec![dine(0, 1), dine(1, 2), dine(0, 2)]);
}

#[test]
fn the_coverage_of_a_program_is_printed_where_it_is_measured() {
    let program = compile("gcc", "program.c", "coverage", &[]);
    let words = ["run", "--", program.to_str().unwrap()];
    let without = command_with(&words, &[]);
    assert!(!without.text.contains("coverage after"), "{}", without.text);
    command_with(&words, &[("RADDLE_COVERAGE", "1")])
        .says(": coverage after ")
        .says("  metric          covered    known  infeasible\n");
}

#[test]
fn there_are_as_many_classes_as_in_the_library() {
    let program = build("counts.c", "counts");
    let all = |name: &str| {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        finished.exits(0).all_classes()
    };
    // Of n threads that take a lock or add to a counter, any order is possible: n!.
    assert_eq!(all("mutex-2"), 2);
    assert_eq!(all("mutex-3"), 6);
    assert_eq!(all("mutex-4"), 24);
    assert_eq!(all("fetch-add-3"), 6);
    assert_eq!(all("semaphore-3"), 6);
    // Both see the other's store, or one does.
    assert_eq!(all("store-buffering"), 3);
    assert_eq!(all("load-store-2"), classes(|| load_and_store(2)));
    assert_eq!(all("load-store-3"), classes(|| load_and_store(3)));
    assert_eq!(all("mutex-3"), classes(|| locked_add(3)));
    assert_eq!(all("semaphore-3"), classes(permitted_add));
    assert_eq!(all("store-buffering"), classes(store_buffering));
    assert_eq!(all("philosophers"), classes(philosophers));
}

#[test]
fn weak_memory_is_explored_when_asked_for() {
    let program = build("counts.c", "weak");
    let all = |name: &str, memory: &str| {
        let finished = run(&program, &[name], &[EXHAUSTIVE, ("RADDLE_MEMORY", memory)]);
        finished.exits(0).all_classes()
    };
    // Each load sees the other's store or not; that neither does takes weak memory.
    assert_eq!(all("store-buffering-relaxed", "sc"), 3);
    assert_eq!(all("store-buffering-relaxed", "rc11"), 4);
    assert_eq!(all("store-buffering", "rc11"), 3);
    // Release and acquire put the plain accesses in order.
    assert_eq!(all("message-passing", "rc11"), 2);
}

#[test]
fn a_program_may_check_several_functions() {
    let program = build("twice.c", "twice");
    let checked = run(&program, &[], &[EXHAUSTIVE]);
    checked
        .exits(0)
        .says("raddle: lossy: failed assertion after ")
        .says("raddle: lossless: every behaviour was run: 2 classes");
    // The thread that calls the check is not one beside it.
    assert!(
        !checked.text.contains("started before the check"),
        "{}",
        checked.text
    );
}

#[test]
fn every_schedule_has_no_more_classes_than_the_search() {
    let program = build("counts.c", "enumerated");
    for name in ["load-store-2", "fetch-add-3", "mutex-2", "store-buffering"] {
        let [search, every] = [EXHAUSTIVE, ENUMERATE]
            .map(|strategy| run(&program, &[name], &[strategy]).exits(0).all_classes());
        assert_eq!(search, every, "{name}");
    }
}

#[test]
fn a_failing_assertion_is_told_with_its_lines_and_replays() {
    let program = build("lost_update.c", "assertion");
    let found = run(&program, &[], &[EXHAUSTIVE]);
    found
        .exits(1)
        .says("main failed an assertion at tests/native/lost_update.c:18:1:\n")
        .says("  atomic_load(&counter) == 2\n")
        .says("load counter = 0 lost_update.c:8")
        .says("store 1 to counter lost_update.c:9");
    let replayed = run(&program, &[], &[("RADDLE_REPLAY", found.schedule())]);
    replayed
        .exits(1)
        .says("  atomic_load(&counter) == 2\n")
        .says("failed assertion after 1 execution (replay)");
}

#[test]
fn the_same_seed_gives_the_same_execution_wherever_the_program_is_loaded() {
    let program = build("lost_update.c", "seed");
    let settings = [("RADDLE_STRATEGY", "random"), ("RADDLE_SEED", "7")];
    let schedules = [(); 3].map(|()| {
        let found = run(&program, &[], &settings);
        found.exits(1);
        // All but the time that it took.
        found.text.rsplit_once("not every").unwrap().0.to_owned()
    });
    assert_eq!(schedules[0], schedules[1]);
    assert_eq!(schedules[1], schedules[2]);
}

#[test]
fn a_race_names_the_variable_and_both_lines() {
    let program = build("race.c", "race");
    run(&program, &[], &[])
        .exits(1)
        .says("data race after 1 execution")
        .says("main.1 writes memory `balance` at tests/native/race.c:8\n")
        .says("main.2 reads memory `balance` at tests/native/race.c:14,")
        .says("help: let a lock protect the value, or let the one wait for the other\n");
}

#[test]
fn neighbours_in_a_word_do_not_race() {
    let program = build("bytes.c", "bytes");
    let finished = run(&program, &[], &[EXHAUSTIVE]);
    assert_eq!(finished.exits(0).all_classes(), 1);
}

#[test]
fn a_deadlock_names_the_locks_and_the_lines() {
    let program = build("deadlock.c", "deadlock");
    run(&program, &[], &[EXHAUSTIVE])
        .exits(1)
        .says("holds mutex `left` (since tests/native/deadlock.c:9), waits at ")
        .says("tests/native/deadlock.c:10 for mutex `right`, held by main.2\n");
}

#[test]
fn every_primitive_does_what_posix_says() {
    let program = build("primitives.c", "primitives");
    // Where the number of classes is plain: one after the other, or either first.
    for (name, classes) in [
        ("threads", 1),
        ("mutexes", 1),
        ("spins", 2),
        ("barriers", 2),
        ("onces", 2),
        ("keys", 2),
        ("semaphores", 2),
        ("clocks", 1),
        ("ordered_clocks", 1),
        ("memory", 1),
    ] {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        assert_eq!(finished.exits(0).all_classes(), classes, "{name}");
    }
    for name in ["condvars", "timed_condvars", "rwlocks"] {
        assert!(run(&program, &[name], &[EXHAUSTIVE]).exits(0).all_classes() > 1);
    }
}

#[test]
fn cpp_has_its_threads_and_locks() {
    let program = build("cpp.cpp", "cpp");
    // In any order, or woken up spuriously or not at all, or each before or after the other.
    for (name, classes) in [
        ("threads", 6),
        ("timed", 2),
        ("pointers", 2),
        ("shared_locks", 2),
        ("exceptions", 2),
    ] {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        assert_eq!(finished.exits(0).all_classes(), classes, "{name}");
    }
    for name in ["condvars", "statics", "locals"] {
        assert!(run(&program, &[name], &[EXHAUSTIVE]).exits(0).all_classes() > 1);
    }
    run(&program, &["uncaught"], &[])
        .exits(1)
        .says("main.1 crashed at tests/native/cpp.cpp:")
        .says("an uncaught exception: std::runtime_error: thrown\n");
}

#[test]
fn a_whole_program_begins_every_execution_anew() {
    let program = build("program.c", "program");
    let whole = ("RADDLE_NATIVE", "program");
    let finished = run(&program, &[], &[EXHAUSTIVE, whole]);
    assert_eq!(
        finished.exits(0).all_classes(),
        classes(|| load_and_store(2))
    );
    let found = run(&program, &["strict"], &[EXHAUSTIVE, whole]);
    found
        .exits(1)
        .says("main ended the program at tests/native/program.c:33:9:\n")
        .says("  the program ended with status 3\n");
    let replay = ("RADDLE_REPLAY", found.schedule());
    run(&program, &["strict"], &[replay, whole])
        .exits(1)
        .says("the program ended with status 3\n");
}

#[test]
fn a_program_built_for_thread_sanitizer_needs_no_other_build() {
    let (program, library) = support::build_for_tsan("program.c", "tsan");
    let swapped = ("LD_LIBRARY_PATH", library.to_str().unwrap());
    let whole = ("RADDLE_NATIVE", "program");
    let finished = run(&program, &[], &[EXHAUSTIVE, whole, swapped]);
    assert_eq!(
        finished.exits(0).all_classes(),
        classes(|| load_and_store(2))
    );
}

#[test]
fn without_being_asked_a_program_runs_as_ever() {
    let program = build("program.c", "unasked");
    let finished = run(&program, &[], &[]);
    assert_eq!((finished.code, finished.text.as_str()), (Some(0), ""));
}

#[test]
fn the_command_line_compiles_and_runs() {
    let folder = support::folder("command");
    let program = folder.join("program");
    let source = "tests/native/program.c";
    let compiled = support::command(&["cc", "-o", program.to_str().unwrap(), source]);
    assert_eq!((compiled.code, compiled.text.as_str()), (Some(0), ""));
    let program = program.to_str().unwrap();
    let all = ["run", "--strategy", "exhaustive", "--", program];
    let finished = support::command(&all);
    assert_eq!(
        finished.exits(0).all_classes(),
        classes(|| load_and_store(2))
    );
    let found = support::command(&[&all[..], &["strict"]].concat());
    found.exits(1).says("the program ended with status 3\n");
    // Here it crashes where nothing was lost.
    let crashed = support::command(&[&all[..], &["and", "crash"]].concat());
    crashed
        .exits(1)
        .says("main crashed at tests/native/program.c:");
    // Copies of a known size are seen too.
    let copies = folder.join("copies").to_str().unwrap().to_owned();
    support::command(&["cc", "-O2", "tests/native/copies.c", "-o", &copies]).exits(0);
    run(copies.as_ref(), &[], &[])
        .exits(1)
        .says("main.1 writes memory `target.first` at tests/native/copies.c:14\n")
        .says("main.2 writes memory `target.first` at tests/native/copies.c:20,");
    // Its own check, with the header and both languages.
    let checked = folder.join("cpp").to_str().unwrap().to_owned();
    support::command(&["c++", "-O2", "tests/native/cpp.cpp", "-o", &checked]).exits(0);
    let finished = run(checked.as_ref(), &["threads"], &[EXHAUSTIVE]);
    assert_eq!(finished.exits(0).all_classes(), 6);
}

#[test]
fn loops_that_wait_are_run_until_they_need_not() {
    let program = build("waiting.c", "waiting");
    for (name, classes) in [
        // What they see last is the one thing that ends them.
        ("spin", 1),
        ("yield", 1),
        ("exchange", 1),
        // Who has the lock first.
        ("trylock", 2),
        // The first, second or third look sees it, or none does.
        ("count", 4),
        ("count-globally", 4),
    ] {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        assert_eq!(finished.exits(0).all_classes(), classes, "{name}");
    }
    run(&program, &["for-ever"], &[EXHAUSTIVE])
        .exits(1)
        .says("livelock after 1 execution")
        .says("main.1 spins: load turns = 0 at tests/native/waiting.c:82,");
}

#[test]
fn the_threads_of_c11_are_controlled() {
    let program = build("c11.c", "c11");
    let finished = run(&program, &[], &[EXHAUSTIVE]);
    assert!(finished.exits(0).all_classes() > 1);
}

#[test]
fn what_waits_with_futexes_is_controlled() {
    let program = build("cpp20.cpp", "cpp20");
    for name in ["waiting", "semaphores", "latches", "barriers"] {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        assert!(finished.exits(0).all_classes() > 1, "{name}");
    }
    run(&program, &["unnotified"], &[EXHAUSTIVE])
        .exits(1)
        .says("deadlock after ")
        .says("which no thread will notify");
}

#[test]
fn what_programs_must_not_do_is_told() {
    let program = build("bad.c", "bad");
    let soon = ("RADDLE_WATCHDOG", "1s");
    run(&program, &["crash"], &[EXHAUSTIVE])
        .exits(1)
        .says("crash after ")
        .says("load flag = 1 bad.c:14");
    run(&program, &["overflow"], &[])
        .exits(1)
        .says("it used more than the 8 MB of stack that it has");
    run(&program, &["hang"], &[soon])
        .exits(2)
        .says("main.1 has not come to a scheduling point for 1s");
    run(&program, &["block"], &[])
        .exits(1)
        .says("deadlock after ")
        .says("for data from descriptor ");
    run(&program, &["use-and-free"], &[])
        .exits(1)
        .says("use after free after 1 execution")
        .says("main.1 used memory that it must not use at tests/native/bad.c:101:")
        .says("freed at tests/native/bad.c:110 by main\n");
}

#[test]
fn bugs_are_found_and_replayed_and_their_twins_are_right() {
    let wrong = build("bugs.c", "wrong");
    let right = support::build_with("bugs.c", "right", &["-DRIGHT"]);
    for (name, kind) in [
        ("check-then-act", "failed assertion"),
        ("lost-wakeup", "deadlock"),
        ("if-not-while", "failed assertion"),
        ("wrong-waiter", "deadlock"),
        ("transfers", "deadlock"),
        ("forgotten-unlock", "deadlock"),
        ("upgrade", "deadlock"),
        ("rendezvous", "deadlock"),
        ("double-check", "data race"),
        ("references", "data race"),
        ("flags", "failed assertion"),
        ("borrowed-stack", "failed assertion"),
        ("two-locks", "data race"),
    ] {
        let kind = format!("raddle: test: {kind} after ");
        for strategy in [EXHAUSTIVE, ("RADDLE_STRATEGY", "auto")] {
            let found = run(&wrong, &[name], &[strategy]);
            found.exits(1).says(&kind);
            let replayed = run(&wrong, &[name], &[("RADDLE_REPLAY", found.schedule())]);
            replayed
                .exits(1)
                .says(&format!("{kind}1 execution (replay)"));
        }
        assert!(run(&right, &[name], &[EXHAUSTIVE]).exits(0).all_classes() > 0);
    }
}

#[test]
fn several_workers_are_as_many_processes_and_count_as_one_does() {
    let program = build("orders.c", "orders");
    let workers = |number| ("RADDLE_WORKERS", number);
    for number in ["1", "2", "3"] {
        let finished = run(&program, &[], &[EXHAUSTIVE, workers(number)]);
        // Six threads come in any order: 6!.
        assert_eq!(finished.exits(0).all_classes(), 720, "{number}");
    }
    // Wherever the order is that goes wrong, it is found, told and replayed as by one worker.
    for wrong in ["543210", "254130", "012345", "340512"] {
        let alone = run(&program, &[wrong], &[EXHAUSTIVE]);
        let found = run(&program, &[wrong], &[EXHAUSTIVE, workers("3")]);
        let story = |text: &str| {
            let (_, story) = text.split_once("(exhaustive)\n").expect("there is a story");
            story.split("\n  replay: ").next().map(str::to_owned)
        };
        alone.exits(1).says("raddle: test: failed assertion after ");
        assert_eq!(story(&found.exits(1).text), story(&alone.text), "{wrong}");
        run(&program, &[wrong], &[("RADDLE_REPLAY", found.schedule())])
            .exits(1)
            .says("raddle: test: failed assertion after 1 execution (replay)");
    }
    // The rest of a budget is shared.
    let some = ("RADDLE_MAX_EXECUTIONS", "500");
    run(&program, &[], &[EXHAUSTIVE, workers("3"), some])
        .exits(0)
        .says("not every behaviour was run: 500 classes in 500 runs");
    // Where there can be one worker only, that is said.
    let os = ("RADDLE_SUBSTRATE", "os");
    run(
        &program,
        &["none"],
        &[os, workers("2"), ("RADDLE_MAX_EXECUTIONS", "20")],
    )
    .exits(0)
    .says("raddle: RADDLE_WORKERS: there is one worker with RADDLE_SUBSTRATE=os\n");
    let resumed = ("RADDLE_RESUME", "1");
    run(&program, &[], &[EXHAUSTIVE, resumed, workers("2")])
        .exits(0)
        .says("raddle: RADDLE_WORKERS: there is one worker with RADDLE_RESUME\n");
    // What is drawn at random is compared, and so run by one.
    let finished = run(&program, &[], &[workers("3")]);
    assert_eq!(finished.exits(0).all_classes(), 720);
}

/// A thread's memory is where it was in every execution, whatever its creators did before they started it: more
/// histories than there are heaps were a false nondeterminism.
#[test]
fn addresses_do_not_depend_on_the_history_of_a_threads_creators() {
    let program = build("many_heaps.c", "many-heaps");
    let settings = [
        EXHAUSTIVE,
        ("RADDLE_NATIVE", "program"),
        ("RADDLE_MAX_TIME", "10m"),
    ];
    run(&program, &[], &settings).exits(0).all_classes();
}

/// A trace, with a word in place of each address.
fn without_addresses(trace: &str) -> String {
    let mut words = String::new();
    for part in trace.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        // Other numbers of these programs are small.
        match digits.len() >= 12 {
            true => words.push_str(&part.replace(digits, "address")),
            false => words.push_str(part),
        }
    }
    words
}

/// Executions, stories and schedules are the same in processes whose memory is elsewhere.
#[test]
fn processes_with_other_addresses_agree() {
    let program = build("stack_nodes.c", "stack-nodes");
    let whole = ("RADDLE_NATIVE", "program");
    let found = ["", &"x".repeat(100), &"x".repeat(100_000)].map(|padding| {
        let padding = ("PADDING", padding);
        let file = program.with_extension(format!("{}.trace", padding.1.len()));
        let _ = std::fs::remove_file(&file);
        let trace = ("RADDLE_TRACE", file.to_str().unwrap());
        let finished = run(&program, &[], &[EXHAUSTIVE, whole, padding, trace]);
        let classes = finished.exits(0).all_classes();
        let trace = std::fs::read_to_string(file).unwrap();
        let failed = run(&program, &["fails"], &[EXHAUSTIVE, whole, padding]);
        let story = failed.exits(1).text.split("replay:").next().unwrap();
        let schedule = failed.schedule().to_owned();
        (trace, (classes, story.to_owned(), schedule))
    });
    let [first, others @ ..] = &found;
    for (trace, other) in others {
        assert_ne!(trace, &first.0, "the nodes were at the same addresses");
        assert_eq!(without_addresses(trace), without_addresses(&first.0));
        assert_eq!(other, &first.1);
    }
    let replay = ("RADDLE_REPLAY", first.1.2.as_str());
    let padding = "x".repeat(5_000);
    let replayed = run(
        &program,
        &["fails"],
        &[whole, replay, ("PADDING", &padding)],
    );
    replayed.exits(1).says("failed assertion");
}
