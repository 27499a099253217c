//! Each operator with sources that it changes, and sources that it leaves alone.

use super::operator::Operator;
use super::switches::Switch;
use super::{find, with_marks};

/// Returns the changed sources by an operator, on one line each, for the body of a function.
#[track_caller]
fn changed(operator: Operator, body: &str) -> Vec<String> {
    let text = format!("fn f() {{\n{body}\n}}\n");
    let found = find(&text, false).expect(&text);
    let of_operator = found.all.iter().filter(|it| it.operator == operator);
    of_operator
        .map(|mistake| {
            let changed = mistake.make(&text);
            syn::parse_file(&changed).unwrap_or_else(|error| panic!("{error}: {changed}"));
            let lines = changed.strip_prefix("fn f() {\n").unwrap();
            let lines = lines.strip_suffix("\n}\n").unwrap();
            let words: Vec<_> = lines.split_whitespace().collect();
            words.join(" ")
        })
        .collect()
}

#[track_caller]
fn check(operator: Operator, body: &str, expected: &[&str]) {
    assert_eq!(changed(operator, body), expected, "{operator}: {body}");
}

#[test]
fn the_order_and_the_choice_of_locks() {
    check(
        Operator::SwapLocks,
        "let a = x.lock().unwrap(); let b = y.lock().unwrap(); go(&a, &b);",
        &["let b = y.lock().unwrap(); let a = x.lock().unwrap(); go(&a, &b);"],
    );
    // The second is reached through the first, or is taken when the first is free again.
    check(
        Operator::SwapLocks,
        "let a = x.lock().unwrap(); let b = a.y.lock().unwrap();",
        &[],
    );
    check(
        Operator::SwapLocks,
        "let a = x.lock().unwrap(); drop(a); let b = y.lock().unwrap();",
        &[],
    );
    check(
        Operator::ExchangeLock,
        "let _a = x.lock().unwrap(); go(); let b = y.lock().unwrap();",
        &["let _a = y.lock().unwrap(); go(); let b = y.lock().unwrap();"],
    );
    check(
        Operator::ExchangeLock,
        "let _a = x.lock().unwrap(); go();",
        &[],
    );
}

#[test]
fn regions_of_guards() {
    let region = "one(); let _g = x.lock().unwrap(); two(); three(); drop(_g); four();";
    check(
        Operator::DropGuard,
        region,
        &["one(); let _ = x.lock().unwrap(); two(); three(); four();"],
    );
    // Without its guard, there would be no way to the data.
    check(
        Operator::DropGuard,
        "let g = x.lock().unwrap(); go(&g);",
        &[],
    );
    check(
        Operator::DropGuard,
        "let _cancel_guard = token.drop_guard(); go();",
        &["let _ = token.drop_guard(); go();"],
    );
    check(
        Operator::ExpandGuard,
        region,
        &[
            "let _g = x.lock().unwrap(); one(); two(); three(); drop(_g); four();",
            "one(); let _g = x.lock().unwrap(); two(); three(); four();",
        ],
    );
    check(
        Operator::ExpandGuard,
        "{ let g = x.lock().unwrap(); go(&g); } other();",
        &["let g = x.lock().unwrap(); go(&g); other();"],
    );
    // What comes before makes the lock; what comes after is nothing that others could see.
    check(
        Operator::ExpandGuard,
        "let x = find(); let g = x.lock().unwrap(); go(&g); drop(g); n += 1;",
        &[],
    );
    check(
        Operator::ShrinkGuard,
        region,
        &[
            "one(); two(); let _g = x.lock().unwrap(); three(); drop(_g); four();",
            "one(); let _g = x.lock().unwrap(); two(); ::core::mem::drop(_g); three(); four();",
        ],
    );
    check(
        Operator::ShrinkGuard,
        "let g = x.lock().unwrap(); go(&g); other();",
        &["let g = x.lock().unwrap(); go(&g); ::core::mem::drop(g); other();"],
    );
    check(
        Operator::ShrinkGuard,
        "let g = x.lock().unwrap(); go(&g); n += 1;",
        &[],
    );
    check(
        Operator::ShiftGuard,
        region,
        &[
            "let _g = x.lock().unwrap(); one(); two(); ::core::mem::drop(_g); three(); four();",
            "one(); two(); let _g = x.lock().unwrap(); three(); four(); drop(_g);",
        ],
    );
    check(
        Operator::SplitGuard,
        "let mut g = x.lock().unwrap(); let n = *g; *g = n + 1;",
        &[
            "let mut g = x.lock().unwrap(); let n = *g; ::core::mem::drop(g); \
           let mut g = x.lock().unwrap(); *g = n + 1;",
        ],
    );
    check(
        Operator::SplitGuard,
        "*x.lock().unwrap() += 1;",
        &["{ let raddle_new = *x.lock().unwrap() + (1); *x.lock().unwrap() = raddle_new };"],
    );
    check(
        Operator::SplitGuard,
        "let g = x.lock().unwrap(); n += 1; go(&g);",
        &[],
    );
}

