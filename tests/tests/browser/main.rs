//! The pages of checks in a real browser: what one sees, clicks and types, and who can.
//!
//! They need Chromium and axe-core, which `.ci/run` installs; without them these tests say so and do
//! nothing, unless `RADDLE_BROWSER_REQUIRED` is set. With `RADDLE_PICTURES` set to a folder, pictures of
//! the pages are left there to be looked at.

mod driver;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use raddle::sync::Mutex;
use raddle::{Checker, Strategy};
use raddle_report::html;
use serde_json::{Value, json};

use driver::{Browser, Page, tools};

macro_rules! programs {
    ($($name:ident)*) => {$(
        mod $name {
            include!(concat!("../../gallery/", stringify!($name), ".rs"));
        }
    )*};
}
programs! {
    panic poison deadlock livelock lost_wakeup thread_outlives limit stack nondeterminism schedule
    lock_order leak weak_memory data_race use_after_free impossible
}

/// Kinds that end the process, or are of C and C++, so that their pages are made from the data of another one: the
/// test, the kind, and what a story calls that.
const ENDS: [(&str, &str, &str); 3] = [
    ("hang", "Hang", "hang"),
    ("crash", "Crash", "crash"),
    ("exit", "Exit", "bad exit status"),
];
/// The check whose names do not fit a telephone.
const LONG_NAME: &str =
    "the_queue_loses_no_message_when_two_producers_and_one_consumer_wait_for_each_other";
const WIDE: (u32, u32) = (1440, 1000);
const MIDDLE: (u32, u32) = (800, 1000);
const NARROW: (u32, u32) = (400, 800);

/// The pages of a run with every kind of failure in it.
static RUN: LazyLock<PathBuf> = LazyLock::new(|| {
    let run = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    let _ = std::fs::remove_dir_all(&run);
    let check = |name: &str| {
        let checker = Checker::new().strategy(Strategy::Exhaustive);
        checker.named(name).report_in(&run)
    };
    let programs: [(&str, fn()); 12] = [
        ("panic", panic::lost_update),
        ("poison", poison::poisoned),
        ("deadlock", deadlock::dinner),
        ("livelock", livelock::after_you),
        ("lost_wakeup", lost_wakeup::ready),
        ("thread_outlives", thread_outlives::forgotten),
        ("stack", stack::recursion),
        ("nondeterminism", nondeterminism::only_the_first_time),
        ("lock_order", lock_order::one_after_the_other),
        ("leak", leak::sends_too_much),
        ("weak_memory", weak_memory::published),
        ("use_after_free", use_after_free::dropped_too_early),
    ];
    for (name, program) in programs {
        check(name).run(program);
    }
    let data_race = check("data_race").coverage(true).keep_going(true);
    data_race.run(data_race::published_too_weakly);
    check("limit").max_events(12).run(limit::counts_in_a_loop);
    let schedule = "raddle schedule 2; main: begin, lock Mutex, unlock Mutex, end";
    let replay = Strategy::Replay(schedule.parse().unwrap());
    check("schedule")
        .strategy(replay)
        .run(schedule::now_with_try_lock);
    let alternative = "main a 0 sees main.1 a 0; main b 0 sees main b 0";
    let directed = Strategy::Directed(alternative.parse().unwrap());
    let impossible = check("impossible").strategy(directed);
    impossible.run(impossible::written_and_read_together);
    let passes = check("passes").coverage(true);
    passes.run(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let thread = raddle::thread::spawn(move || *other.lock().unwrap() += 1);
        *lock.lock().unwrap() += 1;
        thread.join().unwrap();
    });
    for (name, kind, told) in ENDS {
        add(&run, name, "deadlock", |data| {
            data["summary"]["failures"][0] = told.into();
            data["report"]["failures"][0]["kind"] = kind.into();
        });
    }
    add(&run, "insight", "panic", with_insight);
    add(&run, LONG_NAME, "panic", with_loops);
    run
});

