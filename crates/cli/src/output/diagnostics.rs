//! Failures as compiler messages in JSON, so that editors underline their lines. The format is that of
//! `cargo --message-format json`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::run::outcome::Finding;
use crate::toolchain::binaries::TestBinary;

/// Renders failures as compiler messages.
pub struct Diagnostics {
    /// Base of the relative paths in messages.
    root: PathBuf,
    /// Cache of source files; `None` for unreadable ones.
    sources: HashMap<PathBuf, Option<String>>,
}

impl Diagnostics {
    pub fn new(root: PathBuf) -> Self {
        Diagnostics {
            root,
            sources: HashMap::new(),
        }
    }

    /// Returns cargo's message about a failure or a warning.
    pub fn message(
        &mut self,
        binary: &TestBinary,
        test: &str,
        finding: &Finding,
        level: &str,
    ) -> Value {
        json!({
            "reason": "compiler-message",
            "package_id": binary.package_id,
            "manifest_path": binary.manifest,
            "target": binary.target,
            "message": self.diagnostic(test, finding, level),
        })
    }

    fn diagnostic(&mut self, test: &str, finding: &Finding, level: &str) -> Value {
        let failure = &finding.failure;
        let kind = failure["kind"].as_str().unwrap_or("Failure");
        let mut marks = list(&failure["marks"]).to_vec();
        marks.extend(critical(failure));
        let spans: Vec<Value> = marks.iter().filter_map(|mark| self.span(mark)).collect();
        let mut children: Vec<Value> = list(&failure["notes"])
            .iter()
            .filter_map(|note| Some(child("note", note.as_str()?)))
            .collect();
        if let Some(why) = failure["critical"]["why"].as_str() {
            children.insert(0, child("note", why));
        }
        if let Some(replay) = failure["replay"].as_str() {
            children.push(child("help", &format!("replay it: {replay}")));
        }
        let what = failure["message"].as_str().unwrap_or_default();
        let message = format!("{} in `{test}`: {}", words(kind), first_line(what));
        json!({
            "$message_type": "diagnostic",
            "message": message,
            "code": { "code": format!("raddle::{kind}"), "explanation": null },
            "level": level,
            "spans": spans,
            "children": children,
            "rendered": format!("{level}: {message}\n\n{}\n", finding.story.trim_end()),
        })
    }

    /// Returns a marked source location as a span, which ends with the expression there.
    fn span(&mut self, mark: &Value) -> Option<Value> {
        let place = &mark["place"];
        let file = place["file"].as_str()?;
        let number = |name: &str| place[name].as_u64().and_then(|it| usize::try_from(it).ok());
        let (line, column) = (number("line")?, number("column").unwrap_or(1).max(1));
        let source = self.source(file);
        let text = source.and_then(|source| source.lines().nth(line - 1));
        let text = text.unwrap_or_default().trim_end_matches('\r');
        let before = source.map_or(0, |source| {
            let lines = source.split_inclusive('\n').take(line - 1);
            lines.map(str::len).sum::<usize>()
        });
        let start: usize = text.chars().take(column - 1).map(char::len_utf8).sum();
        let length = expression_length(&text[start..]);
        let end_column = column + text[start..][..length].chars().count();
        Some(json!({
            "file_name": file,
            "byte_start": before + start,
            "byte_end": before + start + length,
            "line_start": line,
            "line_end": line,
            "column_start": column,
            "column_end": end_column,
            "is_primary": mark["is_primary"],
            "text": [{ "text": text, "highlight_start": column, "highlight_end": end_column }],
            "label": mark["what"],
            "suggested_replacement": null,
            "suggestion_applicability": null,
            "expansion": null,
        }))
    }

    fn source(&mut self, file: &str) -> Option<&str> {
        let path = self.root.join(Path::new(file));
        let read = |path: &PathBuf| fs::read_to_string(path).ok();
        let entry = self.sources.entry(path);
        let source = entry.or_insert_with_key(read);
        source.as_deref()
    }
}

