//! The text format of a checkpoint.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use raddle_engine::frontier::{Item, VERSION};
use raddle_engine::strategy::Reach;
use raddle_engine::{CheckName, CutCounts, Tally};

use crate::program::Library;
use crate::runtime::Places;

/// The content of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saved {
    pub(crate) check: Option<CheckName>,
    /// The settings that must be the same for the search to be resumed.
    pub(crate) settings: Vec<(String, String)>,
    /// All runs of the program, whatever they count for.
    pub(crate) runs: u64,
    pub(crate) executions: u64,
    pub(crate) discarded: u64,
    /// True when some execution was incomplete.
    pub(crate) cut_short: bool,
    pub(crate) cuts: CutCounts,
    /// The reach of a preemption bound.
    pub(crate) reach: Reach,
    pub(crate) elapsed: Duration,
    /// Failures: the number of the execution and the token of the schedule.
    pub(crate) failures: Vec<(u64, String)>,
    pub(crate) items: Vec<String>,
}

/// The first words of a file.
const TITLE: &str = "raddle frontier";

impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&seal(&self.without_checksum()))
    }
}

/// Appends the checksum to the text.
pub fn seal(text: &str) -> String {
    format!("{text}checksum {:016x}\n", checksum(text.as_bytes()))
}

impl Saved {
    fn without_checksum(&self) -> String {
        let mut text = format!("{TITLE} {VERSION}\n");
        let mut line = |words: &str| {
            text += words;
            text += "\n";
        };
        if let Some(CheckName { test, number }) = &self.check {
            line(&format!(
                "check {number} {}",
                test.replace(['\n', '\r'], " ")
            ));
        }
        for (name, value) in &self.settings {
            line(&format!("setting {name} {value}"));
        }
        line(&format!("runs {}", self.runs));
        line(&format!("executions {}", self.executions));
        line(&format!("discarded {}", self.discarded));
        line(&format!("cut-short {}", self.cut_short));
        let CutCounts {
            too_long,
            left_polling,
            out_of_time,
        } = self.cuts;
        if self.cuts != CutCounts::default() {
            line(&format!("cuts {too_long} {left_polling} {out_of_time}"));
        }
        let [left_out, weakened, late] = self.reach.to_words();
        line(&format!("reach {left_out} {weakened} {late}"));
        line(&format!("milliseconds {}", self.elapsed.as_millis()));
        for (execution, token) in &self.failures {
            line(&format!("failure {execution} {token}"));
        }
        for item in &self.items {
            text += item;
        }
        text
    }

    /// Returns the counts.
    pub(crate) fn tally(&self) -> Tally {
        Tally::new(
            self.runs,
            self.executions,
            self.discarded,
            self.cut_short,
            self.cuts,
        )
    }

    /// Parses the items, with sites as this process numbers them.
    pub(crate) fn read_items(&self, places: &Places) -> Result<Vec<Item>, String> {
        let read = |text: &String| {
            Item::read(&mut text.lines(), |place| places.of_text(place))
                .map_err(|problem| problem.to_string())
        };
        self.items.iter().map(read).collect()
    }
}

/// Parses a checkpoint and returns the text that would be saved for it now.
pub fn read_search(text: &str) -> Result<String, String> {
    let saved: Saved = text.parse()?;
    saved.read_items(&Places::new(&Library))?;
    Ok(saved.to_string())
}