/// A check like another one, with different data.
fn add(run: &Path, name: &str, like: &str, change: impl Fn(&mut Value)) {
    let json = std::fs::read_to_string(run.join("browser").join(like).join("report.json")).unwrap();
    let mut data: Value = serde_json::from_str(&json).unwrap();
    data["summary"]["test"] = name.into();
    change(&mut data);
    // The summary is on a line of its own.
    let parts = ["report", "stories", "excerpts"].map(|part| format!(",\n{part:?}:{}", data[part]));
    let json = format!("{{\"summary\":{}{}}}\n", data["summary"], parts.concat());
    html::add(run, "browser", name, &json).unwrap();
}

/// Everything that can be known of a failure.
fn with_insight(data: &mut Value) {
    let failure = &mut data["report"]["failures"][0];
    let trace = failure["trace"].clone();
    let steps = trace["steps"].as_array().unwrap();
    let loads: Vec<usize> = (0..steps.len())
        .filter(|&step| steps[step]["what"].as_str().unwrap().starts_with("load"))
        .collect();
    let stores: Vec<usize> = (0..steps.len())
        .filter(|&step| steps[step]["what"].as_str().unwrap().starts_with("store"))
        .collect();
    let mut found = trace.clone();
    let longer = found["steps"].as_array_mut().unwrap();
    let last = longer.len() - 1;
    for _ in 0..3 {
        let again = longer[loads[0]].clone();
        longer.insert(last, again);
    }
    let mut passing = trace.clone();
    passing["steps"].as_array_mut().unwrap().pop();
    passing["steps"][loads[1]]["what"] = "load counter = 1".into();
    failure["found"] = json!({ "trace": found, "schedule": "raddle schedule 2", "preemptions": 3 });
    failure["passing"] =
        json!({ "trace": passing, "schedule": "raddle schedule 2", "preemptions": 1 });
    failure["critical"] = json!({
        "first": loads[1], "second": stores[0],
        "why": "fails whenever one thread loads before the other has stored",
        "is_about": true,
    });
    failure["minimised"] = json!({
        "preemptions_before": 3, "preemptions_after": 1, "events_before": last + 4,
        "events_after": last + 1, "runs": 12, "is_minimal": true,
    });
    let place = |step: usize| trace["steps"][step]["place"].clone();
    failure["marks"] = json!([
        { "place": place(loads[0]), "what": "main has loaded before", "is_primary": false },
        { "place": place(stores[0]), "what": "this store is lost", "is_primary": true },
    ]);
    failure["receives"] = json!([{ "step": loads[1], "sources": [
        { "what": "the initial value", "step": null, "is_seen": true, "command": null },
        { "what": "the other store", "step": stores[0], "is_seen": false,
          "command": "RADDLE_STRATEGY='directed: main.1 load counter sees main store counter' cargo test it" },
    ] }]);
}

/// A loop of 200 rounds, and steps of a dependency, before the panic.
fn with_loops(data: &mut Value) {
    let failure = &mut data["report"]["failures"][0];
    failure["message"] = "`left == right` in \
        `Queue::<alloc::sync::Arc<core::cell::UnsafeCell<Message>>>::push_with_backoff`\n\
        help: use `compare_exchange`"
        .into();
    let trace = &mut failure["trace"];
    let step = |what: String, file: &str, line: u32, is_foreign: bool| {
        let mut step = json!({
            "thread": 0, "what": what, "waits": false, "thing": null, "source": null, "effect": "other",
            "place": { "file": file, "line": line, "column": 1 },
        });
        if is_foreign {
            step["is_foreign"] = true.into();
        }
        step
    };
    let mut steps = Vec::new();
    for round in 0..200 {
        steps.push(step(
            "lock inbox_of_the_consumer_that_polls".into(),
            "src/lib.rs",
            3,
            false,
        ));
        steps.push(step(
            format!("fetch-add looks: {round} to {}", round + 1),
            "src/lib.rs",
            4,
            false,
        ));
    }
    let dependency = "/home/me/.cargo/registry/src/example-1/spin-0.9.8/src/mutex.rs";
    steps.extend((0..4).map(|line| step(format!("spin {line}"), dependency, line, true)));
    let all = trace["steps"].as_array_mut().unwrap();
    let at = all.len() - 1;
    all.splice(at..at, steps);
    trace["folds"] = json!([{ "from": at, "length": 2, "rounds": 200, "counts": true }]);
}