#[test]
fn waits() {
    check(
        Operator::OmitWait,
        "while empty(&g) { g = cv.wait(g).unwrap(); }",
        &["while empty(&g) { g = Ok::<_, ::std::sync::PoisonError<()>>(g).unwrap(); }"],
    );
    check(
        Operator::OmitWait,
        "barrier.wait(); thread::park();",
        &["(); thread::park();", "barrier.wait(); ();"],
    );
    check(
        Operator::OmitWait,
        "cv.wait(&mut g); n.notified().await;",
        &["(); n.notified().await;", "cv.wait(&mut g); ();"],
    );
    check(
        Operator::WhileToIf,
        "while empty(&g) { g = cv.wait(g).unwrap(); } while !flag.load(Acquire) { spin_loop(); }",
        &[
            "if empty(&g) { g = cv.wait(g).unwrap(); } while !flag.load(Acquire) { spin_loop(); }",
            "while empty(&g) { g = cv.wait(g).unwrap(); } if !flag.load(Acquire) { spin_loop(); }",
        ],
    );
    check(
        Operator::WhileToIf,
        "let g = cv.wait_while(g, |it| it.is_empty()).unwrap();",
        &[
            "let g = ({ let mut raddle_guard = g; match (|it| it.is_empty())(&mut *raddle_guard) { \
           true => cv.wait(raddle_guard), false => Ok(raddle_guard) } }).unwrap();",
        ],
    );
    // No waits; a loop that its body ends.
    check(Operator::WhileToIf, "while n < 3 { n += 1; }", &[]);
    check(
        Operator::WhileToIf,
        "while full(&g) { if late() { break; } g = cv.wait(g).unwrap(); }",
        &[],
    );
}

#[test]
fn updates() {
    let path = "::core::sync::atomic::Ordering::";
    let expected = format!(
        "({{ let raddle_cell = &n; let raddle_old = raddle_cell.load({path}Acquire); \
         raddle_cell.store(raddle_old.wrapping_add(1), {path}Release); raddle_old }});"
    );
    check(
        Operator::SplitUpdate,
        "n.fetch_add(1, Ordering::AcqRel);",
        &[&expected],
    );
    let expected = format!(
        "if ({{ let raddle_cell = &n; let raddle_old = raddle_cell.load({path}Acquire); \
         if raddle_old == 0 {{ raddle_cell.store(1, {path}Release); Ok(raddle_old) }} \
         else {{ Err(raddle_old) }} }}).is_ok() {{}}"
    );
    check(
        Operator::SplitUpdate,
        "if n.compare_exchange(0, 1, Release, Acquire).is_ok() {}",
        &[&expected],
    );
    // An ordering that the source does not name.
    check(Operator::SplitUpdate, "n.fetch_add(1, ordering);", &[]);
    check(
        Operator::WeakExchange,
        "n.compare_exchange(0, 1, Release, Acquire).is_ok();",
        &["n.compare_exchange_weak(0, 1, Release, Acquire).is_ok();"],
    );
    // It would be tried again.
    check(
        Operator::WeakExchange,
        "while n.compare_exchange(0, 1, Release, Acquire).is_err() {} loop { n.compare_exchange(0, 1, Release, Acquire); }",
        &[],
    );
}

