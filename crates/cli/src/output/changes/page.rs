//! Changes as a page: the sources, with what came of the changes at their lines.

use std::fs;
use std::path::Path;

use raddle_report::html::changes::{ChangedFile, ChangedLine, Mark, Note, page};

use super::{Counts, Outcome, Tried};
use crate::output::error::Error;

/// Writes the page.
pub fn write(path: &Path, root: &Path, tried: &[Tried]) -> Result<(), Error> {
    let failed = Error::cannot_write(path);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(&failed)?;
    }
    let text = page(&Counts::of(tried).in_words(), &files(root, tried));
    fs::write(path, text).map_err(failed)
}

fn files(root: &Path, tried: &[Tried]) -> Vec<ChangedFile> {
    let mut names: Vec<&str> = tried.iter().map(|it| it.change.file.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let file = |name: &str| {
        let source = fs::read_to_string(root.join(name)).unwrap_or_default();
        let lines = source.lines().enumerate().map(|(index, text)| {
            let number = index as u32 + 1;
            let here = tried
                .iter()
                .filter(|it| it.change.file == name && it.change.line == number);
            ChangedLine {
                text: text.to_owned(),
                notes: here.map(note).collect(),
            }
        });
        ChangedFile {
            name: name.to_owned(),
            lines: lines.collect(),
        }
    };
    names.into_iter().map(file).collect()
}

fn note(tried: &Tried) -> Note {
    let Tried { change, outcome } = tried;
    Note {
        mark: match outcome {
            Outcome::Noticed { .. } => Mark::Good,
            Outcome::NotNoticed { .. } | Outcome::Unreached => Mark::Bad,
            Outcome::TimedOut { .. } | Outcome::Undecided { .. } => Mark::Open,
            Outcome::Unbuildable { .. } => Mark::None,
        },
        outcome: outcome.word().to_owned(),
        change: change.what(),
        explanation: outcome.explanation(),
        difference: change.difference.clone(),
    }
}