fn page_of(name: &str) -> PathBuf {
    RUN.join("browser").join(name).join("index.html")
}

fn all_pages() -> Vec<PathBuf> {
    let folder = std::fs::read_dir(RUN.join("browser")).unwrap();
    let mut pages: Vec<PathBuf> = folder
        .map(|entry| entry.unwrap().path().join("index.html"))
        .collect();
    pages.sort();
    pages
}

fn nothing_wrong(page: &mut Page<'_>) {
    assert_eq!(page.complaints(), [""; 0]);
}

/// Saves a screenshot if `RADDLE_PICTURES` names a folder.
fn picture(page: &mut Page<'_>, name: &str) {
    if let Some(folder) = std::env::var_os("RADDLE_PICTURES") {
        std::fs::create_dir_all(&folder).unwrap();
        page.picture(&Path::new(&folder).join(format!("{name}.png")), true);
    }
}

/// What the panel says about the selected step.
const DETAIL: &str = "document.getElementById('detail').textContent";
/// "Lines to look at", each with its words.
const MARKS: &str = "[...document.querySelectorAll('.marks > div')].map((one) => one.querySelector('p').textContent \
     + ' ' + one.querySelector('mark').textContent.trim()).join('\\n')";
const SELECTED: &str = "document.querySelector('[aria-selected=true] .words').textContent";

#[test]
fn what_is_wrong_with_a_page_is_seen() {
    let Some((browser, axe)) = tools() else {
        return;
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong.html");
    let page = "<html data-ready=yes><body><img src='http://127.0.0.1:9/picture.png'>\
                <p style='color: #999; background: #aaa'>text</p>\
                <script>console.error('oops'); setTimeout(() => { throw new Error('thrown'); })</script>";
    std::fs::write(&file, page).unwrap();
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&file, WIDE);
    page.evaluate("new Promise((done) => setTimeout(done, 50))");
    let complaints = page.complaints().join("\n");
    for wrong in ["oops", "thrown", "http://127.0.0.1:9/picture.png"] {
        assert!(complaints.contains(wrong), "{wrong} is not in {complaints}");
    }
    let violations = page.violations(&axe).join("\n");
    for rule in ["image-alt: ", "color-contrast: ", "html-has-lang: "] {
        assert!(violations.contains(rule), "{rule} is not in {violations}");
    }
}

