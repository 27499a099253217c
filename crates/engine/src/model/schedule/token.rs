//! Schedules as tokens: `r1.`, then bytes in letters, digits, `-` and `_`.
//!
//! The bytes are a length, the schedule and a checksum, so a truncated token is distinguished from
//! a changed one. The schedule is a table of names, a table of the different steps, and the
//! stretches as positions in these. Frequent words are in a dictionary, which may grow at its end
//! without making old tokens unreadable.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use super::digits::{checksum, from_digits, to_digits};
use super::text::other_version;
use super::{CheckName, Schedule, ScheduleStep, ThreadPath};
use crate::base::outcome::Outcome;

const VERSION: u32 = 1;
const CHECKSUM: usize = 4;

/// Words that are encoded by their position. New words are added at the end only, because tokens
/// contain positions.
#[rustfmt::skip]
const DICTIONARY: &[&str] = &[
    "begin", "end", "spawn", "join", "load", "store", "lock", "unlock", "try-lock", "choose",
    "yield", "swap", "fetch-add", "fetch-sub", "compare-exchange", "fence", "send", "receive",
    "try-receive", "hang-up", "wait", "wake", "notify-one", "notify-all", "read", "write", "acquire",
    "release", "park", "unpark", "sleep", "clone", "drop", "is-finished", "spurious-unpark",
    "AtomicBool", "AtomicU8", "AtomicU16", "AtomicU32", "AtomicU64", "AtomicUsize", "AtomicI32",
    "AtomicI64", "AtomicIsize", "AtomicPtr", "Mutex", "RwLock", "Condvar", "Barrier", "Once",
    "OnceLock", "LazyLock", "Semaphore", "Monitor", "Port", "Channel", "Sender", "Receiver", "Parker",
    "TrackedArc", "UnsafeCell",
];
/// Encodings of a name: spelled, as a path in the tree of creations, or from the dictionary.
const SPELLED: u32 = 0;
const PLACE: u32 = 1;
const FIRST_WORD: u32 = 2;

/// A reason why a token cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenError {
    /// The text has a character that tokens do not have, or another beginning.
    NotAToken(Option<char>),
    /// Another version of raddle wrote it.
    Version(u32),
    /// The end of the token is missing.
    CutOff {
        /// Number of characters found.
        found: usize,
        /// Number of characters that the header announces, if it could be read.
        of: Option<usize>,
    },
    /// The checksum differs: the token was changed.
    Changed,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::NotAToken(None) => {
                write!(f, "not a token: tokens start with `r{VERSION}.`")
            }
            TokenError::NotAToken(Some(c)) => write!(
                f,
                "not a token: it has a `{c}`, and tokens have only letters, digits, `-` and `_`"
            ),
            TokenError::Version(version) => other_version(f, "token", *version, VERSION),
            TokenError::CutOff { found, of } => {
                write!(f, "the token is cut off: only {found} ")?;
                match of {
                    Some(of) => write!(f, "of its {of} characters are there")?,
                    None => write!(f, "characters are there")?,
                }
                f.write_str("; copy all of it")
            }
            TokenError::Changed => f.write_str(
                "the token was changed: its checksum is wrong; copy it again, or run the test again",
            ),
        }
    }
}

impl std::error::Error for TokenError {}

/// True when the text begins like a token.
pub(super) fn looks_like_one(text: &str) -> bool {
    split_version(text).is_some()
}

fn split_version(text: &str) -> Option<(u32, &str)> {
    let (version, rest) = text.strip_prefix('r')?.split_once('.')?;
    Some((version.parse().ok()?, rest))
}

pub(super) fn encode(schedule: &Schedule) -> String {
    seal(&Writer::body(schedule))
}

/// Returns the token of these bytes, with their length and checksum.
pub(super) fn seal(body: &[u8]) -> String {
    let mut bytes = Writer(Vec::new());
    bytes.number(body.len() as u32);
    let mut bytes = bytes.0;
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(&checksum(body).to_le_bytes());
    format!("r{VERSION}.{}", to_digits(&bytes))
}

