//! An earlier version of the program, as `cargo raddle test --since` describes it.
//!
//! The file that `RADDLE_SINCE` names has lines of words with tabs between them; places are those of
//! this version:
//!
//! - `near FILE FIRST LAST`: lines that the change can affect;
//! - `covered METRIC PLACE [PLACE]`: a requirement that the earlier version covered;
//! - `feasible METRIC PLACE [PLACE]`: one that was feasible there as far as is known.
//!
//! Without any line nothing is known of the earlier version. At the end, the check writes its own
//! requirements among its events, for comparisons with a later version.

use std::path::Path;
use std::sync::Arc;

use raddle_engine::coverage::{Baseline, Coverage, Metric, Requirement, Standing};
use raddle_engine::strategy::Impact;
use raddle_report::event::Requirements;

use crate::runtime::Places;

/// What is known of the earlier version.
#[derive(Default)]
pub(crate) struct Since {
    near: Vec<(String, u32, u32)>,
    known: Vec<Known>,
}

struct Known {
    is_covered: bool,
    metric: Metric,
    first: String,
    second: Option<String>,
}

impl Since {
    /// Reads the file. Nothing that is wrong with it makes a test fail.
    pub(crate) fn read(path: &Path) -> Self {
        match std::fs::read_to_string(path) {
            Ok(text) => Since::parse(&text),
            Err(error) => {
                let path = path.display();
                eprintln!("raddle: RADDLE_SINCE: {path} cannot be read: {error}");
                Since::default()
            }
        }
    }

    /// Reads the lines; one that cannot be read says nothing.
    pub(crate) fn parse(text: &str) -> Self {
        let mut since = Since::default();
        for line in text.lines() {
            let mut words = line.split('\t');
            match words.next() {
                Some("near") => since.near.extend(near(&mut words)),
                Some("covered") => since.known.extend(known(true, &mut words)),
                Some("feasible") => since.known.extend(known(false, &mut words)),
                _ => {}
            }
        }
        since
    }

    /// True when nothing is known of the earlier version.
    pub(crate) fn is_empty(&self) -> bool {
        self.near.is_empty() && self.known.is_empty()
    }

    /// Returns the requirements of the earlier version.
    pub(crate) fn baseline(&self, places: &Places) -> Baseline {
        let mut baseline = Baseline::default();
        for known in &self.known {
            let requirement = Requirement {
                metric: known.metric,
                first: places.of_text(&known.first),
                second: known.second.as_deref().map(|place| places.of_text(place)),
            };
            match known.is_covered {
                true => baseline.add_covered(requirement),
                false => baseline.add_feasible(requirement),
            }
        }
        baseline
    }

    /// Returns the places that the change can affect.
    pub(crate) fn impact(self, places: &Arc<Places>) -> Impact {
        let (places, near) = (Arc::clone(places), self.near);
        Impact::new(move |site| {
            places.place(site).is_some_and(|place| {
                near.iter().any(|(file, first, last)| {
                    *file == place.file && (*first..=*last).contains(&place.line)
                })
            })
        })
    }
}

fn near<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<(String, u32, u32)> {
    let file = words.next()?.to_owned();
    let mut number = || words.next()?.parse().ok();
    Some((file, number()?, number()?))
}

fn known<'a>(is_covered: bool, words: &mut impl Iterator<Item = &'a str>) -> Option<Known> {
    let known = Known {
        is_covered,
        metric: Metric::named(words.next()?)?,
        first: words.next()?.to_owned(),
        second: words.next().map(str::to_owned),
    };
    (known.second.is_some() == known.metric.is_pairwise()).then_some(known)
}

/// Returns the requirements of a check, for a later version.
pub(crate) fn requirements(
    coverage: &Coverage,
    places: &Places,
    is_complete: bool,
) -> Requirements {
    let mut all = Requirements {
        is_complete,
        ..Requirements::default()
    };
    let mut numbers = std::collections::HashMap::new();
    for (requirement, standing) in coverage.requirements() {
        let mut number = |site| {
            let known = numbers.get(&site).copied();
            known.or_else(|| {
                all.places.push(places.to_text(site)?);
                numbers.insert(site, all.places.len() - 1);
                Some(all.places.len() - 1)
            })
        };
        let Some(first) = number(requirement.first) else {
            continue;
        };
        let second = match requirement.second.map(number) {
            Some(None) => continue,
            second => second.flatten(),
        };
        let named = (requirement.metric.name(), first, second);
        match standing {
            Standing::Covered => all.covered.push(named),
            Standing::NotTried => all.feasible.push(named),
            Standing::NeverConcurrent | Standing::OrderedByLock => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_others_say_nothing() {
        let text = "near\tsrc/a b.rs\t3\t9\n\
                    covered\tsync-pair\tsrc/a b.rs:4:5\tsrc/a b.rs:6:7\n\
                    feasible\tdef-use\tsrc/c.rs:1:1\tsrc/c.rs:2:2\n\
                    feasible\tdef-use\tsrc/c.rs:1:1\n\
                    covered\tno metric\tx\ty\n\
                    near\tsrc/a.rs\tthree\n\
                    other\n";
        let since = Since::parse(text);
        assert_eq!(since.near, [("src/a b.rs".to_owned(), 3, 9)]);
        let known: Vec<_> = (since.known.iter())
            .map(|it| (it.is_covered, it.metric, &*it.first, it.second.as_deref()))
            .collect();
        assert_eq!(
            known,
            [
                (
                    true,
                    Metric::SyncPair,
                    "src/a b.rs:4:5",
                    Some("src/a b.rs:6:7")
                ),
                (false, Metric::DefUse, "src/c.rs:1:1", Some("src/c.rs:2:2")),
            ]
        );
        assert!(!since.is_empty());
        assert!(Since::parse("").is_empty());
    }
}
