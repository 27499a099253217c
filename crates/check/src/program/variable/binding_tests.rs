//! Sources with the names of the values in them.

use super::super::tokens;

/// Returns the names of every `Mutex` that the source makes, in order.
fn names(source: &str) -> Vec<Option<String>> {
    let tokens = tokens::of(source);
    let made = tokens.windows(3).filter(|three| {
        three[0].text == "Mutex" && three[1].text == "::" && three[2].text == "new"
    });
    made.map(|three| super::name(&tokens, three[0].place, "Mutex"))
        .collect()
}

#[track_caller]
fn are(source: &str, expected: &[&str]) {
    let names: Vec<_> = names(source);
    let names: Vec<_> = names.iter().map(|name| name.as_deref()).collect();
    let expected: Vec<_> = expected.iter().map(|name| Some(*name)).collect();
    assert_eq!(names, expected, "{source}");
}

#[test]
fn variables_statics_and_fields() {
    are("let a = Mutex::new(0);", &["a"]);
    are("let mut a: Mutex<u32> = Mutex::new(0);", &["a"]);
    are("static A: Mutex<[u8; 2]> = Mutex::new([0; 2]);", &["A"]);
    are("let a = &Mutex::new(0);", &["a"]);
    are("let r#in = Mutex::new(0);", &["in"]);
    are(
        "Self { lock: Mutex::new(0), other: Mutex::new(1) }",
        &["lock", "other"],
    );
    are("Tally(1, Mutex::new(0))", &["Tally.1"]);
    are(
        "let a = Arc::new(inner::Tally([Mutex::new(0)]));",
        &["Tally.0[0]"],
    );
    are(
        "let a = Shared {\n  #[cfg(x)] lock: Mutex::new(0),\n};",
        &["lock"],
    );
}

#[test]
fn wrappers_are_looked_through() {
    are("let a = Arc::new(Mutex::new(0));", &["a"]);
    are(
        "let a = std::sync::Arc::new(Box::new(Mutex::new(0)),);",
        &["a"],
    );
    are("let a = Some(Mutex::new(0));", &["a"]);
    are(
        "let a = Arc::new(Shared { lock: Mutex::new(0) });",
        &["lock"],
    );
}

#[test]
fn parts_of_tuples_and_arrays() {
    are(
        "let pair = Arc::new((Mutex::new(f(1, 2)), Condvar::new(), Mutex::new(1)));",
        &["pair.0", "pair.2"],
    );
    are(
        "let forks = Arc::new([\n  Mutex::new(()),\n  Mutex::new(()), // the second\n]);",
        &["forks[0]", "forks[1]"],
    );
    are(
        "let a = vec![Mutex::new(0), Mutex::new(0)];",
        &["a[0]", "a[1]"],
    );
    are(
        "let a = [(Mutex::new(0), 1), (Mutex::new(0), 2)];",
        &["a[0].0", "a[1].0"],
    );
    are("let a = (Mutex::new(0));", &["a"]);
    are("let a = [const { Mutex::new(0) }; 3];", &["a"]);
    are(
        "let (a, mut b) = (Mutex::new(0), Arc::new(Mutex::new(0)));",
        &["a", "b"],
    );
    are("let (a, b) = (1, [Mutex::new(0)]);", &["b[0]"]);
}

#[test]
fn what_is_made_again_and_again_has_one_name() {
    are(
        "let a: Vec<_> = (0..3).map(|_| Mutex::new(0)).collect();",
        &["a"],
    );
    are(
        "let a: [_; 3] = std::array::from_fn(|_| Mutex::new(0));",
        &["a"],
    );
    are(
        "Self { locks: (0..n).map(|_| Mutex::new(0)).collect() }",
        &["locks"],
    );
}

#[test]
fn what_is_not_understood_has_no_name() {
    for source in [
        "Mutex::new(0)",
        "f(Mutex::new(0));",
        "let a = Mutex::new((0, [1])).lock();",
        "let a = f(Mutex::new(0));",
        "let a = Arc::new(Mutex::new(0), 1);",
        "let a = { Mutex::new(0) };",
        "let a = x.f(|| Mutex::new(0));",
        "let a = Vec::from_iter((0..3).map(move |i| Arc::new(Mutex::new(i))));",
        "let Some(a) = Some(Mutex::new(0));",
        "let _ = Mutex::new(0);",
        "let ((a, b), c) = (Mutex::new(0), 1);",
        "let (a, b) = Mutex::new(0);",
        "let a = (g::<A, B>(), Mutex::new(0));",
        "const A: Mutex<u8> = Mutex::new(0);",
        "a = Mutex::new(0);",
        "a.b = Mutex::new(0);",
        "Self(Mutex::new(0))",
        "let a = b[Mutex::new(0)];",
        "= Mutex::new(0)",
        ": Mutex::new(0)",
        "| Mutex::new(0)",
        ", Mutex::new(0)",
        ") , Mutex::new(0)",
    ] {
        assert_eq!(names(source), [None], "{source}");
    }
}

#[test]
fn fields_that_are_made_by_default() {
    let derived = |kind| {
        let source = "#[derive(Debug, Default)] #[other(x)]
            pub struct S { a: sync::Mutex<u8>, pub b: Vec<Mutex<u8>>, c: Once, d: Once }";
        super::name(&tokens::of(source), (1, 17), kind)
    };
    assert_eq!(derived("Mutex"), Some("a".to_owned()));
    assert_eq!(derived("Once"), None, "which of the two is not known");
    assert_eq!(derived("Default"), None);
    let tuple = tokens::of("#[derive(Default)] struct T(Mutex<u8>); struct S { a: Mutex<u8> }");
    assert_eq!(super::name(&tuple, (1, 10), "Mutex"), None);
}

#[test]
fn the_place_must_be_where_such_a_value_is_made() {
    let source = "let a = sync::Mutex::new(0); let b = Lock::new(0);";
    let tokens = tokens::of(source);
    let name = |column, kind| super::name(&tokens, (1, column), kind);
    assert_eq!(name(9, "Mutex"), Some("a".to_owned()));
    assert_eq!(name(9, "RwLock"), None);
    assert_eq!(name(38, "Mutex"), None);
    assert_eq!(name(10, "Mutex"), None);
}
