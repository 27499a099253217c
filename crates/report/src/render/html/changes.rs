//! The page of changes: sources with notes at their lines. It has no scripts.

use std::fmt::Write as _;

const BASE: &str = include_str!("assets/base.css");
const STYLE: &str = include_str!("assets/changes.css");
/// Lines shown around one with notes.
const CONTEXT: usize = 4;

/// A source file.
pub struct ChangedFile {
    /// Its path.
    pub name: String,
    /// All its lines.
    pub lines: Vec<ChangedLine>,
}

/// A line of a source file.
pub struct ChangedLine {
    /// The text.
    pub text: String,
    /// What is said of it.
    pub notes: Vec<Note>,
}

/// A change of a line, and what came of it.
pub struct Note {
    /// The colour.
    pub mark: Mark,
    /// What came of it, in a word.
    pub outcome: String,
    /// The change.
    pub change: String,
    /// The reason.
    pub explanation: String,
    /// The difference of the source.
    pub difference: Option<String>,
}

/// The colour of a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// As it should be.
    Good,
    /// A gap.
    Bad,
    /// Undecided.
    Open,
    /// Without a meaning for the tests.
    None,
}

impl Mark {
    pub(super) fn class(self) -> &'static str {
        match self {
            Mark::Good => "good",
            Mark::Bad => "bad",
            Mark::Open => "open",
            Mark::None => "none",
        }
    }
}

/// Returns the page, with the numbers of outcomes in words.
pub fn page(summary: &str, files: &[ChangedFile]) -> String {
    let mut body = String::new();
    files.iter().for_each(|file| add_file(&mut body, file));
    document("Changes and what the tests notice", summary, &body)
}

/// Returns a page with a title, a line below it, and the rest.
pub(super) fn document(title: &str, summary: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{BASE}{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n<p class=\"muted\">{}</p>\n{body}</main>\n</body>\n</html>\n",
        escaped(summary)
    )
}

/// Appends a file with its notes.
pub(super) fn add_file(page: &mut String, file: &ChangedFile) {
    let _ = writeln!(page, "<section>\n<h2>{}</h2>", escaped(&file.name));
    add_lines(page, &file.lines);
    page.push_str("</section>\n");
}

fn add_lines(page: &mut String, lines: &[ChangedLine]) {
    let is_near = |at: usize| {
        let start = at.saturating_sub(CONTEXT);
        let end = (at + CONTEXT + 1).min(lines.len());
        lines[start..end].iter().any(|line| !line.notes.is_empty())
    };
    let mut was_shown = true;
    for (at, line) in lines.iter().enumerate() {
        let is_shown = is_near(at);
        if !is_shown {
            if was_shown {
                page.push_str("<p class=\"gap\">&#8942;</p>\n");
            }
            was_shown = false;
            continue;
        }
        was_shown = true;
        let _ = writeln!(
            page,
            "<pre class=\"line\"><span class=\"number\">{}</span>{}</pre>",
            at + 1,
            escaped(&line.text)
        );
        for note in &line.notes {
            add_note(page, note);
        }
    }
}

fn add_note(page: &mut String, note: &Note) {
    let head = format!(
        "<strong>{}</strong> <code>{}</code> <span class=\"muted\">{}</span>",
        escaped(&note.outcome),
        escaped(&note.change),
        escaped(&note.explanation)
    );
    let class = note.mark.class();
    let _ = match &note.difference {
        None => writeln!(page, "<p class=\"note {class}\">{head}</p>"),
        Some(difference) => writeln!(
            page,
            "<details class=\"note {class}\"><summary>{head}</summary><pre>{}</pre></details>",
            escaped(difference)
        ),
    };
}

pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_at_its_line_and_text_is_no_markup() {
        let line = |number: u32| ChangedLine {
            text: format!("line {number} <b>"),
            notes: Vec::new(),
        };
        let mut lines: Vec<_> = (1..=30).map(line).collect();
        lines[19].notes.push(Note {
            mark: Mark::Bad,
            outcome: "not noticed".to_owned(),
            change: "`<` becomes `<=`".to_owned(),
            explanation: "\"why\"".to_owned(),
            difference: Some("-a < b\n+a <= b\n".to_owned()),
        });
        let file = ChangedFile {
            name: "src/a&b.rs".to_owned(),
            lines,
        };
        let page = page("1 change", &[file]);
        let note = page.find("not noticed").unwrap();
        assert!(page.find(">20</span>line 20 &lt;b&gt;").unwrap() < note);
        assert!(page.find(">21</span>").unwrap() > note);
        // Of other lines, only those around it.
        assert!(!page.contains(">15</span>") && page.contains(">16</span>"));
        assert!(page.contains("src/a&amp;b.rs") && page.contains("&quot;why&quot;"));
        assert!(!page.contains("<script") && !page.contains("<b>"));
    }
}