pub(super) fn decode(token: &str) -> Result<Schedule, TokenError> {
    let (version, digits) = split_version(token).ok_or(TokenError::NotAToken(None))?;
    if version != VERSION {
        return Err(TokenError::Version(version));
    }
    let bytes = from_digits(digits).map_err(|c| TokenError::NotAToken(Some(c)))?;
    let cut_off = |bytes: Option<usize>| TokenError::CutOff {
        found: token.len(),
        of: bytes.map(|bytes| token.len() - digits.len() + (bytes * 8).div_ceil(6)),
    };
    let mut reader = Reader(&bytes);
    let length = reader.number().ok_or(cut_off(None))? as usize;
    let start = bytes.len() - reader.0.len();
    let whole = start + length + CHECKSUM;
    if bytes.len() < whole {
        return Err(cut_off(Some(whole)));
    }
    let (body, sum) = reader.0.split_at(length);
    if sum != checksum(body).to_le_bytes() {
        return Err(TokenError::Changed);
    }
    Reader(body).body().ok_or(TokenError::Changed)
}

struct Writer(Vec<u8>);

impl Writer {
    fn body(schedule: &Schedule) -> Vec<u8> {
        let mut names = Table::new();
        let mut kinds = Table::new();
        let mut stretches = Writer(Vec::new());
        let same_thread = |a: &ScheduleStep, b: &ScheduleStep| a.thread == b.thread;
        for stretch in schedule.steps.chunk_by(same_thread) {
            stretches.number(names.position(&stretch[0].thread));
            stretches.number(stretch.len() as u32);
            for step in stretch {
                let things = step
                    .things
                    .iter()
                    .map(|thing| names.position(thing))
                    .collect();
                let kind: (&str, Vec<u32>) = (&step.operation, things);
                let kind = kinds.position(&kind);
                stretches.number(kind << 1 | u32::from(!step.outcome.is_first()));
                if !step.outcome.is_first() {
                    stretches.number(step.outcome.number());
                }
            }
        }
        let mut body = Writer(Vec::new());
        match &schedule.check {
            None => body.number(0),
            Some(check) => {
                body.number(check.number);
                body.spelled(&check.test);
            }
        }
        body.number(names.entries.len() as u32);
        for name in &names.entries {
            body.name(name);
        }
        body.number(kinds.entries.len() as u32);
        for (operation, things) in &kinds.entries {
            body.name(operation);
            body.number(things.len() as u32);
            things.iter().for_each(|&thing| body.number(thing));
        }
        body.0.extend(stretches.0);
        body.0
    }