impl FromStr for Saved {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let version = lines.next().and_then(|line| line.strip_prefix(TITLE));
        let version = version.ok_or("it is not a saved search")?.trim();
        if version != VERSION.to_string() {
            return Err(format!(
                "it is of version {version}, and this raddle reads version {VERSION}"
            ));
        }
        let last = text.trim_end().rfind('\n').map_or(0, |end| end + 1);
        let sum = format!("checksum {:016x}", checksum(&text.as_bytes()[..last]));
        if text[last..].trim_end() != sum {
            return Err("it is damaged or not complete".to_owned());
        }
        let mut saved = Saved::default();
        let mut lines = text[..last].split_terminator('\n').skip(1).peekable();
        while let Some(line) = lines.next() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let bad = || format!("unexpected line `{line}`");
            let number = || rest.parse::<u64>().map_err(|_| bad());
            match word {
                "check" => {
                    let (number, test) = rest.split_once(' ').ok_or_else(bad)?;
                    saved.check = Some(CheckName {
                        test: test.to_owned(),
                        number: number.parse().map_err(|_| bad())?,
                    });
                }
                "setting" => {
                    let (name, value) = rest.split_once(' ').ok_or_else(bad)?;
                    saved.settings.push((name.to_owned(), value.to_owned()));
                }
                "runs" => saved.runs = number()?,
                "executions" => saved.executions = number()?,
                "discarded" => saved.discarded = number()?,
                "cut-short" => saved.cut_short = rest.parse().map_err(|_| bad())?,
                "cuts" => {
                    let numbers: Result<Vec<u64>, _> = rest.split(' ').map(str::parse).collect();
                    let numbers = numbers.ok().and_then(|numbers| numbers.try_into().ok());
                    let [too_long, left_polling, out_of_time] = numbers.ok_or_else(bad)?;
                    saved.cuts = CutCounts {
                        too_long,
                        left_polling,
                        out_of_time,
                    };
                }
                "reach" => {
                    let words: Result<Vec<bool>, _> = rest.split(' ').map(str::parse).collect();
                    let words = words.ok().and_then(|words| words.try_into().ok());
                    saved.reach = Reach::of_words(words.ok_or_else(bad)?);
                }
                "milliseconds" => saved.elapsed = Duration::from_millis(number()?),
                "failure" => {
                    let (execution, token) = rest.split_once(' ').ok_or_else(bad)?;
                    let execution = execution.parse().map_err(|_| bad())?;
                    saved.failures.push((execution, token.to_owned()));
                }
                "item" => {
                    let mut item = format!("{line}\n");
                    for line in lines.by_ref() {
                        item += line;
                        item += "\n";
                        if line == "end" {
                            break;
                        }
                    }
                    saved.items.push(item);
                }
                _ => return Err(bad()),
            }
        }
        Ok(saved)
    }
}

/// Returns the FNV-1a hash of the bytes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Saved {
        Saved {
            check: Some(CheckName {
                test: "tests::a b".to_owned(),
                number: 2,
            }),
            settings: vec![("memory".to_owned(), "Sc".to_owned())],
            runs: 11,
            executions: 7,
            discarded: 1,
            cut_short: true,
            cuts: CutCounts {
                too_long: 2,
                left_polling: 3,
                out_of_time: 1,
            },
            reach: Reach::of_words([true, false, true]),
            elapsed: Duration::from_millis(1500),
            failures: vec![(3, "r1.AAAA".to_owned())],
            items: vec!["item 1 of some kind\nend\n".to_owned()],
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        assert_eq!(example().to_string().parse(), Ok(example()));
        assert_eq!(Saved::default().to_string().parse(), Ok(Saved::default()));
        let odd = Saved {
            settings: vec![("memory".to_owned(), "Sc\r".to_owned())],
            ..Saved::default()
        };
        assert_eq!(odd.to_string().parse(), Ok(odd));
    }

    #[test]
    fn what_is_damaged_is_refused() {
        let text = example().to_string();
        let damaged: Result<Saved, _> = Err("it is damaged or not complete".to_owned());
        assert_eq!(
            text.replace("executions 7", "executions 8").parse(),
            damaged
        );
        for end in 25..text.len() - 1 {
            assert_eq!(text[..end].parse(), damaged, "{end}");
        }
        let problem = |text: &str| text.parse::<Saved>().unwrap_err();
        assert_eq!(problem(""), "it is not a saved search");
        assert_eq!(
            problem("raddle frontier 99\n"),
            "it is of version 99, and this raddle reads version 1"
        );
    }
}
