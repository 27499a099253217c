//! Messages between a check whose search is shared with other machines and the command that runs it, which has
//! the connection to the queue.
//!
//! A message is a list of named texts. On the wire each is its name, its length in bytes and its bytes, so that
//! a text may contain anything; a name of no length ends the message.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};

use crate::data::estimate::Estimate;

/// Maximum length of a name, and of all texts of a message; both far beyond the messages of a check.
const MAX_NAME: u64 = 64;
const MAX_LENGTH: usize = 256 << 20;

/// Texts with their names.
type Fields = Vec<(String, String)>;

/// A message of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromCheck {
    /// The search begins.
    Search(SharedSearch),
    /// The search cannot be shared.
    Refused {
        /// The name of the check.
        check: String,
        /// The setting that is in the way, and the remedy.
        reason: String,
    },
    /// The results of the last part that was explored.
    Results(PartResults),
    /// The estimated size of the search.
    Estimate(Estimate),
}

/// A message to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToCheck {
    /// A part of the search to explore.
    Explore(Part),
    /// The size of the search is to be estimated, until another message comes.
    Estimate,
    /// The search is over; the results are those of all parts.
    Totals(Totals),
    /// The search goes on in a process of its own, later: these are its results so far, and the parts that are left.
    Keep(PartResults),
}

/// A search, with everything that must be the same on every machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedSearch {
    /// The name of the check.
    pub check: String,
    /// Its number among the checks of this name.
    pub number: u32,
    /// The build of the program and the settings.
    pub settings: Vec<(String, String)>,
    /// The text of the part that is the whole search.
    pub root: String,
    /// Limit of the time of the whole search, in milliseconds.
    pub milliseconds: Option<u64>,
    /// Limit of the runs of the whole search, if they are granted to its parts.
    pub runs: Option<u64>,
    /// The part with which the search goes on if it ends without every class.
    pub next: Option<String>,
    /// What is known of an earlier version of the program, which changes the choices of samplers.
    pub since: Option<String>,
    /// The results of a search that has begun in a process of its own, with the parts that are left of it.
    pub begun: Option<PartResults>,
}

impl SharedSearch {
    /// The fact of a search with what is known of an earlier version.
    pub const SINCE: &str = "since";
}

/// A part of a search and the time for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The text of its branches or streams.
    pub item: String,
    /// Time after which the rest is handed back. A stream is run to its end, however long it takes.
    pub milliseconds: u64,
    /// Maximum number of parts that the rest is split into.
    pub pieces: usize,
    /// The headlines of failures that are known already.
    pub known: Vec<String>,
    /// Maximum number of runs, if they are limited.
    pub runs: Option<u64>,
    /// What earlier generations of streams have learned.
    pub lessons: Vec<String>,
}

impl Part {
    /// The text of the part that is the whole of an exhaustive search.
    pub const ROOT: &str = "root";
    /// The first word of a part that consists of streams of a sampler.
    pub const STREAMS: &str = "streams";

    /// The first word of a fact that a stream has learned, of which the detail is the generation of the stream.
    pub const LESSON: &str = "lesson ";

    /// The generation of the streams of the part with this text; the first one is 0.
    pub fn generation(item: &str) -> u32 {
        let generation = item.split(' ').nth(3).filter(|_| Part::is_streams(item));
        generation.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// True when the part with this text consists of streams.
    pub fn is_streams(item: &str) -> bool {
        item.split(' ').next() == Some(Part::STREAMS)
    }
}

/// The results of a part of a search, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartResults {
    /// Counts, by name. Those of several parts are added.
    pub sums: BTreeMap<String, u64>,
    /// Observations that hold for the whole search as soon as they hold for a part, with a detail.
    pub facts: BTreeMap<String, String>,
    /// Failures in the order they were found.
    pub failures: Vec<FoundFailure>,
    /// The parts that are left.
    pub items: Vec<String>,
    /// The part that follows when no part of the search is left.
    pub next: Option<String>,
    /// The fingerprints of the different classes that were run, if classes can repeat.
    pub classes: Vec<u64>,
    /// True when a failure ends the search.
    pub is_over: bool,
    /// True when the process explores no more, because it is asked to end.
    pub is_last: bool,
}

/// The results of a whole search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The sum of all parts.
    pub results: PartResults,
    /// True when no part is left.
    pub is_exhausted: bool,
    /// True when the limit of the time has ended the search.
    pub is_out_of_time: bool,
    /// The number of different classes, if classes can repeat.
    pub classes: u64,
    /// True when that number is an estimate.
    pub is_estimated: bool,
    /// The command that resumes a search that was interrupted.
    pub resume: Option<String>,
}