#[test]
fn everybody_can_use_the_page_of_every_kind_of_failure_in_both_themes() {
    let Some((browser, axe)) = tools() else {
        return;
    };
    let mut browser = Browser::start(&browser);
    let mut pages = all_pages();
    assert_eq!(pages.len(), 12 + 5 + ENDS.len() + 2);
    pages.push(RUN.join("index.html"));
    for file in pages {
        let name = file
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let mut page = browser.open(&file, WIDE);
        for theme in ["light", "dark"] {
            page.prefer(theme);
            page.wait_for(&format!(
                "document.documentElement.dataset.theme === '{theme}'"
            ));
            page.evaluate(
                "document.querySelectorAll('details').forEach((one) => { one.open = true; })",
            );
            let violations = page.violations(&axe);
            assert!(violations.is_empty(), "{name}, {theme}: {violations:#?}");
            picture(&mut page, &format!("{name}-{theme}"));
        }
        page.prefer("light");
        let backticks = "(() => { const all = document.getElementById('main').cloneNode(true); \
             all.querySelectorAll('pre, code').forEach((one) => one.remove()); \
             return all.textContent.split('`').length - 1; })()";
        assert_eq!(page.number(backticks), 0.0, "{name} shows backticks");
        for (size, width) in [(MIDDLE, "middle"), (NARROW, "narrow")] {
            page.resize(size);
            let overflow = page.number("document.documentElement.scrollWidth - innerWidth");
            assert!(overflow <= 0.0, "{name}, {width}: {overflow} too wide");
            let title = "document.querySelector('h1').getBoundingClientRect().right - innerWidth";
            let title = page.number(title);
            assert!(
                title <= 0.0,
                "{name}, {width}: the title is {title} too wide"
            );
            // No row of the diagram or of the list of checks is cut off or runs into the next.
            let cut = "[...document.querySelectorAll('.step .words, .step .fork, .step .mark')].filter((one) => \
                 one.getBoundingClientRect().bottom > one.closest('.step').getBoundingClientRect().bottom \
                 ).length + [...document.querySelectorAll('.scroll:has(> .checks)')].filter((one) => \
                 one.scrollWidth > one.clientWidth).length";
            assert_eq!(page.number(cut), 0.0, "{name}, {width}");
            picture(&mut page, &format!("{name}-{width}"));
        }
        nothing_wrong(&mut page);
    }
}

#[test]
fn a_page_calls_its_failure_what_the_story_calls_it() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    for (name, _, told) in ENDS {
        let mut page = browser.open(&page_of(name), WIDE);
        let title = page.text("document.getElementById('story-title').firstChild.textContent");
        assert_eq!(title, told);
        assert_eq!(page.text("document.title"), format!("{name} · {told}"));
        nothing_wrong(&mut page);
    }
}

#[test]
fn a_deadlock_is_drawn_with_both_lines_of_every_edge() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&page_of("deadlock"), WIDE);
    let drawn = page.text("document.querySelector('.ring svg').getAttribute('aria-label')");
    assert_eq!(
        drawn,
        "main.1 waits for right fork, which main.2 has; main.2 waits for left fork, which main.1 has"
    );
    let labels = page.text(
        "[...document.querySelectorAll('.ring-label')].map((one) => one.textContent).join('; ')",
    );
    assert_eq!(
        labels,
        "waits deadlock.rs:11; has it deadlock.rs:14; waits deadlock.rs:15; has it deadlock.rs:10"
    );
    let bars = page.number("document.querySelectorAll('.held').length");
    assert_eq!(bars, 2.0, "each holds one fork");
    nothing_wrong(&mut page);
}

#[test]
fn long_names_in_a_drawn_deadlock_are_whole() {
    let Some((browser, _)) = tools() else { return };
    let original = page_of("deadlock");
    let text = std::fs::read_to_string(&original).unwrap();
    let long = original.with_file_name("long_names.html");
    std::fs::write(&long, text.replace("deadlock.rs", "a_longer_name.rs")).unwrap();
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&long, WIDE);
    for size in [WIDE, MIDDLE, NARROW] {
        page.resize(size);
        let outside = page.number(
            "(() => { const box = document.querySelector('.ring svg').getBoundingClientRect(); \
             const isOutside = (one) => { const it = one.getBoundingClientRect(); \
             return it.left < box.left || it.right > box.right; }; \
             return [...document.querySelectorAll('.ring-label')].filter(isOutside).length; })()",
        );
        assert_eq!(outside, 0.0, "{size:?}");
    }
}