/// Returns the two steps whose order decides the failure, as marks.
fn critical(failure: &Value) -> Vec<Value> {
    let pair = &failure["critical"];
    let step = |name: &str| {
        let index = usize::try_from(pair[name].as_u64()?).ok()?;
        failure["trace"]["steps"].get(index)
    };
    let mark = |(name, what): (&str, String)| {
        let step = step(name).filter(|step| step["place"].is_object())?;
        Some(json!({ "place": step["place"], "what": what, "is_primary": false }))
    };
    let what = match pair["is_about"].as_bool() {
        Some(false) => "passes with two steps in the other order",
        _ => "the failure depends on the order of two steps",
    };
    let pairs = ["first", "second"].map(|name| (name, format!("{what}: this is the {name}")));
    pairs.into_iter().filter_map(mark).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn child(level: &str, message: &str) -> Value {
    json!({
        "message": message, "code": null, "level": level, "spans": [], "children": [],
        "rendered": null,
    })
}

fn first_line(text: &str) -> &str {
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_end_matches(':')
}

/// Splits a name: `DataRace` becomes `data race`.
fn words(kind: &str) -> String {
    let mut words = String::new();
    for letter in kind.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// Returns the length in bytes of the call or name at the start of the text.
fn expression_length(text: &str) -> usize {
    let name = text.find(|c: char| !(c.is_alphanumeric() || "_.!:".contains(c)));
    let name = name.unwrap_or(text.len());
    if !text[name..].starts_with('(') {
        return name.max(text.chars().next().map_or(0, char::len_utf8));
    }
    let mut open = 0;
    for (position, letter) in text[name..].char_indices() {
        match letter {
            '(' => open += 1,
            ')' if open == 1 => return name + position + 1,
            ')' => open -= 1,
            _ => {}
        }
    }
    text.trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_the_expression_that_begins_there() {
        for (text, expression_there) in [
            ("lock().unwrap();", "lock()"),
            (
                "counter.fetch_add(one(1), SeqCst) + 1",
                "counter.fetch_add(one(1), SeqCst)",
            ),
            ("assert_eq!(a, b);", "assert_eq!(a, b)"),
            ("store(", "store("),
            ("value", "value"),
            ("+= 1", "+"),
            ("", ""),
        ] {
            assert_eq!(&text[..expression_length(text)], expression_there);
        }
    }

    #[test]
    fn names_of_kinds_are_split() {
        assert_eq!(words("DataRace"), "data race");
        assert_eq!(words("Panic"), "panic");
    }

    #[test]
    fn a_pair_that_is_not_about_the_failure_is_not_marked_as_its_reason() {
        let place = json!({ "file": "a.rs", "line": 2, "column": 7 });
        let step = json!({ "place": place });
        for (is_about, mark) in [
            (
                true,
                "the failure depends on the order of two steps: this is the",
            ),
            (
                false,
                "passes with two steps in the other order: this is the",
            ),
        ] {
            let failure = json!({
                "trace": { "steps": [step, step] },
                "critical": { "first": 0, "second": 1, "why": "", "is_about": is_about },
            });
            let marks = critical(&failure);
            let said: Vec<_> = marks.iter().map(|mark| mark["what"].clone()).collect();
            assert_eq!(said, ["first", "second"].map(|it| format!("{mark} {it}")));
        }
    }

    #[test]
    fn marks_are_spans_of_the_source() {
        let directory = std::env::temp_dir().join(format!("raddle-spans-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(
            directory.join("a.rs"),
            "fn ä() {}\n    é.lock().unwrap();\n",
        )
        .unwrap();
        let mut diagnostics = Diagnostics::new(directory.clone());
        let mark = json!({
            "place": { "file": "a.rs", "line": 2, "column": 7 },
            "what": "waits here",
            "is_primary": true,
        });
        let span = diagnostics.span(&mark).unwrap();
        let [start, end] = ["byte_start", "byte_end"].map(|name| span[name].as_u64().unwrap());
        let source = fs::read(directory.join("a.rs")).unwrap();
        assert_eq!(&source[start as usize..end as usize], b"lock()");
        assert_eq!(
            (&span["column_start"], &span["column_end"]),
            (&json!(7), &json!(13))
        );
        assert_eq!(span["label"], "waits here");
        let elsewhere = json!({ "place": { "file": "b.rs", "line": 9, "column": 1 } });
        assert_eq!(diagnostics.span(&elsewhere).unwrap()["line_start"], 9);
        fs::remove_dir_all(directory).unwrap();
    }
}
