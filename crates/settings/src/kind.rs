//! Kinds of values, and the only parser of their text forms.

use std::fmt;
use std::time::Duration;

/// The values that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// A whole number in a range that includes both ends.
    Number {
        /// The smallest number.
        from: u64,
        /// The largest number.
        to: u64,
    },
    /// A whole number and a unit: ms, s, m or h.
    Time {
        /// The shortest time, in milliseconds.
        from: u64,
    },
    /// A number of bytes of at least 1, in K, M or G if it ends with such a letter.
    Size {
        /// The largest size.
        to: u64,
    },
    /// On or off.
    Switch,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// Some of these names, with commas between them.
    List(&'static [&'static str]),
    /// Any names, with commas between them.
    Names,
    /// Names of coverage metrics with `+` between them, or a switch for the usual ones.
    Metrics,
    /// Name of a strategy, with its parameter.
    Strategy,
    /// Name of a guarantee, with its bound.
    Guarantee,
    /// Token, text or file of a schedule.
    Schedule,
    /// Changes of operations, each with its place, or `list`.
    Mutant,
    /// Any name.
    Name,
    /// Path of a file or directory.
    Path,
}

/// A value that has passed the checks of its kind. Names are trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A [`SettingKind::Number`] or a [`SettingKind::Size`].
    Number(u64),
    /// A [`SettingKind::Time`].
    Time(Duration),
    /// A [`SettingKind::Switch`], or [`SettingKind::Metrics`] that are all on or off.
    Switch(bool),
    /// A [`SettingKind::Guarantee`].
    Guarantee {
        /// One of [`GUARANTEES`].
        name: &'static str,
        /// Its bound; 0 if it has none.
        bound: u32,
    },
    /// Every other kind.
    Text(&'a str),
}

/// Conversion of a value that has passed the checks of its kind.
pub(crate) trait FromValue {
    fn from_value(value: Value<'_>) -> Self;
}

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Self {
        match value {
            Value::Switch(is_on) => is_on,
            other => unreachable!("the table has a kind other than a switch: {other:?}"),
        }
    }
}

impl FromValue for u64 {
    fn from_value(value: Value<'_>) -> Self {
        match value {
            Value::Number(number) => number,
            other => unreachable!("the table has a kind other than a number: {other:?}"),
        }
    }
}

/// An error: a text that is not a value of its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    text: String,
    kind: SettingKind,
    is_too_large: bool,
}

impl BadValue {
    /// Describes the values that are allowed.
    pub fn expected(&self) -> String {
        self.kind.to_string()
    }

    /// Describes the problem without repeating the text.
    pub fn reason(&self) -> String {
        match self.is_too_large {
            true => format!("too large, expected {}", self.kind),
            false => format!("expected {}", self.kind),
        }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.is_too_large {
            true => "is too large for",
            false => "is not",
        };
        write!(f, "`{}` {problem} {}", self.text, self.kind)
    }
}

impl std::error::Error for BadValue {}

/// Describes the allowed values: "a whole number from 1 to 1024".
impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingKind::Number { from: 0, to } if *to >= u64::from(u32::MAX) => {
                f.write_str("a whole number")
            }
            SettingKind::Number { from, to: u64::MAX } => {
                write!(f, "a whole number of at least {from}")
            }
            SettingKind::Number { from, to } => write!(f, "a whole number from {from} to {to}"),
            SettingKind::Time { from: 0 } => f.write_str(TIMES),
            SettingKind::Time { from } => write!(f, "{TIMES}, of at least {from}ms"),
            SettingKind::Size { to } => {
                write!(f, "a size such as 64M or 2G, of at most {}G", to >> GIGA)
            }
            SettingKind::Switch => f.write_str("1 or 0"),
            SettingKind::Choice([name]) => f.write_str(name),
            SettingKind::Choice(names) => write!(f, "one of: {}", names.join(", ")),
            SettingKind::List(names) => {
                write!(f, "one of: {}, or several with commas", names.join(", "))
            }
            SettingKind::Names => f.write_str("names with commas between them"),
            SettingKind::Metrics => f.write_str("1, 0, or names of metrics with `+` between them"),
            SettingKind::Strategy => f.write_str("the name of a strategy"),
            SettingKind::Guarantee => f.write_str(
                "one of: exhaustive, reduced, paths, manners, bounded:N, delayed:N, sampled",
            ),
            SettingKind::Schedule => f.write_str("a schedule: its token, its text or its file"),
            SettingKind::Mutant => {
                f.write_str("list, or FILE:LINE:COLUMN OPERATION CHANGE, several with `;`")
            }
            SettingKind::Name => f.write_str("a name"),
            SettingKind::Path => f.write_str("a path"),
        }
    }
}

