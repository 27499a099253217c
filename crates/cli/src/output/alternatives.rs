//! The alternatives of one execution as text, and what an edit has changed in them.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use raddle_report::{ListedAlternatives, ListedReceive, ListedStep, Place};

fn at(place: Option<&Place>) -> String {
    place.map_or_else(String::new, |place| format!("  {place}"))
}

fn step(step: &ListedStep) -> String {
    format!("{}: {}{}", step.thread, step.what, at(step.place.as_ref()))
}

/// Returns the list as text. Receives with one source are shown with `all` only.
pub fn text(list: &ListedAlternatives, all: bool, target: Option<&str>) -> String {
    let mut text = String::new();
    let is_open = |receive: &&ListedReceive| all || receive.sources.len() > 1;
    let shown: Vec<_> = list.receives.iter().filter(is_open).collect();
    for receive in &shown {
        _ = writeln!(text, "{}", step(&receive.step));
        for source in &receive.sources {
            let sign = if source.is_seen { '*' } else { ' ' };
            let undecided = if source.is_undecided {
                " (undecided)"
            } else {
                ""
            };
            _ = writeln!(
                text,
                "  {sign} {}{undecided}{}",
                source.what,
                at(source.place.as_ref())
            );
            if let Some(alternative) = source.alternative.as_ref().filter(|_| !source.is_seen) {
                _ = writeln!(text, "      directed: {alternative}");
            }
        }
    }
    let left_out = list.receives.len() - shown.len();
    if shown.is_empty() {
        text.push_str("no receive of this execution could have had another source\n");
    }
    if left_out > 0 {
        _ = writeln!(text, "{left_out} more with one source each (--all)");
    }
    if !list.unread.is_empty() {
        text.push_str("stores that no read takes in this execution:\n");
        list.unread
            .iter()
            .for_each(|one| _ = writeln!(text, "  {}", step(one)));
    }
    if list.is_cut {
        text.push_str("the execution is long: only its last receives were looked at\n");
    }
    match (target, &list.steps) {
        (Some(target), Some(steps)) => {
            _ = writeln!(text, "steps that `{target}` depends on:");
            steps
                .iter()
                .for_each(|one| _ = writeln!(text, "  {}", step(one)));
        }
        (Some(target), None) => {
            _ = writeln!(text, "no write `{target}` in this execution");
        }
        (None, _) => {}
    }
    text
}

/// The alternatives that only one of two lists has.
pub struct Comparison {
    gone: Vec<String>,
    new: Vec<String>,
}

impl Comparison {
    pub fn of(before: &ListedAlternatives, after: &ListedAlternatives) -> Self {
        let alternatives = |list: &ListedAlternatives| -> BTreeSet<String> {
            let sources = list.receives.iter().flat_map(|receive| &receive.sources);
            sources
                .filter_map(|source| source.alternative.clone())
                .collect()
        };
        let (before, after) = (alternatives(before), alternatives(after));
        Comparison {
            gone: before.difference(&after).cloned().collect(),
            new: after.difference(&before).cloned().collect(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.gone.is_empty() && self.new.is_empty() {
            return writeln!(f, "the alternatives are those of the list");
        }
        for (what, list) in [("gone", &self.gone), ("new", &self.new)] {
            list.iter()
                .try_for_each(|one| writeln!(f, "{what}: {one}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use raddle_report::{ListedSource, ListedStep};

    use super::*;

    fn list(alternatives: &[&str]) -> ListedAlternatives {
        let source = |alternative: &&str| ListedSource {
            what: format!("store by {alternative}"),
            place: None,
            is_seen: false,
            is_undecided: false,
            alternative: Some((*alternative).to_owned()),
        };
        let step = ListedStep {
            thread: "main".to_owned(),
            what: "load ready".to_owned(),
            place: None,
        };
        ListedAlternatives {
            receives: vec![ListedReceive {
                step,
                sources: alternatives.iter().map(source).collect(),
            }],
            ..ListedAlternatives::default()
        }
    }

    #[test]
    fn an_edit_takes_alternatives_away_and_adds_others() {
        let compared = |before, after| Comparison::of(&list(before), &list(after)).to_string();
        assert_eq!(compared(&["a", "b"], &["b", "c"]), "gone: a\nnew: c\n");
        assert_eq!(compared(&["a"], &["a"]), "the alternatives are those of the list\n");
    }

    #[test]
    fn receives_with_one_source_are_counted() {
        let shown = text(&list(&["a"]), false, Some("main x 0"));
        assert_eq!(
            shown,
            "no receive of this execution could have had another source\n\
             1 more with one source each (--all)\n\
             no write `main x 0` in this execution\n"
        );
        let shown = text(&list(&["a"]), true, None);
        assert_eq!(shown, "main: load ready\n    store by a\n      directed: a\n");
    }
}