/// A failure that another process can replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFailure {
    /// Executions of the search before it and with it.
    pub execution: u64,
    /// The token of its schedule.
    pub schedule: String,
    /// Its critical pair in one line; empty if there is none.
    pub pair: String,
    /// The strategy that found it, with its seed, in one line.
    pub search: String,
    /// Its kind and message. Two failures with the same headline count as one.
    pub headline: String,
}

impl FromCheck {
    /// Writes the message.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let fields = match self {
            FromCheck::Search(search) => {
                let mut fields = vec![
                    field("search", &search.check),
                    field("number", search.number),
                ];
                fields.push(field("root", &search.root));
                fields.extend(search.milliseconds.map(|time| field("milliseconds", time)));
                fields.extend(search.runs.map(|runs| field("runs", runs)));
                fields.extend(search.next.iter().map(|part| field("next", part)));
                fields.extend(search.since.iter().map(|text| field("since", text)));
                for (name, value) in &search.settings {
                    fields.extend([field("setting", name), field("value", value)]);
                }
                if let Some(begun) = &search.begun {
                    fields.push(field("begun", ""));
                    fields.extend(begun.fields());
                }
                fields
            }
            FromCheck::Refused { check, reason } => {
                vec![field("refused", check), field("reason", reason)]
            }
            FromCheck::Results(results) => [vec![field("results", "")], results.fields()].concat(),
            FromCheck::Estimate(estimate) => vec![field("estimate", estimate.to_text())],
        };
        write(to, &fields)
    }

    /// Reads a message; `None` at the end of the connection.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let Some((kind, value, mut rest)) = read(from)? else {
            return Ok(None);
        };
        Ok(Some(match kind.as_str() {
            "search" => {
                let begun = rest.iter().position(|(name, _)| name == "begun");
                let begun = begun.map(|at| rest.split_off(at).split_off(1));
                let mut search = SharedSearch {
                    check: value,
                    begun: begun.map(PartResults::of_fields).transpose()?,
                    ..SharedSearch::default()
                };
                for (name, value) in rest {
                    match (name.as_str(), search.settings.last_mut()) {
                        ("number", _) => search.number = number(&value)?,
                        ("root", _) => search.root = value,
                        ("milliseconds", _) => search.milliseconds = Some(number(&value)?),
                        ("runs", _) => search.runs = Some(number(&value)?),
                        ("next", _) => search.next = Some(value),
                        ("since", _) => search.since = Some(value),
                        ("setting", _) => search.settings.push((value, String::new())),
                        ("value", Some(setting)) => setting.1 = value,
                        _ => return Err(unexpected(&name)),
                    }
                }
                FromCheck::Search(search)
            }
            "refused" => FromCheck::Refused {
                check: value,
                reason: rest.into_iter().map(|(_, reason)| reason).collect(),
            },
            "results" => FromCheck::Results(PartResults::of_fields(rest)?),
            "estimate" => FromCheck::Estimate(Estimate::of_text(&value)?),
            _ => return Err(unexpected(&kind)),
        }))
    }
}

impl ToCheck {
    /// Writes the message.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let fields = match self {
            ToCheck::Explore(part) => {
                let mut fields = vec![
                    field("explore", &part.item),
                    field("milliseconds", part.milliseconds),
                    field("pieces", part.pieces),
                ];
                fields.extend(part.runs.map(|runs| field("runs", runs)));
                fields.extend(part.known.iter().map(|headline| field("known", headline)));
                fields.extend(part.lessons.iter().map(|lesson| field("lesson", lesson)));
                fields
            }
            ToCheck::Estimate => vec![field("estimate", "")],
            ToCheck::Totals(totals) => {
                let mut fields = vec![
                    field("totals", totals.is_exhausted),
                    field("out-of-time", totals.is_out_of_time),
                    field("classes", totals.classes),
                    field("estimated", totals.is_estimated),
                ];
                fields.extend(totals.resume.iter().map(|command| field("resume", command)));
                [fields, totals.results.fields()].concat()
            }
            ToCheck::Keep(results) => [vec![field("keep", "")], results.fields()].concat(),
        };
        write(to, &fields)
    }

    /// Reads a message; `None` at the end of the connection.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let Some((kind, value, mut rest)) = read(from)? else {
            return Ok(None);
        };
        Ok(Some(match kind.as_str() {
            "explore" => {
                let mut part = Part {
                    item: value,
                    ..Part::default()
                };
                for (name, value) in rest {
                    match name.as_str() {
                        "milliseconds" => part.milliseconds = number(&value)?,
                        "pieces" => part.pieces = number(&value)?,
                        "known" => part.known.push(value),
                        "lesson" => part.lessons.push(value),
                        "runs" => part.runs = Some(number(&value)?),
                        _ => return Err(unexpected(&name)),
                    }
                }
                ToCheck::Explore(part)
            }
            "estimate" => ToCheck::Estimate,
            "totals" => {
                let mut taken = |name: &str| {
                    let at = rest.iter().position(|(other, _)| other == name);
                    at.map(|at| rest.remove(at).1)
                };
                let mut required = |name| taken(name).ok_or_else(|| unexpected(name));
                let (is_out_of_time, classes) = (required("out-of-time")?, required("classes")?);
                let is_estimated = required("estimated")?;
                ToCheck::Totals(Totals {
                    is_exhausted: number(&value)?,
                    is_out_of_time: number(&is_out_of_time)?,
                    classes: number(&classes)?,
                    is_estimated: number(&is_estimated)?,
                    resume: taken("resume"),
                    results: PartResults::of_fields(rest)?,
                })
            }
            "keep" => ToCheck::Keep(PartResults::of_fields(rest)?),
            _ => return Err(unexpected(&kind)),
        }))
    }
}