/// Names of guarantees that a check can require, and whether they have a bound.
pub const GUARANTEES: &[(&str, bool)] = &[
    ("exhaustive", false),
    ("reduced", false),
    ("paths", false),
    ("manners", false),
    ("bounded", true),
    ("delayed", true),
    ("sampled", false),
];

const TIMES: &str = "a time such as 500ms, 20s, 2m or 1h";
/// Milliseconds in each unit.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
/// Binary logarithm of one GiB.
const GIGA: u32 = 30;

impl SettingKind {
    /// Returns the value that the text stands for. The parsers of strategies, metrics and schedules
    /// reject more texts than this one, which does not parse them.
    ///
    /// # Errors
    ///
    /// If no value of this kind has such a text.
    pub fn parse(self, text: &str) -> Result<Value<'_>, BadValue> {
        let bad = |is_too_large| BadValue {
            text: text.to_owned(),
            kind: self,
            is_too_large,
        };
        let trimmed = text.trim();
        let value = match self {
            SettingKind::Number { from, to } => {
                let number = digits(trimmed).ok_or_else(|| bad(false))?;
                let number = number.filter(|it| *it <= to).ok_or_else(|| bad(true))?;
                Some(number).filter(|it| *it >= from).map(Value::Number)
            }
            SettingKind::Time { from } => {
                let (number, unit) = split_unit(trimmed);
                let scale = UNITS.iter().find(|(name, _)| *name == unit);
                let (_, scale) = scale.ok_or_else(|| bad(false))?;
                let number = digits(number).ok_or_else(|| bad(false))?;
                let time = number.and_then(|number| number.checked_mul(*scale));
                let time = time.ok_or_else(|| bad(true))?;
                let time = Some(time).filter(|time| *time >= from);
                time.map(|time| Value::Time(Duration::from_millis(time)))
            }
            SettingKind::Size { to } => {
                let (number, unit) = split_unit(trimmed);
                let scale = match unit {
                    "" => 0,
                    "k" | "K" => 10,
                    "m" | "M" => 20,
                    "g" | "G" => GIGA,
                    _ => return Err(bad(false)),
                };
                let number = digits(number).ok_or_else(|| bad(false))?;
                let size = number.and_then(|number| number.checked_mul(1 << scale));
                let size = size.filter(|size| *size <= to).ok_or_else(|| bad(true))?;
                Some(size).filter(|size| *size > 0).map(Value::Number)
            }
            SettingKind::Switch => switch(trimmed),
            SettingKind::Choice(names) => {
                let name = names.iter().find(|name| name.eq_ignore_ascii_case(trimmed));
                name.map(|name| Value::Text(name))
            }
            SettingKind::List(names) => {
                let is_known = |name: &str| {
                    let mut names = names.iter();
                    names.any(|known| known.eq_ignore_ascii_case(name.trim()))
                };
                let all_known = trimmed.split(',').all(is_known);
                all_known.then_some(Value::Text(trimmed))
            }
            SettingKind::Names => {
                let all_named = trimmed.split(',').all(|name| !name.trim().is_empty());
                all_named.then_some(Value::Text(trimmed))
            }
            SettingKind::Metrics => switch(trimmed).or(named(trimmed)),
            SettingKind::Guarantee => {
                let (name, bound) = match trimmed.split_once(':') {
                    Some((name, bound)) => (name, Some(bound)),
                    None => (trimmed, None),
                };
                let mut known = GUARANTEES.iter();
                let known = known.find(|(known, _)| known.eq_ignore_ascii_case(name));
                let known = known.filter(|(_, has_bound)| *has_bound == bound.is_some());
                let &(name, _) = known.ok_or_else(|| bad(false))?;
                let bound = digits(bound.unwrap_or("0")).ok_or_else(|| bad(false))?;
                let bound = bound.and_then(|bound| u32::try_from(bound).ok());
                let bound = bound.ok_or_else(|| bad(true))?;
                Some(Value::Guarantee { name, bound })
            }
            SettingKind::Mutant => {
                let is_change = |text: &str| {
                    let place = text.trim().rsplitn(3, ' ').nth(2);
                    let mut parts = place.into_iter().flat_map(|place| place.rsplitn(3, ':'));
                    let mut number = || parts.next().and_then(digits).is_some();
                    number() && number() && parts.next().is_some()
                };
                let is_mutant = trimmed == "list" || trimmed.split(';').all(is_change);
                is_mutant.then_some(Value::Text(trimmed))
            }
            SettingKind::Strategy | SettingKind::Name => named(trimmed),
            SettingKind::Schedule | SettingKind::Path => named(text),
        };
        value.ok_or_else(|| bad(false))
    }
}