    /// Appends a number, seven bits in a byte, the lowest first.
    fn number(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn spelled(&mut self, text: &str) {
        self.number(text.len() as u32);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Appends a name, which may have a number behind it: `Mutex#2`.
    fn name(&mut self, name: &str) {
        let (start, number) = match name.rsplit_once('#') {
            Some((start, number)) => match number.parse() {
                Ok(parsed) if parsed > 0 && format!("{start}#{parsed}") == name => (start, parsed),
                _ => (name, 0),
            },
            None => (name, 0),
        };
        let place = name.parse::<ThreadPath>().ok();
        if let Some(place) = place.filter(|place| place.to_string() == name) {
            self.number(PLACE);
            self.number(place.steps().len() as u32);
            place.steps().iter().for_each(|&step| self.number(step));
            return;
        }
        match DICTIONARY.iter().position(|&word| word == start) {
            Some(word) => self.number(FIRST_WORD + word as u32),
            None => {
                self.number(SPELLED);
                self.spelled(start);
            }
        }
        self.number(number);
    }
}

/// Assigns positions in the order of first use.
struct Table<T> {
    entries: Vec<T>,
    positions: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn new() -> Self {
        Table {
            entries: Vec::new(),
            positions: HashMap::new(),
        }
    }

    fn position(&mut self, entry: &T) -> u32 {
        if let Some(&position) = self.positions.get(entry) {
            return position;
        }
        let position = self.entries.len() as u32;
        self.entries.push(entry.clone());
        self.positions.insert(entry.clone(), position);
        position
    }
}

/// The bytes left to read; methods return `None` for bytes that a [`Writer`] does not write.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn body(&mut self) -> Option<Schedule> {
        let check = match self.number()? {
            0 => None,
            number => Some(CheckName {
                number,
                test: self.spelled()?,
            }),
        };
        let names = self.list(|reader| reader.name().map(Arc::from))?;
        let name = |position: u32| names.get(position as usize).cloned();
        let kinds: Vec<(String, Vec<Arc<str>>)> = self.list(|reader| {
            let operation = reader.name()?;
            Some((operation, reader.list(|reader| name(reader.number()?))?))
        })?;
        let mut steps = Vec::new();
        while !self.0.is_empty() {
            let thread: Arc<str> = name(self.number()?)?;
            for _ in 0..self.number()? {
                let kind = self.number()?;
                let (operation, things) = kinds.get(kind as usize >> 1)?;
                let outcome = if kind & 1 == 1 { self.number()? } else { 0 };
                steps.push(ScheduleStep {
                    thread: Arc::clone(&thread),
                    operation: Cow::Owned(operation.clone()),
                    things: things.clone(),
                    outcome: Outcome::nth(outcome),
                });
            }
        }
        Some(Schedule { check, steps })
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        (0..length).map(|_| read(self)).collect()
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = 0;
        for shift in (0..32).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn spelled(&mut self) -> Option<String> {
        let length = self.number()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn name(&mut self) -> Option<String> {
        let start = match self.number()? {
            PLACE => {
                let place = ThreadPath::new(self.list(Self::number)?);
                return Some(place.to_string());
            }
            SPELLED => self.spelled()?,
            word => DICTIONARY.get((word - FIRST_WORD) as usize)?.to_string(),
        };
        Some(match self.number()? {
            0 => start,
            number => format!("{start}#{number}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "raddle schedule 2\ncheck tests::it 2\nmain: begin, spawn main.1, spawn bob\n\
                        main.1: begin, choose=0, receive Port#1 \"my port\"=300\nbob: load x#01\n\
                        main.1: choose=2, end, odd-word Mutex#2 Mutex#0\nmain: join bob, end\n";

    fn token() -> String {
        TEXT.parse::<Schedule>().unwrap().to_token()
    }

    fn problem(token: &str) -> String {
        token.parse::<Schedule>().unwrap_err().to_string()
    }

    #[test]
    fn tokens_make_an_exact_round_trip() {
        let schedule: Schedule = TEXT.parse().unwrap();
        assert_eq!(Schedule::from_token(&token()), Ok(schedule.clone()));
        assert_eq!(format!(" {}\n", token()).parse(), Ok(schedule));
        let nothing = Schedule::default();
        assert_eq!(Schedule::from_token(&nothing.to_token()), Ok(nothing));
    }

    #[test]
    fn the_text_is_longer_than_the_token() {
        let text = "raddle schedule 2; main: begin, spawn main.1, spawn main.2; main.1: begin, load \
                    AtomicU32; main.2: begin, load AtomicU32, store AtomicU32, end; main.1: store \
                    AtomicU32, end; main: join main.1, join main.2, load AtomicU32, end";
        let token = text.parse::<Schedule>().unwrap().to_token();
        // 12 bytes of names, 3 or 4 for each of 8 different steps, one for each of 16 steps, two for
        // each of 5 stretches, and 9 of length, counts and checksum.
        assert!(
            token.len() <= 3 + 4 * (12 + 28 + 16 + 10 + 9) / 3,
            "{token}"
        );
    }

    #[test]
    fn every_way_to_cut_it_off_is_told() {
        let token = token();
        for length in 3..token.len() {
            let problem = problem(&token[..length]);
            let start = format!("the token is cut off: only {length} ");
            assert!(problem.starts_with(&start), "{length}: {problem}");
        }
        assert_eq!(
            problem(&token[..20]),
            format!(
                "the token is cut off: only 20 of its {} characters are there; copy all of it",
                token.len()
            )
        );
        assert_eq!(
            problem("r1."),
            "the token is cut off: only 3 characters are there; copy all of it"
        );
    }

    #[test]
    fn every_change_of_a_character_is_told() {
        let token = token();
        // The first two digits encode the length.
        for place in 5..token.len() - 1 {
            let mut changed = token.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(
                problem(&changed),
                "the token was changed: its checksum is wrong; copy it again, or run the test again"
            );
        }
    }

    #[test]
    fn what_is_no_token_is_told() {
        assert_eq!(
            Schedule::from_token("hello").unwrap_err().to_string(),
            "not a token: tokens start with `r1.`"
        );
        assert_eq!(
            problem("r1.AbQ?A2b"),
            "not a token: it has a `?`, and tokens have only letters, digits, `-` and `_`"
        );
        assert_eq!(
            problem("r0.AbQxA2b"),
            "a token of version 0, which an older raddle wrote; this one reads version 1: run the \
             test again to get a new one"
        );
        assert_eq!(
            problem("r2.AbQxA2b"),
            "a token of version 2, which a newer raddle wrote; this one reads version 1: update \
             raddle, or run the test again to get a new one"
        );
    }
}