#[test]
fn one_can_look_at_the_other_executions_and_ask_for_another_alternative() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&page_of("insight"), WIDE);
    let rows = "document.querySelector('[role=grid]').getAttribute('aria-rowcount') - 1";
    let shortest = page.number(rows);
    // The second of the two that decide is selected, and both are marked.
    assert!(
        page.text(DETAIL)
            .contains("fails whenever one thread loads")
    );
    assert_eq!(
        page.number("document.querySelectorAll('.step.critical').length"),
        2.0
    );
    page.click("#show-found");
    assert_eq!(page.number(rows), shortest + 3.0);
    assert_eq!(
        page.number("document.querySelectorAll('.step.critical').length"),
        0.0
    );
    page.click("#show-told");
    assert_eq!(page.number(rows), shortest);
    // The one that passes has no panic, and sees another value.
    page.click("#show-passing");
    assert_eq!(
        page.number("document.querySelectorAll('[role=grid]').length"),
        2.0
    );
    let differs = r"[...document.querySelectorAll('.differs .words')].map((one) => one.textContent.replace(/ :\d+$/, '')).join('; ')";
    assert_eq!(
        page.text(differs),
        "main.1: load counter = 0 (SeqCst); main: panic; main.1: load counter = 1 (SeqCst)"
    );
    picture(&mut page, "beside");
    page.click("#show-passing");
    assert_eq!(
        page.number("document.querySelectorAll('[role=grid]').length"),
        1.0
    );
    // A receive that could have seen something else.
    page.click(".step .fork");
    assert!(page.text(DETAIL).contains("What it could have seen"));
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }; 0");
    let hidden = "document.querySelector('.alternatives .copy').getBoundingClientRect().right \
                  - document.getElementById('detail').getBoundingClientRect().right";
    assert!(page.number(hidden) <= 0.0, "the button is in sight");
    page.click(".alternatives .copy");
    assert_eq!(
        page.text("window.copied"),
        "RADDLE_STRATEGY='directed: main.1 load counter sees main store counter' cargo test it"
    );
    page.wait_for("document.querySelector('.alternatives .copy').textContent === 'Copied'");
    picture(&mut page, "alternatives");
    // Lines that have to do with it are shown, where it shows itself first.
    let lines =
        "[...document.querySelectorAll('.mark-what')].map((one) => one.textContent).join('; ')";
    assert_eq!(
        page.text(lines),
        "this store is lost; main has loaded before"
    );
    // The line of the step is there with those around it.
    assert!(
        page.text("document.querySelector('.excerpt .here').textContent")
            .contains("load")
    );
    nothing_wrong(&mut page);
}

const ROWS: &str = "document.querySelector('[role=grid]').getAttribute('aria-rowcount') - 1";
const WORDS: &str =
    "[...document.querySelectorAll('.step .words')].map((one) => one.textContent).join('; ')";

#[test]
fn equal_rounds_and_foreign_steps_are_folded_until_they_are_opened() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let own = browser.open(&page_of("panic"), WIDE).number(ROWS);
    let mut page = browser.open(&page_of(LONG_NAME), WIDE);
    // Two rounds and two folds.
    assert_eq!(page.number(ROWS), own + 4.0 + 2.0);
    let first = own as u32;
    let rounds = format!(
        "… ×198 more rounds of steps {first}–{}, counting on",
        first + 1
    );
    let foreign = "… 4 steps in dependencies and libraries (mutex.rs)";
    let words = page.text(WORDS);
    assert!(
        words.contains(&rounds) && words.contains(foreign),
        "{words}"
    );
    assert!(words.contains("fetch-add looks: 0 to 1"), "{words}");
    assert!(words.contains("fetch-add looks: 199 to 200"), "{words}");
    // The keyboard selects a fold, and opens it.
    page.evaluate("document.querySelector('[role=grid]').focus(); 0");
    page.press("End");
    page.press("ArrowUp");
    assert!(page.text(DETAIL).contains(foreign));
    page.press("Enter");
    assert_eq!(page.number(ROWS), own + 4.0 + 1.0 + 4.0);
    assert!(page.text(SELECTED).starts_with("main: spin 0"));
    // The mouse opens one, too.
    page.click(".fold");
    assert_eq!(page.number(ROWS), own + 400.0 + 4.0);
    // The buttons fold and unfold all of them.
    page.click("#fold-rounds");
    assert_eq!(page.number(ROWS), own + 400.0 + 1.0);
    page.click("#fold-foreign");
    assert_eq!(page.number(ROWS), own + 404.0);
    page.click("#fold-rounds");
    assert_eq!(page.number(ROWS), own + 4.0 + 1.0 + 4.0);
    // The table has every step.
    let table = page.text("document.querySelector('.as-table summary').textContent");
    assert_eq!(table, format!("The same {} steps as a table", first + 404));
    nothing_wrong(&mut page);
}