impl Estimate {
    /// The fact of a search with its estimated size.
    pub const FACT: &str = "estimate";

    /// Returns the estimate as text, for the queue.
    pub fn to_text(&self) -> String {
        let Estimate {
            classes,
            low,
            high,
            samples,
        } = self;
        format!("{classes} {low} {high} {samples}")
    }

    /// Parses the text of an estimate.
    pub fn of_text(text: &str) -> io::Result<Self> {
        let numbers = text.split(' ').map(number);
        match numbers.collect::<io::Result<Vec<u64>>>()?[..] {
            [classes, low, high, samples] => Ok(Estimate {
                classes,
                low,
                high,
                samples,
            }),
            _ => Err(unexpected(text)),
        }
    }
}

impl PartResults {
    fn fields(&self) -> Fields {
        let mut fields = Fields::new();
        for (name, sum) in &self.sums {
            fields.extend([field("sum", name), field("count", sum)]);
        }
        for (fact, detail) in &self.facts {
            fields.extend([field("fact", fact), field("detail", detail)]);
        }
        for failure in &self.failures {
            fields.push(field("failure", failure.to_text()));
        }
        for item in &self.items {
            fields.push(field("item", item));
        }
        fields.extend(self.next.iter().map(|part| field("next", part)));
        if !self.classes.is_empty() {
            let classes = self.classes.iter().map(|class| format!("{class:x}"));
            fields.push(field("run", classes.collect::<Vec<_>>().join(" ")));
        }
        fields.extend(self.is_over.then(|| field("over", "")));
        fields.extend(self.is_last.then(|| field("last", "")));
        fields
    }

    fn of_fields(fields: Fields) -> io::Result<Self> {
        let mut results = PartResults::default();
        let mut last = String::new();
        for (name, value) in fields {
            match name.as_str() {
                "sum" | "fact" => last = value,
                "count" => {
                    let sum = number(&value)?;
                    results.sums.insert(std::mem::take(&mut last), sum);
                }
                "detail" => {
                    results.facts.insert(std::mem::take(&mut last), value);
                }
                "failure" => results.failures.push(FoundFailure::of_text(&value)?),
                "item" => results.items.push(value),
                "next" => results.next = Some(value),
                "run" => {
                    let class = |text| u64::from_str_radix(text, 16).map_err(|_| unexpected(text));
                    results.classes = value.split(' ').map(class).collect::<io::Result<_>>()?;
                }
                "over" => results.is_over = true,
                "last" => results.is_last = true,
                _ => return Err(unexpected(&name)),
            }
        }
        Ok(results)
    }
}

impl FoundFailure {
    /// Returns the failure as text, for the queue.
    pub fn to_text(&self) -> String {
        let FoundFailure {
            execution,
            schedule,
            pair,
            search,
            headline,
        } = self;
        format!("{execution}\n{schedule}\n{pair}\n{search}\n{headline}")
    }

    /// Parses the text of a failure.
    pub fn of_text(text: &str) -> io::Result<Self> {
        let mut lines = text.splitn(5, '\n');
        let mut line = || lines.next().ok_or_else(|| unexpected(text));
        Ok(FoundFailure {
            execution: number(line()?)?,
            schedule: line()?.to_owned(),
            pair: line()?.to_owned(),
            search: line()?.to_owned(),
            headline: line()?.to_owned(),
        })
    }
}

