//! Comments use the terms of the field, not paraphrases with indefinite subjects.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::sources::workspace;

/// Paraphrases that hide the subject of a sentence. The comment names the thread, the caller or the
/// number instead.
const PARAPHRASES: [&str; 4] = ["nobody", "whoever", "somebody", "so many"];

/// The folders whose sources are free of them.
const FOLDERS: [&str; 12] = [
    "benches",
    "crates/check/src",
    "crates/cli/src",
    "crates/engine/src",
    "crates/macros/src",
    "crates/native/src",
    "crates/raddle/src",
    "crates/report/src",
    "crates/runs/src",
    "crates/settings/src",
    "examples",
    "tests",
];

/// The extensions of sources in Rust, C and C++, which have the same comments.
const SOURCES: [&str; 4] = ["rs", "c", "cpp", "h"];

/// The text of a line from its first `//` or `/*` outside a string on. In a string that began on an
/// earlier line they count too, which can only find more.
fn comment(line: &str) -> Option<&str> {
    let quotes_hidden = line.replace("'\"'", "' '");
    let mut characters = quotes_hidden.char_indices();
    let mut in_string = false;
    while let Some((start, character)) = characters.next() {
        match character {
            '\\' => _ = characters.next(),
            '"' => in_string = !in_string,
            '/' if !in_string && line[start + 1..].starts_with(['/', '*']) => {
                return Some(&line[start..]);
            }
            _ => {}
        }
    }
    None
}

/// Comments of consecutive lines as one text, because a phrase may be split between two lines.
fn comments(source: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let (mut continues, mut in_block) = (false, false);
    for (number, line) in (1..).zip(source.lines()) {
        let Some(comment) = Some(line).filter(|_| in_block).or_else(|| comment(line)) else {
            continues = false;
            continue;
        };
        in_block = (in_block || comment.starts_with("/*")) && !comment.contains("*/");
        let text = comment.trim_start_matches(['/', '!']);
        match blocks.last_mut().filter(|_| continues) {
            Some((_, block)) => {
                block.push(' ');
                block.push_str(text);
            }
            None => blocks.push((number, text.to_owned())),
        }
        continues = true;
    }
    blocks
}

/// The paraphrases in the comments of a source, each with the line where its comment begins.
fn paraphrases(source: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (line, text) in comments(source) {
        let words = text.to_lowercase();
        let words: Vec<&str> = words
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let words = format!(" {} ", words.join(" "));
        for paraphrase in PARAPHRASES {
            let count = words.matches(&format!(" {paraphrase} ")).count();
            found.extend(std::iter::repeat_n((line, paraphrase), count));
        }
    }
    found
}

fn check(folder: &Path, wrong: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check(&path, wrong);
        } else if path
            .extension()
            .is_some_and(|extension| SOURCES.iter().any(|source| extension == *source))
        {
            for (line, paraphrase) in paraphrases(&fs::read_to_string(&path).unwrap()) {
                let _ = writeln!(wrong, "{}:{line}: `{paraphrase}`", path.display());
            }
        }
    }
}

#[test]
fn comments_use_field_terms() {
    let mut wrong = String::new();
    for folder in FOLDERS {
        check(&workspace().join(folder), &mut wrong);
    }
    assert!(wrong.is_empty(), "name the subject instead:\n{wrong}");
}

#[test]
fn paraphrases_are_found_in_comments_only_and_across_lines() {
    let source = [
        "/// Returned to nobody. What",
        "let x = \"whoever\"; // takes so",
        "// many of them",
        "let nobody = '\"'; // \"Whoever\"",
        "let x = \"\\\"// somebody\";",
        "",
        "/* Of a quote: '\"', so",
        "   many */",
        "let path = \"tests/*\";",
        "int nobody = 0;",
        "//! Somebody's.",
    ];
    assert_eq!(
        paraphrases(&source.join("\n")),
        [
            (1, "nobody"),
            (1, "whoever"),
            (1, "so many"),
            (7, "so many"),
            (11, "somebody")
        ]
    );
}