#[test]
fn a_search_goes_to_the_steps_it_finds_and_opens_their_folds() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&page_of(LONG_NAME), WIDE);
    let search = |page: &mut Page<'_>, text: &str| {
        page.click("#search-steps");
        page.evaluate(&format!(
            "(() => {{ const it = document.getElementById('search-steps'); it.value = {text:?}; \
             it.dispatchEvent(new Event('input')); }})()"
        ));
    };
    let said = "document.getElementById('found-steps').textContent";
    search(&mut page, "nothing like this");
    assert_eq!(page.text(said), "No step has that.");
    search(&mut page, "76 77");
    assert_eq!(page.text(said), "2 steps. Enter goes to the next.");
    page.press("Enter");
    assert_eq!(page.text(said), "1 of 2 steps.");
    let first = "main: fetch-add looks: 76 to 77";
    assert!(
        page.text(SELECTED).starts_with(first),
        "{}",
        page.text(SELECTED)
    );
    assert_eq!(page.text("document.activeElement.id"), "search-steps");
    page.click("#search-on");
    assert!(
        page.text(SELECTED)
            .starts_with("main: fetch-add looks: 176 to 177")
    );
    page.click("#search-back");
    assert!(page.text(SELECTED).starts_with(first));
    nothing_wrong(&mut page);
}

#[test]
fn every_atomic_step_has_its_ordering() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&page_of("weak_memory"), WIDE);
    let words = page.text(WORDS);
    let atomic = words.split("; ").filter(|words| {
        let what = words.split_once(": ").unwrap().1;
        what.starts_with("load ") || what.starts_with("store ")
    });
    let orderings: Vec<&str> = atomic
        .map(|words| words.split_once(" (").map_or(words, |(_, rest)| rest))
        .map(|rest| rest.split(')').next().unwrap())
        .collect();
    assert!(orderings.len() >= 4, "{words}");
    assert!(orderings.iter().all(|one| *one == "Relaxed"), "{words}");
    // The story stays short.
    assert!(
        !page
            .text("document.querySelector('[aria-label=\"Story as text\"]').textContent")
            .contains("Relaxed)")
    );
    nothing_wrong(&mut page);
}

#[test]
fn a_step_has_the_owners_of_locks_and_the_values_of_variables() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let state = "[...document.querySelectorAll('.state tbody tr')].map((one) => \
         one.querySelector('th').textContent + ':' + one.querySelector('td').textContent).join('; ')";
    {
        let mut page = browser.open(&page_of("deadlock"), WIDE);
        page.evaluate("document.querySelector('[role=grid]').focus(); 0");
        page.press("End");
        assert_eq!(
            page.text(state),
            "left fork: held by main.1; right fork: held by main.2 (this thread)"
        );
        page.press("Home");
        assert_eq!(page.text(state), "");
        nothing_wrong(&mut page);
    }
    let mut page = browser.open(&page_of("panic"), WIDE);
    page.evaluate("document.querySelector('[role=grid]').focus(); 0");
    page.press("End");
    assert_eq!(page.text(state), "counter:1");
    nothing_wrong(&mut page);
}

