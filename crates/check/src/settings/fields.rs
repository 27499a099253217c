//! Fields of `Checker`: conversion of a setting's value, given as a value or as text.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use raddle_engine::Schedule;
use raddle_engine::coverage::{Metrics, UnknownMetric};
use raddle_engine::race_kinds::{RaceModel, UnknownWord};
use raddle_engine::strategy::Reductions;
use raddle_report::Guarantee;
use raddle_settings::Value;

use crate::settings::checkpoints::Every;
use crate::settings::environment;
use crate::settings::log::Log;
use crate::settings::mutant::Mutant;
use crate::settings::options::{Classes, Level, Memory, Reduction, Strategy, UnknownName};

/// A field that keeps a value of type `T`.
pub(crate) trait Keep<T> {
    fn keep(&mut self, value: T);
}

impl<T> Keep<T> for T {
    fn keep(&mut self, value: T) {
        *self = value;
    }
}

impl<T> Keep<T> for Option<T> {
    fn keep(&mut self, value: T) {
        *self = Some(value);
    }
}

impl Keep<usize> for NonZeroUsize {
    fn keep(&mut self, value: usize) {
        *self = NonZeroUsize::new(value).unwrap_or(NonZeroUsize::MIN);
    }
}

impl Keep<Duration> for Every {
    fn keep(&mut self, value: Duration) {
        *self = Every::Time(value);
    }
}

/// Names of states, in the order in which they were required.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names(Vec<String>);

impl Names {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl Keep<String> for Names {
    fn keep(&mut self, value: String) {
        self.0
            .extend(value.split(',').map(|name| name.trim().to_owned()));
    }
}

impl Keep<Reduction> for Reductions {
    fn keep(&mut self, value: Reduction) {
        match value {
            Reduction::Symmetry => self.symmetry = true,
            Reduction::Releases => self.releases = true,
            Reduction::Paths => self.paths = true,
            Reduction::Manners => self.manners = true,
        }
    }
}

/// A field whose value has a text form. The value has passed the checks of its kind, so that only names of
/// strategies, metrics and schedules can still be wrong.
pub(crate) trait FromValue: Sized {
    fn from_value(value: Value<'_>) -> Result<Self, String>;
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> Result<Self, String> {
        T::from_value(value).map(Some)
    }
}

macro_rules! from_value {
    ($($field:ty: $pattern:pat => $result:expr,)*) => {$(
        impl FromValue for $field {
            fn from_value(value: Value<'_>) -> Result<Self, String> {
                match value {
                    $pattern => $result,
                    other => unreachable!("the table has another kind: {other:?}"),
                }
            }
        }
    )*};
}

from_value! {
    bool: Value::Switch(is_on) => Ok(is_on),
    u64: Value::Number(number) => Ok(number),
    u32: Value::Number(number) => Ok(number as u32),
    usize: Value::Number(number) => Ok(number as usize),
    NonZeroUsize: Value::Number(number) => {
        Ok(NonZeroUsize::new(number as usize).unwrap_or(NonZeroUsize::MIN))
    },
    Duration: Value::Time(time) => Ok(time),
    Every: Value::Time(time) => Ok(Every::Time(time)),
    PathBuf: Value::Text(path) => Ok(path.into()),
    String: Value::Text(name) => Ok(name.to_owned()),
    Strategy: Value::Text(name) => parse(name),
    Memory: Value::Text(name) => parse(name),
    Classes: Value::Text(name) => parse(name),
    Level: Value::Text(name) => parse(name),
    Log: Value::Text(name) => Ok(match name {
        "off" => Log::Off,
        _ => Log::Progress,
    }),
    RaceModel: Value::Text(words) => words.parse().map_err(|error: UnknownWord| error.to_string()),
    Schedule: Value::Text(text) => environment::schedule(text),
    Mutant: Value::Text(text) => text.parse(),
    Guarantee: Value::Guarantee { name, bound } => Ok(match name {
        "exhaustive" => Guarantee::Exhaustive,
        "reduced" => Guarantee::Reduced,
        "paths" => Guarantee::Paths,
        "manners" => Guarantee::Manners,
        "bounded" => Guarantee::Bounded { preemptions: bound },
        "delayed" => Guarantee::Delayed { delays: bound },
        "sampled" => Guarantee::Sampled,
        other => unreachable!("a guarantee without a value: {other}"),
    }),
    Names: Value::Text(names) => {
        let mut all = Names::default();
        all.keep(names.to_owned());
        Ok(all)
    },
    Reductions: Value::Text(names) => {
        let mut reductions = Reductions::default();
        for name in names.split(',') {
            reductions.keep(parse::<Reduction>(name.trim())?);
        }
        Ok(reductions)
    },
}

impl FromValue for Metrics {
    fn from_value(value: Value<'_>) -> Result<Self, String> {
        match value {
            Value::Text(names) => names
                .parse()
                .map_err(|error: UnknownMetric| format!("{error}; 1 measures all")),
            value => bool::from_value(value).map(Metrics::from),
        }
    }
}

fn parse<T: std::str::FromStr<Err = UnknownName>>(name: &str) -> Result<T, String> {
    name.parse().map_err(|error: UnknownName| error.to_string())
}

#[cfg(test)]
mod tests {
    use raddle_settings::{GUARANTEES, SettingKind};

    use super::*;

    #[test]
    fn guarantees_are_written_as_they_are_read() {
        for &(name, has_bound) in GUARANTEES {
            let text = match has_bound {
                true => format!("{name}:3"),
                false => name.to_owned(),
            };
            let guarantee = Guarantee::from_value(SettingKind::Guarantee.parse(&text).unwrap());
            assert_eq!(guarantee.unwrap().to_string(), text);
        }
    }
}
