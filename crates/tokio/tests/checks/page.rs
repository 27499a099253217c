//! The page of the book about async programs: its program is compiled, and its output compared.

use raddle::Checker;

use super::accounts::two_transfers;
use super::stories::story;

const PAGE: &str = include_str!("../../../../docs/src/async.md");

/// Returns the first block of this language after a mark.
fn block<'a>(mark: &str, language: &str) -> &'a str {
    let (_, after) = PAGE.split_once(mark).expect("the page has the mark");
    let (_, after) = after
        .split_once(&format!("```{language}\n"))
        .expect("a block follows");
    after.split_once("```").expect("the block ends").0
}

#[test]
fn the_program_of_the_page_is_the_one_that_is_run() {
    assert_eq!(
        block("<!-- accounts -->", "rust,ignore"),
        include_str!("accounts.rs")
    );
}

#[test]
fn the_output_of_the_page_is_what_is_printed() {
    let report = Checker::new().run(|| raddle::future::block_on(two_transfers()));
    assert_eq!(
        block("<!-- accounts -->", "text").trim_end(),
        story(&report)
    );
}

/// Each primitive of the list exists; that it is compared is seen from the names of the scripts.
#[test]
fn the_page_lists_what_is_compared_with_tokio() {
    let scripts = include_str!("truth.rs");
    let (_, list) = PAGE
        .split_once("<!-- compared -->")
        .expect("the page has a list");
    let (list, _) = list.split_once("<!-- end -->").expect("the list ends");
    let rows: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("| `sync::"))
        .collect();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let (name, _) = row.split_once('`').expect("the name ends");
        let script = match name {
            "OnceCell" => "once_cell".to_owned(),
            other => other.to_lowercase(),
        };
        assert!(
            scripts.contains(&format!("\n    {script}")),
            "no script for {name}"
        );
    }
}