#[test]
fn lines_to_look_at_have_the_store_to_strengthen() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&page_of("data_race"), WIDE);
    let marks = page.text(MARKS);
    let weak = "store here is Relaxed, but must be at least Release";
    let weak: Vec<&str> = marks.lines().filter(|line| line.contains(weak)).collect();
    assert_eq!(weak.len(), 1, "{marks}");
    assert!(weak[0].contains(".store("), "{marks}");
    // The search was complete, which does not mean that all is well.
    let headline = page.text("document.querySelector('.hero p').textContent");
    assert!(
        headline.starts_with("every behaviour was run, and at least one fails: "),
        "{headline}"
    );
    let guarantee = page.text("document.getElementById('found').textContent");
    assert!(
        guarantee.contains("every behaviour was run, and at least one fails"),
        "{guarantee}"
    );
    nothing_wrong(&mut page);
    drop(page);
    // A panic after a stale read has both sides of `help:`.
    let mut page = browser.open(&page_of("weak_memory"), WIDE);
    let marks = page.text(MARKS);
    let weak = marks.lines().filter(|line| line.contains(" instead of "));
    let weak: Vec<&str> = weak.collect();
    assert_eq!(weak.len(), 2, "{marks}");
    assert!(
        weak[0].starts_with("Release instead of Relaxed here ") && weak[0].contains(".store("),
        "{marks}"
    );
    assert!(
        weak[1].starts_with("Acquire instead of Relaxed here ") && weak[1].contains(".load("),
        "{marks}"
    );
    nothing_wrong(&mut page);
}

#[test]
fn the_keyboard_goes_everywhere() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&page_of("insight"), WIDE);
    page.press("Tab");
    assert_eq!(page.text("document.activeElement.className"), "skip");
    let outline = page.text("getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, "solid", "one sees where one is");
    page.press("Enter");
    assert_eq!(page.text("document.activeElement.id"), "main");
    let mut reached = Vec::new();
    for _ in 0..40 {
        page.press("Tab");
        let name = "(() => { const it = document.activeElement; return it.id || it.getAttribute('aria-label') || it.textContent; })()";
        reached.push(page.text(name));
        if page.text("document.activeElement.getAttribute('role') || ''") == "grid" {
            break;
        }
    }
    assert_eq!(
        reached.last().unwrap(),
        "Steps of the failing execution",
        "{reached:?}"
    );
    assert!(
        reached
            .iter()
            .any(|name| name == "Copy the command that replays it"),
        "{reached:?}"
    );
    assert!(
        reached.iter().any(|name| name == "show-found"),
        "{reached:?}"
    );
    page.press("Home");
    let first = page.text(SELECTED);
    page.press("ArrowDown");
    let second = page.text(SELECTED);
    assert_ne!(first, second);
    page.press("ArrowUp");
    assert_eq!(page.text(SELECTED), first);
    page.press("End");
    assert_eq!(
        page.text(SELECTED).split(" :").next().unwrap(),
        "main: panic"
    );
    // To the thread at the right, and back to the nearest step of the one at the left.
    page.press("ArrowRight");
    assert!(page.text(SELECTED).starts_with("main.1: "));
    page.press("ArrowLeft");
    assert!(page.text(SELECTED).starts_with("main: "));
    // A screen reader reads the selected step.
    let active =
        page.text("document.querySelector('[role=grid]').getAttribute('aria-activedescendant')");
    assert_eq!(
        active,
        page.text("document.querySelector('[aria-selected=true]').id")
    );
    nothing_wrong(&mut page);
}

#[test]
fn the_theme_is_remembered_and_follows_the_system_until_then() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let theme = "document.documentElement.dataset.theme";
    {
        let mut page = browser.open(&page_of("panic"), WIDE);
        for scheme in ["dark", "light"] {
            page.prefer(scheme);
            page.wait_for(&format!("{theme} === '{scheme}'"));
        }
        let ground = "getComputedStyle(document.body).backgroundColor";
        let light = page.text(ground);
        for (said, is) in [("Theme: light", "light"), ("Theme: dark", "dark")] {
            page.click("#theme");
            assert_eq!(
                page.text("document.getElementById('theme').textContent"),
                said
            );
            assert_eq!(page.text(theme), is);
        }
        assert_ne!(page.text(ground), light);
        nothing_wrong(&mut page);
    }
    let mut page = browser.open(&page_of("panic"), WIDE);
    page.prefer("light");
    assert_eq!(page.text(theme), "dark");
    nothing_wrong(&mut page);
}

