//! What is known of a test at a version of the program, as it is kept in the file of earlier runs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// A requirement: its metric, and its places as names of files in the repository with line and column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Goal {
    pub metric: String,
    pub first: String,
    pub second: Option<String>,
}

/// The record of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestRecord {
    /// Hashes of the test binary and of the settings.
    pub binary: String,
    pub settings: String,
    /// The commit at which it ran, which is an earlier one if it was unchanged.
    pub ran_at: String,
    /// True when it passed without a warning.
    pub passed: bool,
    /// Its result in one line.
    pub summary: String,
    pub seconds: f64,
    /// True when every behaviour of all its checks was run.
    pub is_complete: bool,
    /// True when the checks name files of the repository by absolute paths.
    pub is_absolute: bool,
    pub covered: BTreeSet<Goal>,
    /// Requirements that were not covered and are estimated to be feasible.
    pub feasible: BTreeSet<Goal>,
    /// The schedule of its failure.
    pub schedule: Option<String>,
}

impl TestRecord {
    /// Reads the text of a record; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let places: Vec<&str> = (value["places"].as_array()?.iter())
            .filter_map(Value::as_str)
            .collect();
        Some(TestRecord {
            binary: text("binary")?,
            settings: text("settings")?,
            ran_at: text("ran_at")?,
            passed: value["passed"].as_bool()?,
            summary: text("summary")?,
            seconds: value["seconds"].as_f64()?,
            is_complete: value["complete"].as_bool()?,
            is_absolute: value["absolute"].as_bool()?,
            covered: goals(&value["covered"], |index| {
                places.get(index).map(|it| (*it).to_owned())
            }),
            feasible: goals(&value["feasible"], |index| {
                places.get(index).map(|it| (*it).to_owned())
            }),
            schedule: text("schedule"),
        })
    }

    /// Returns the text of the record.
    pub fn to_text(&self) -> String {
        let places: BTreeSet<&String> = self.places().collect();
        let places: Vec<_> = places.into_iter().collect();
        let index = |place: &String| places.binary_search(&place).ok();
        let list = |goals: &BTreeSet<Goal>| {
            let goals = goals.iter();
            let written = goals.map(|goal| {
                json!([
                    goal.metric,
                    index(&goal.first),
                    goal.second.as_ref().and_then(index)
                ])
            });
            written.collect::<Vec<_>>()
        };
        json!({
            "binary": self.binary,
            "settings": self.settings,
            "ran_at": self.ran_at,
            "passed": self.passed,
            "summary": self.summary,
            "seconds": self.seconds,
            "complete": self.is_complete,
            "absolute": self.is_absolute,
            "covered": list(&self.covered),
            "feasible": list(&self.feasible),
            "places": places,
            "schedule": self.schedule,
        })
        .to_string()
    }

    /// Returns the places of all requirements.
    pub fn places(&self) -> impl Iterator<Item = &String> {
        let goals = self.covered.iter().chain(&self.feasible);
        goals.flat_map(|goal| {
            [Some(&goal.first), goal.second.as_ref()]
                .into_iter()
                .flatten()
        })
    }
}

/// Reads requirements whose places are numbers; one that cannot be read is left out.
pub fn goals(list: &Value, place: impl Fn(usize) -> Option<String>) -> BTreeSet<Goal> {
    let read = |goal: &Value| {
        let at = |value: &Value| place(value.as_u64()? as usize);
        Some(Goal {
            metric: goal[0].as_str()?.to_owned(),
            first: at(&goal[1])?,
            second: match &goal[2] {
                Value::Null => None,
                second => Some(at(second)?),
            },
        })
    };
    let list = list.as_array().into_iter().flatten();
    list.filter_map(read).collect()
}

/// Returns a hash of bytes, for the question whether they are the same as before.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    // FNV-1a with 128 bits.
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for part in parts {
        for &byte in part {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
        // Parts that are divided in another way are others.
        hash = (hash ^ 0x1ff).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    }
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_are_written() {
        let goal = |first: &str, second: Option<&str>| Goal {
            metric: "sync-pair".to_owned(),
            first: first.to_owned(),
            second: second.map(str::to_owned),
        };
        let record = TestRecord {
            binary: "1".to_owned(),
            settings: "2".to_owned(),
            ran_at: "abc".to_owned(),
            passed: true,
            summary: "3 classes".to_owned(),
            seconds: 0.5,
            is_complete: true,
            is_absolute: false,
            covered: [goal("b:1:1", Some("a:1:1")), goal("c:1:1", None)].into(),
            feasible: [goal("a:1:1", Some("a:1:1"))].into(),
            schedule: Some("raddle schedule\n".to_owned()),
        };
        assert_eq!(TestRecord::parse(&record.to_text()), Some(record));
        assert_eq!(TestRecord::parse("{}"), None);
        assert_eq!(TestRecord::parse("no record"), None);
    }

    /// Published values of FNV-1a with 128 bits, of which each part is followed by one more step.
    #[test]
    fn hashes_are_those_of_fnv() {
        let step = |hash: u128| (hash ^ 0x1ff).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        let of_a = 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964_u128;
        assert_eq!(hash([&b"a"[..]]), format!("{:032x}", step(of_a)));
        assert_ne!(hash([&b"ab"[..], b"c"]), hash([&b"a"[..], b"bc"]));
    }
}
