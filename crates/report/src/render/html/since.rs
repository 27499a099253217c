//! The page of a run that is compared with an earlier version: its tests, and requirements that differ at their lines.
//! It has no scripts.

use std::fmt::Write as _;

use super::changes::{ChangedFile, Mark, add_file, document, escaped};

/// A test of the run.
pub struct TestRow {
    /// Its binary and name.
    pub name: String,
    /// The colour.
    pub mark: Mark,
    /// The result in one line.
    pub result: String,
    /// How its requirements differ, in words; empty if they do not.
    pub news: String,
}

/// Requirements without a line of this version.
pub struct Elsewhere {
    /// What they have in common.
    pub heading: String,
    /// The requirements, each with its tests.
    pub requirements: Vec<String>,
}

/// Returns the page. The summary says which version it is compared with.
pub fn page(
    summary: &str,
    tests: &[TestRow],
    files: &[ChangedFile],
    elsewhere: &[Elsewhere],
) -> String {
    let mut body = String::from("<section>\n<h2>Tests</h2>\n");
    for test in tests {
        let _ = write!(
            body,
            "<p class=\"note {}\"><strong>{}</strong> <span class=\"muted\">{}</span>",
            test.mark.class(),
            escaped(&test.name),
            escaped(&test.result)
        );
        if !test.news.is_empty() {
            let _ = write!(body, "<br>{}", escaped(&test.news));
        }
        body.push_str("</p>\n");
    }
    body.push_str("</section>\n");
    files.iter().for_each(|file| add_file(&mut body, file));
    for group in elsewhere.iter().filter(|it| !it.requirements.is_empty()) {
        let _ = writeln!(body, "<section>\n<h2>{}</h2>", escaped(&group.heading));
        for requirement in &group.requirements {
            let _ = writeln!(body, "<p class=\"note none\">{}</p>", escaped(requirement));
        }
        body.push_str("</section>\n");
    }
    document("What is new since an earlier version", summary, &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::changes::{ChangedLine, Note};

    #[test]
    fn tests_lines_and_what_is_gone_are_shown_as_text() {
        let row = |name: &str, news: &str| TestRow {
            name: name.to_owned(),
            mark: Mark::Good,
            result: "every behaviour: <1> class".to_owned(),
            news: news.to_owned(),
        };
        let lines = (1..=3).map(|number| ChangedLine {
            text: format!("line {number}"),
            notes: Vec::new(),
        });
        let mut file = ChangedFile {
            name: "src/a.rs".to_owned(),
            lines: lines.collect(),
        };
        file.lines[1].notes.push(Note {
            mark: Mark::Open,
            outcome: "new, not covered yet".to_owned(),
            change: "sync-pair -> src/a.rs:3:5".to_owned(),
            explanation: "x push".to_owned(),
            difference: None,
        });
        let group = |heading: &str, requirements: &[&str]| Elsewhere {
            heading: heading.to_owned(),
            requirements: requirements.iter().map(|&it| it.to_owned()).collect(),
        };
        let page = page(
            "compared with `main`",
            &[row("x push", "1 requirement new"), row("x pop", "")],
            &[file],
            &[group("Gone", &["sync-pair a -> b"]), group("Other", &[])],
        );
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
        assert!(at("compared with `main`") < at("x push</strong>"));
        assert!(at("<br>1 requirement new") < at("x pop</strong>"));
        assert!(at(">2</span>line 2") < at("new, not covered yet"));
        assert!(at("new, not covered yet") < at(">3</span>line 3"));
        assert!(at("<h2>Gone</h2>") < at("sync-pair a -&gt; b"));
        assert!(page.contains("&lt;1&gt;") && !page.contains("Other") && !page.contains("<script"));
    }
}
