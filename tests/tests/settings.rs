//! The table of settings and the reference page of the book, whose tables are made from it.
//!
//! `UPDATE_EXPECTED=1 cargo test --test suite settings` writes the page.

use std::collections::BTreeSet;
use std::path::Path;

use raddle_settings::{Flag, OTHER_VARIABLES, Scope, Setting, SettingKind, TABLE};

fn rows(scope: Scope) -> impl Iterator<Item = &'static Setting> {
    TABLE.iter().filter(move |row| row.scope == scope)
}

fn meaning(row: &Setting) -> String {
    let summary = row.summary.trim_end_matches('.');
    match row.book {
        "" => summary.to_owned(),
        book => format!("{summary}; {book}"),
    }
}

/// A line of a table of the page.
fn line(cells: &[String]) -> String {
    assert!(cells.iter().all(|cell| !cell.contains(['|', '\n'])));
    format!("| {} |\n", cells.join(" | "))
}

/// `text` as code, or nothing.
fn code<T: ToString>(text: Result<T, &str>) -> String {
    text.map_or(String::new(), |text| format!("`{}`", text.to_string()))
}

fn settings() -> String {
    let mut table = String::from(
        "| method of `Checker` | option of the attribute | default | meaning |\n\
         | --- | --- | --- | --- |\n",
    );
    for row in rows(Scope::Check).filter(|row| row.method.is_ok()) {
        let method = row.method.map(|argument| {
            // As rustfmt writes generic arguments.
            let argument = argument.replace(" < ", "<").replace(" >", ">");
            format!("{}({argument})", row.name)
        });
        let option = row
            .option
            .map(|example| format!("{} = {example}", row.name));
        table += &line(&[
            code(method),
            code(option),
            row.default.to_owned(),
            meaning(row),
        ]);
    }
    table
}

fn written(flag: Flag) -> String {
    format!("--{} {}", flag.name, flag.value)
        .trim_end()
        .to_owned()
}

fn variables(scope: Scope) -> String {
    let mut table =
        String::from("| variable | flag | value | meaning |\n| --- | --- | --- | --- |\n");
    for row in rows(scope) {
        let Ok(variable) = row.variable else { continue };
        let meaning = match row.method {
            Ok(_) => format!("`{}`", row.name),
            Err(_) => format!("{}; by default {}", meaning(row), row.default),
        };
        table += &line(&[
            format!("`{variable}`"),
            code(row.flag.map(written)),
            row.kind.to_string(),
            meaning,
        ]);
    }
    table
}

fn other_variables() -> String {
    let mut table = String::from("| variable | meaning |\n| --- | --- |\n");
    for (variable, meaning) in OTHER_VARIABLES {
        table += &line(&[format!("`{variable}`"), (*meaning).to_owned()]);
    }
    table
}

/// Replaces the part between the marker with this name and the next end.
fn replace(page: &str, name: &str, table: &str) -> String {
    let marker = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&marker).expect("the page has the marker");
    let (_, after) = rest.split_once("<!-- end -->").expect("a table has an end");
    format!("{before}{marker}{table}<!-- end -->{after}")
}

#[test]
fn the_reference_page_has_the_rows_of_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let mut expected = page.clone();
    for (name, table) in [
        ("settings", settings()),
        ("variables", variables(Scope::Check)),
        ("native variables", variables(Scope::Native)),
        ("other variables", other_variables()),
    ] {
        expected = replace(&expected, name, &table);
    }
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page == expected, "the page should be\n{expected}");
}

#[test]
fn names_are_used_once() {
    let mut seen = BTreeSet::new();
    for row in TABLE {
        assert!(seen.insert(format!("{:?} {}", row.scope, row.name)));
        if let Ok(variable) = row.variable {
            assert!(seen.insert(variable.to_owned()), "{variable}");
        }
        if let Ok(flag) = row.flag {
            assert!(seen.insert(format!("--{}", flag.name)), "{flag:?}");
        }
    }
    for (variable, _) in OTHER_VARIABLES {
        assert!(seen.insert((*variable).to_owned()), "{variable}");
    }
}

#[test]
fn every_row_is_complete() {
    for row in TABLE {
        let name = row.name;
        assert!(
            row.summary.ends_with('.') && !row.summary.contains(". "),
            "{name}"
        );
        assert!(!row.default.is_empty(), "{name}");
        for missing in [row.option.err(), row.variable.err(), row.flag.err()] {
            assert_ne!(missing, Some(""), "{name}: a reason why there is none");
        }
        if let Ok(flag) = row.flag {
            assert!(row.variable.is_ok(), "{name}: a flag sets a variable");
            assert_eq!(
                flag.value.is_empty(),
                row.kind == SettingKind::Switch,
                "{name}"
            );
        }
    }
}
