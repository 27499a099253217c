//! The book holds together: pages are listed, links lead somewhere, what is shown is what is
//! printed. Its code is compiled by the doc tests in `tests/src/docs.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are a folder of the workspace")
}

fn read(file: &str) -> String {
    fs::read_to_string(workspace().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The names of the book's files, the summary left out.
fn pages() -> BTreeSet<String> {
    let entries = fs::read_dir(workspace().join("docs/src")).expect("the book has a folder");
    entries
        .map(|entry| entry.expect("the folder can be read").file_name())
        .map(|name| name.into_string().expect("names are text"))
        .filter(|name| name != "SUMMARY.md")
        .collect()
}

/// What the links of a page lead to.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for part in text.split("](").skip(1) {
        let target = part.split(')').next().expect("there is a first part");
        links.push(target.to_owned());
    }
    links
}

/// Headings as links name them: lower case, with `-` for spaces and without punctuation.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| {
            let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
            let heading: String = heading.to_lowercase().chars().filter(kept).collect();
            heading.replace(' ', "-")
        })
        .collect()
}

/// The fenced blocks of this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("\n```{language}\n");
    let starts = page.split(fence.as_str()).skip(1);
    starts
        .map(|rest| rest.split("\n```").next().expect("a block has an end"))
        .collect()
}

#[test]
fn every_page_is_listed_once_and_every_listed_page_exists() {
    let listed = links(&read("docs/src/SUMMARY.md"));
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(unique.len(), listed.len(), "listed twice: {listed:?}");
    assert_eq!(unique, pages());
}

#[test]
fn every_page_is_compiled() {
    let tests = read("tests/src/docs.rs");
    for page in pages() {
        assert!(tests.contains(&format!("\"{page}\"")), "{page}");
    }
}

#[test]
fn links_lead_to_pages_and_headings_that_exist() {
    for page in pages() {
        let text = read(&format!("docs/src/{page}"));
        for link in links(&text) {
            assert!(!link.contains("://"), "{page}: {link} cannot be tested");
            let (file, anchor) = match link.split_once('#') {
                Some((file, anchor)) => (file, Some(anchor)),
                None => (link.as_str(), None),
            };
            let target = if file.is_empty() { &page } else { file };
            assert!(pages().contains(target), "{page}: {link}");
            if let Some(anchor) = anchor {
                let anchors = anchors(&read(&format!("docs/src/{target}")));
                assert!(
                    anchors.contains(anchor),
                    "{page}: {link}, not in {anchors:?}"
                );
            }
        }
    }
}

#[test]
fn the_deadlock_in_the_book_is_the_examples() {
    let page = read("docs/src/failures.md");
    let shown = blocks(&page, "text")[0];
    let printed = read("examples/expected/bank_transfer.txt");
    assert!(printed.contains(shown), "{shown}\nis not in\n{printed}");
}

#[test]
fn branches_and_total_replay_in_the_book_are_the_examples() {
    let printed = read("examples/expected/closing.txt");
    for (page, block) in [("branches.md", 0), ("total-replay.md", 1)] {
        let page = read(&format!("docs/src/{page}"));
        let shown = blocks(&page, "text")[block];
        assert!(printed.contains(shown), "{shown}\nis not in\n{printed}");
    }
    // The log in the book is that of the example.
    let page = read("docs/src/total-replay.md");
    let program = read("examples/src/bin/closing.rs");
    let log = blocks(&page, "text")[0].lines().skip(1);
    for line in log.filter(|line| !line.contains(" at ")) {
        assert!(program.contains(&format!("    {line}\n")), "{line}");
    }
}

#[test]
fn the_front_page_tells_the_same_story_as_the_book() {
    // The newcomer suite compares the book's with what is printed.
    let (front, book) = (
        read("crates/raddle/README.md"),
        read("docs/src/first-test.md"),
    );
    let story = blocks(&book, "text")[0];
    assert_eq!(blocks(&front, "text"), [story]);
    // The front page leaves out the ordinary test.
    let code = blocks(&front, "rust")[0].trim_end_matches("\n}");
    assert!(blocks(&book, "rust")[0].starts_with(code), "{code}");
}