fn field(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

fn number<T: std::str::FromStr>(text: &str) -> io::Result<T> {
    text.parse().map_err(|_| unexpected(text))
}

fn unexpected(text: &str) -> io::Error {
    let text: String = text.chars().take(MAX_NAME as usize).collect();
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected `{text}`"))
}

fn write(to: &mut impl Write, fields: &[(String, String)]) -> io::Result<()> {
    let mut text = String::new();
    for (name, value) in fields {
        text += &format!("{name} {}\n{value}\n", value.len());
    }
    text += "\n";
    to.write_all(text.as_bytes())?;
    to.flush()
}

/// Reads the first name, its text and the other fields.
fn read(from: &mut impl BufRead) -> io::Result<Option<(String, String, Fields)>> {
    let mut fields = Fields::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        // A number of bytes has at most 20 digits.
        from.take(MAX_NAME + 22).read_line(&mut line)?;
        if line.is_empty() && fields.is_empty() {
            return Ok(None);
        }
        if line == "\n" {
            break;
        }
        let words = line
            .strip_suffix('\n')
            .and_then(|line| line.split_once(' '));
        let (name, size) = words.ok_or_else(|| unexpected(&line))?;
        let size: usize = number(size)?;
        length += size;
        if length > MAX_LENGTH {
            return Err(unexpected(&line));
        }
        let mut value = String::new();
        from.take(size as u64).read_to_string(&mut value)?;
        let mut end = [0];
        from.read_exact(&mut end)?;
        if value.len() != size || end != *b"\n" {
            return Err(unexpected(&line));
        }
        fields.push((name.to_owned(), value));
    }
    if fields.is_empty() {
        return Err(unexpected(""));
    }
    let (kind, value) = fields.remove(0);
    Ok(Some((kind, value, fields)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> PartResults {
        PartResults {
            sums: [("runs".to_owned(), 7), ("executions".to_owned(), 5)].into(),
            facts: [("cut-short".to_owned(), "a\nb\n\n".to_owned())].into(),
            failures: vec![FoundFailure {
                execution: 3,
                schedule: "r1.AbQ".to_owned(),
                pair: String::new(),
                search: "random, seed 7".to_owned(),
                headline: "deadlock: of two\nlines".to_owned(),
            }],
            items: vec!["item 1\nend\n".to_owned(), "ä".to_owned()],
            next: Some("streams 8 16 1".to_owned()),
            classes: vec![u64::MAX, 0, 7],
            is_over: true,
            is_last: true,
        }
    }

    fn from_check() -> [FromCheck; 4] {
        [
            FromCheck::Search(SharedSearch {
                check: "a::b".to_owned(),
                number: 2,
                settings: vec![("memory".to_owned(), "Sc".to_owned())],
                root: "streams 0 7".to_owned(),
                milliseconds: Some(1500),
                runs: Some(100),
                next: Some("streams 0 3".to_owned()),
                since: Some("near\ta.rs\t1\t2\n".to_owned()),
                begun: Some(results()),
            }),
            FromCheck::Refused {
                check: "a".to_owned(),
                reason: "no".to_owned(),
            },
            FromCheck::Results(results()),
            FromCheck::Estimate(Estimate {
                classes: 7,
                low: 5,
                high: u64::MAX,
                samples: 3,
            }),
        ]
    }

    #[test]
    fn messages_are_read_as_they_were_written() {
        let mut wire = Vec::new();
        let messages = from_check();
        for message in &messages {
            message.write(&mut wire).unwrap();
        }
        let mut from = &wire[..];
        for message in messages {
            assert_eq!(FromCheck::read(&mut from).unwrap(), Some(message));
        }
        assert_eq!(FromCheck::read(&mut from).unwrap(), None);
        let messages = [
            ToCheck::Explore(Part {
                item: "item 1\n".to_owned(),
                milliseconds: 100,
                pieces: 4,
                known: vec!["deadlock: a\nb".to_owned(), String::new()],
                runs: Some(7),
                lessons: vec!["lesson covered".to_owned()],
            }),
            ToCheck::Totals(Totals {
                results: results(),
                is_exhausted: false,
                is_out_of_time: true,
                classes: 81_000,
                is_estimated: true,
                resume: Some("cargo raddle".to_owned()),
            }),
        ];
        let others = [ToCheck::Keep(results()), ToCheck::Estimate];
        let messages = messages.into_iter().chain(others);
        for message in messages {
            let mut wire = Vec::new();
            message.write(&mut wire).unwrap();
            assert_eq!(ToCheck::read(&mut &wire[..]).unwrap(), Some(message));
        }
    }

    #[test]
    fn a_part_of_a_message_is_none() {
        for message in from_check() {
            let mut wire = Vec::new();
            message.write(&mut wire).unwrap();
            for length in 1..wire.len() {
                assert!(
                    FromCheck::read(&mut &wire[..length]).is_err(),
                    "{length} of {}",
                    String::from_utf8_lossy(&wire)
                );
            }
        }
    }
}