#[test]
fn joins_locks_and_channels() {
    check(
        Operator::OmitJoin,
        "for t in all { t.join().unwrap(); } all.for_each(|t| t.join().unwrap());",
        &[
            "for t in all { ::core::mem::drop(t); } all.for_each(|t| t.join().unwrap());",
            "for t in all { t.join().unwrap(); } all.for_each(|t| ::core::mem::drop(t));",
        ],
    );
    check(Operator::OmitJoin, "let path = folder.join(name);", &[]);
    check(
        Operator::TryLock,
        "x.write().unwrap().go(); y.lock().await;",
        &[
            "x.try_write().unwrap().go(); y.lock().await;",
            "x.write().unwrap().go(); y.try_lock().unwrap();",
        ],
    );
    check(
        Operator::IgnorePoison,
        "x.read().expect(\"whole\").go();",
        &["x.read().unwrap_or_else(::std::sync::PoisonError::into_inner).go();"],
    );
    check(
        Operator::ShrinkChannel,
        "sync_channel(3); mpsc::channel(2); bounded(n); sync_channel(0); channel();",
        &[
            "sync_channel(0); mpsc::channel(2); bounded(n); sync_channel(0); channel();",
            "sync_channel(2); mpsc::channel(2); bounded(n); sync_channel(0); channel();",
            "sync_channel(3); mpsc::channel(1); bounded(n); sync_channel(0); channel();",
            "sync_channel(3); mpsc::channel(2); bounded(((n) / 2).max(0)); sync_channel(0); channel();",
        ],
    );
    check(
        Operator::UnbiasedSelect,
        "select! { biased; a = b => {} } select! { a = b => {} }",
        &["select! { a = b => {} } select! { a = b => {} }"],
    );
}

#[test]
fn expressions_next_to_synchronization() {
    let (yes, no) = ("x.load(SeqCst);", "x.log(1);");
    let all = [
        (Operator::Relational, "if a < 1 {}", "if a <= 1 {}"),
        (Operator::Relational, "if a == 1 {}", "if a != 1 {}"),
        (Operator::Arithmetic, "b = a * 2;", "b = a / 2;"),
        (Operator::Arithmetic, "b -= 2;", "b += 2;"),
        (Operator::Logical, "if a && b {}", "if ((a) || (b)) {}"),
        (Operator::Arguments, "go(a, b);", "go(b, a);"),
    ];
    for (operator, old, new) in all {
        check(
            operator,
            &format!("{yes} {old}"),
            &[&format!("{yes} {new}")],
        );
        check(operator, &format!("{no} {old}"), &[]);
    }
    // The same value, types that differ, and conditions with a pattern.
    for same in ["b = a + 0;", "b = a * 1;"] {
        check(Operator::Arithmetic, &format!("{yes} {same}"), &[]);
    }
    for fits_once in [
        "go(a, a);",
        "go(&a, b);",
        "go(&mut a, &b);",
        "go(1, true);",
        "max(a, b);",
        "go(a, Relaxed);",
    ] {
        check(Operator::Arguments, &format!("{yes} {fits_once}"), &[]);
    }
    check(
        Operator::Logical,
        &format!("{yes} if a && let Some(b) = c {{}}"),
        &[],
    );
}