fn named(text: &str) -> Option<Value<'_>> {
    (!text.trim().is_empty()).then_some(Value::Text(text))
}

fn switch(text: &str) -> Option<Value<'_>> {
    match text {
        "0" | "false" => Some(Value::Switch(false)),
        "1" | "true" => Some(Value::Switch(true)),
        _ => None,
    }
}

/// Parses digits: `None` for any other text, and `Some(None)` if the number is too large.
fn digits(text: &str) -> Option<Option<u64>> {
    let are_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok())
}

fn split_unit(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: SettingKind = SettingKind::Time { from: 1 };
    const TIME_OR_NONE: SettingKind = SettingKind::Time { from: 0 };

    fn problem(kind: SettingKind, text: &str) -> String {
        kind.parse(text).expect_err(text).to_string()
    }

    #[test]
    fn a_time_is_a_whole_number_and_a_unit() {
        for (text, milliseconds) in [
            ("1ms", 1),
            ("500ms", 500),
            (" 20s", 20_000),
            ("007s", 7_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("18446744073709551615ms", u64::MAX),
        ] {
            let time = Value::Time(Duration::from_millis(milliseconds));
            assert_eq!(TIME.parse(text), Ok(time), "{text}");
        }
        for text in [
            "", "s", "30", "30 s", "30S", "1.5s", "-1s", "+1s", "1d", "1m30s", "٣s",
        ] {
            let expected = "a time such as 500ms, 20s, 2m or 1h";
            let problem = problem(TIME_OR_NONE, text);
            assert_eq!(problem, format!("`{text}` is not {expected}"));
        }
        for text in ["18446744073709551616ms", "18446744073709551615s"] {
            assert!(problem(TIME, text).starts_with(&format!("`{text}` is too large for a time")));
        }
    }

    #[test]
    fn no_time_at_all_is_allowed_where_it_turns_something_off() {
        for text in ["0ms", "0s", "00m", "0h"] {
            assert_eq!(
                TIME_OR_NONE.parse(text),
                Ok(Value::Time(Duration::ZERO)),
                "{text}"
            );
            assert_eq!(
                problem(TIME, text),
                format!("`{text}` is not a time such as 500ms, 20s, 2m or 1h, of at least 1ms")
            );
        }
    }

    #[test]
    fn a_number_is_in_its_range() {
        let number = |from, to| SettingKind::Number { from, to };
        assert_eq!(number(0, u64::MAX).parse(" 7 "), Ok(Value::Number(7)));
        assert_eq!(number(1, 1024).parse("1024"), Ok(Value::Number(1024)));
        for (kind, text, expected) in [
            (number(0, u64::MAX), "-1", "`-1` is not a whole number"),
            (
                number(1, u64::MAX),
                "0",
                "`0` is not a whole number of at least 1",
            ),
            (
                number(1, 1024),
                "0",
                "`0` is not a whole number from 1 to 1024",
            ),
            (
                number(1, 1024),
                "1025",
                "`1025` is too large for a whole number from 1 to 1024",
            ),
            (
                number(0, u64::MAX),
                "18446744073709551616",
                "`18446744073709551616` is too large for a whole number",
            ),
        ] {
            assert_eq!(problem(kind, text), expected);
        }
    }

    #[test]
    fn a_size_may_have_a_unit() {
        let size = SettingKind::Size { to: 4 << 30 };
        for (text, bytes) in [
            ("4096", 4096),
            (" 3k ", 3 << 10),
            ("64M", 64 << 20),
            ("4g", 4 << 30),
        ] {
            assert_eq!(size.parse(text), Ok(Value::Number(bytes)));
        }
        for text in ["much", "", "0", "0K", "64T", "M", "-1", "1.5G", "64 M"] {
            assert_eq!(
                problem(size, text),
                format!("`{text}` is not a size such as 64M or 2G, of at most 4G")
            );
        }
        for text in [
            "5G",
            "4194305K",
            "99999999999999999999",
            "18446744073709551615G",
        ] {
            assert!(problem(size, text).starts_with(&format!("`{text}` is too large for")));
        }
    }

    #[test]
    fn names_are_in_their_list() {
        let choice = SettingKind::Choice(&["allow", "deny"]);
        assert_eq!(choice.parse("Deny "), Ok(Value::Text("deny")));
        assert_eq!(problem(choice, "loud"), "`loud` is not one of: allow, deny");
        let list = SettingKind::List(&["symmetry", "releases"]);
        let both = "symmetry, releases";
        assert_eq!(list.parse(both), Ok(Value::Text(both)));
        for text in ["symmetry; releases", "symmetry,", ""] {
            assert_eq!(
                problem(list, text),
                format!("`{text}` is not one of: symmetry, releases, or several with commas")
            );
        }
    }

    #[test]
    fn each_of_several_names_is_one() {
        let both = "queue was full, queue was empty";
        assert_eq!(SettingKind::Names.parse(both), Ok(Value::Text(both)));
        for text in ["", ",", "full,", "full, ,empty"] {
            assert_eq!(
                problem(SettingKind::Names, text),
                format!("`{text}` is not names with commas between them")
            );
        }
    }

    #[test]
    fn a_switch_is_on_or_off() {
        for (text, is_on) in [("1", true), ("true", true), ("0", false), ("false", false)] {
            assert_eq!(SettingKind::Switch.parse(text), Ok(Value::Switch(is_on)));
            assert_eq!(SettingKind::Metrics.parse(text), Ok(Value::Switch(is_on)));
        }
        assert_eq!(problem(SettingKind::Switch, "yes"), "`yes` is not 1 or 0");
        let names = "sync-pair+def-use";
        assert_eq!(SettingKind::Metrics.parse(names), Ok(Value::Text(names)));
    }

    #[test]
    fn a_guarantee_has_a_bound_if_its_name_asks_for_one() {
        fn parse(text: &str) -> Result<Value<'_>, BadValue> {
            SettingKind::Guarantee.parse(text)
        }
        for &(name, has_bound) in GUARANTEES {
            let with = format!("{name}:3");
            let without = Value::Guarantee { name, bound: 0 };
            let (right, value, wrong) = match has_bound {
                true => (&*with, Value::Guarantee { name, bound: 3 }, name),
                false => (name, without, &*with),
            };
            assert_eq!(parse(right), Ok(value));
            assert_eq!(
                problem(SettingKind::Guarantee, wrong),
                format!(
                    "`{wrong}` is not one of: exhaustive, reduced, paths, manners, bounded:N, delayed:N, sampled"
                )
            );
        }
        let every = Value::Guarantee {
            name: "exhaustive",
            bound: 0,
        };
        assert_eq!(parse(" Exhaustive "), Ok(every));
        for text in ["", "all", "bounded:", "bounded:x", "bounded:-1", "replayed"] {
            assert!(problem(SettingKind::Guarantee, text).contains("is not one of"));
        }
        assert!(problem(SettingKind::Guarantee, "bounded:4294967296").contains("is too large for"));
    }

    #[test]
    fn a_path_keeps_its_spaces() {
        assert_eq!(SettingKind::Path.parse(" a b "), Ok(Value::Text(" a b ")));
        assert_eq!(problem(SettingKind::Path, " "), "` ` is not a path");
        assert_eq!(
            problem(SettingKind::Strategy, ""),
            "`` is not the name of a strategy"
        );
    }
}