#[test]
fn an_execution_of_ten_thousand_events_is_there_at_once() {
    let Some((browser, axe)) = tools() else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large");
    let checker = Checker::new().strategy(Strategy::Random).shorten(false);
    let checker = checker.max_executions(1).named("large").report_in(&folder);
    let report = checker.run(|| {
        let lock = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                raddle::thread::spawn(move || (0..1_250).for_each(|_| *lock.lock().unwrap() += 1))
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
        panic!("so that there is a page");
    });
    let steps = report.failures[0].trace.steps.len();
    assert!(steps >= 10_000, "{steps}");
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&folder.join("browser/large/index.html"), WIDE);
    // Rounds of one thread may follow each other by chance.
    page.evaluate("document.getElementById('fold-rounds')?.click(); 0");
    let ready = page.number("performance.getEntriesByName('raddle-ready')[0].startTime");
    eprintln!("{steps} steps are there after {ready:.0} ms");
    assert!(ready < 2_000.0, "it took {ready} ms");
    let rows = "document.querySelectorAll('.step').length";
    let grid = "document.querySelector('[role=grid]')";
    let shown = page.number(&format!("{grid}.getAttribute('aria-rowcount') - 1"));
    assert!(shown >= 10_000.0);
    // Only what is in sight is drawn, wherever that is.
    page.evaluate(&format!("{grid}.scrollTop = 150000; 0"));
    page.wait_for(
        "[...document.querySelectorAll('.step .number')].some((one) => one.textContent === '5005')",
    );
    assert!(page.number(rows) < 100.0);
    page.evaluate(&format!("{grid}.focus(); 0"));
    page.press("Home");
    page.wait_for(
        "[...document.querySelectorAll('.step .number')].some((one) => one.textContent === '1')",
    );
    for _ in 0..3 {
        page.press("PageDown");
    }
    assert!(page.number(rows) < 100.0);
    assert_eq!(page.violations(&axe), [""; 0]);
    picture(&mut page, "large");
    nothing_wrong(&mut page);
}

#[test]
fn the_index_finds_checks_and_leads_to_their_pages() {
    let Some((browser, _)) = tools() else { return };
    let mut browser = Browser::start(&browser);
    let mut page = browser.open(&RUN.join("index.html"), WIDE);
    let count = all_pages().len();
    assert_eq!(
        page.number("document.querySelectorAll('tbody tr').length"),
        count as f64
    );
    let warned = 2;
    let failed = count - warned - 1;
    let title = page.text("document.querySelector('h1').textContent");
    assert_eq!(title, format!("{failed} of {count} checks failed"));
    page.click("input[type=search]");
    page.evaluate(
        "(() => { const it = document.querySelector('input'); it.value = 'lost wake'; \
         it.dispatchEvent(new Event('input')); })()",
    );
    let names = "[...document.querySelectorAll('tbody a')].map((one) => one.textContent).join(' ')";
    assert_eq!(page.text(names), "lost_wakeup");
    page.evaluate(
        "(() => { const it = document.querySelector('input'); it.value = ''; \
         it.dispatchEvent(new Event('input')); })()",
    );
    page.click(".choice button:last-child");
    assert_eq!(page.text(names), "passes");
    nothing_wrong(&mut page);
    page.click("tbody a");
    page.wait_for(
        "document.documentElement.dataset.ready === 'yes' && document.title === 'passes · passed'",
    );
    page.click("header a");
    page.wait_for("document.documentElement.dataset.ready === 'yes' && document.title.endsWith('checks failed')");
    nothing_wrong(&mut page);
}