#[test]
fn code_that_is_not_run_by_users_is_left_alone() {
    let update = "n.fetch_add(1, Relaxed);";
    let count = |text: &str, in_tests| find(text, in_tests).map(|found| found.all.len());
    for hidden in [
        format!("#[cfg(test)] mod tests {{ fn f() {{ {update} }} }}"),
        format!("#[raddle::test] fn f() {{ {update} }}"),
        format!("impl A {{ #[cfg(test)] fn f() {{ {update} }} }}"),
    ] {
        assert_eq!(count(&hidden, false), Some(0), "{hidden}");
        assert_eq!(count(&hidden, true), Some(1), "{hidden}");
    }
    // What the compiler evaluates.
    let constant = "const fn f() -> usize { 1 + g(1, 2) } const A: usize = 1 + 2; static B: [u8; 1 + 2] = [0; 1 + 2];";
    assert_eq!(count(constant, true), Some(0));
    assert_eq!(count("fn (", true), None);
}

#[test]
fn marks_move_no_line() {
    let text = "fn f() {\n    // first\n    n.fetch_add(1, Relaxed);\n    if a {}\n    g()\n}\n";
    let found = find(text, false).unwrap();
    let marked = with_marks(text, found.blocks.iter().copied().enumerate(), &[]);
    syn::parse_file(&marked).unwrap();
    assert_eq!(marked.lines().count(), text.lines().count());
    assert_eq!(marked.matches("b\"0\\n\"").count(), 1);
    assert!(marked.lines().nth(2).unwrap().contains("b\"0\\n\""));
    assert!(marked.lines().nth(3).unwrap().contains("b\"1\\n\""));
}

/// The text with all mistakes that can be chosen at run time, and the operators of the others.
fn switched(text: &str) -> (String, Vec<Operator>) {
    let found = find(text, false).unwrap();
    let (mut switches, mut others) = (Vec::new(), Vec::new());
    for (number, mistake) in found.all.iter().enumerate() {
        match mistake.switch.clone() {
            Some(range) => switches.push(Switch {
                number,
                mistake,
                range,
            }),
            None => others.push(mistake.operator),
        }
    }
    let marked = with_marks(text, found.blocks.iter().copied().enumerate(), &switches);
    syn::parse_file(&marked).unwrap_or_else(|error| panic!("{error}: {marked}"));
    assert_eq!(marked.lines().count(), text.lines().count());
    (marked, others)
}

#[test]
fn choices_are_within_each_other() {
    let (text, others) = switched("fn f() {\n    if n.load(\n Relaxed) + 1 < m { go(); }\n}\n");
    assert_eq!(others, []);
    let without: String = text
        .split("{static ")
        .enumerate()
        .map(|(at, part)| match at {
            0 => part,
            _ => part.split_once("}").unwrap().1,
        })
        .collect();
    let expected = "if {n.load(  Relaxed) + 1 <= m}else {(if {n.load(  Relaxed) - 1}else {n.load(\n Relaxed) + 1}) < m}";
    assert!(without.contains(expected), "{without}");
}

#[test]
fn a_choice_ends_the_life_of_no_guard() {
    // The lock of `y` would be free before the call, and a match keeps it to its end.
    for held in [
        "go(x.load(SeqCst), y.lock().unwrap().len() + 1);",
        "match y.lock().unwrap().len() < 3 { _ => x.load(SeqCst) };",
        "go(x.guard().left < 3, x.load(SeqCst));",
    ] {
        let (_, others) = switched(&format!("fn f() {{ {held} }}"));
        let of_values = [Operator::Relational, Operator::Arithmetic];
        assert!(
            others.iter().any(|it| of_values.contains(it)),
            "{held}: {others:?}"
        );
    }
    // The guard itself is the value of the choice.
    let (text, others) = switched("fn f() { let g = y.lock().unwrap(); }");
    assert_eq!((text.matches("static ON").count(), others), (2, vec![]));
}

#[test]
fn the_book_has_every_operator() {
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/mutants.md");
    // A packed crate is without the book.
    let Ok(book) = std::fs::read_to_string(book) else {
        return;
    };
    for operator in Operator::ALL {
        assert!(book.contains(&format!("`{operator}`")), "{operator}");
    }
}
