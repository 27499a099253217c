//! The text form of values: words separated by spaces.

use std::fmt;

use super::ids::{EventId, LocationId, ObjectId, PortListId, SiteId, ThreadId};
use super::outcome::Resolution;

/// Version of the text form that is written; no other version is read.
pub const VERSION: u32 = 1;

/// A reason why a text is not an item.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The text has another version.
    Version(String),
    /// An unknown word.
    Unknown(String),
    /// A line has too few words.
    LineEnds,
    /// The text has too few lines.
    TextEnds,
    /// A reference to an event that the item does not have, or an event that occurs twice.
    Events,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Version(version) => write!(
                f,
                "it is of version {version}, and this raddle reads version {VERSION}"
            ),
            Problem::Unknown(word) => write!(f, "`{word}` means nothing there"),
            Problem::LineEnds => write!(f, "a line ends too early"),
            Problem::TextEnds => write!(f, "it ends too early"),
            Problem::Events => write!(f, "its events do not fit together"),
        }
    }
}

impl std::error::Error for Problem {}

/// A value with a text form.
pub(crate) trait Words: Sized {
    /// Appends the words, each preceded by a space.
    fn write(&self, out: &mut String);

    /// Reads the words.
    fn read(words: &mut Reader<'_>) -> Result<Self, Problem>;
}

/// Number of identifiers of each kind in an item; larger ones are rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) threads: usize,
    pub(crate) locations: usize,
    pub(crate) objects: usize,
    pub(crate) port_lists: usize,
    pub(crate) sites: usize,
}

/// The words of one line.
pub(crate) struct Reader<'a> {
    words: std::str::SplitAsciiWhitespace<'a>,
    limits: Limits,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(line: &'a str, limits: Limits) -> Self {
        Reader {
            words: line.split_ascii_whitespace(),
            limits,
        }
    }

    pub(crate) fn word(&mut self) -> Result<&'a str, Problem> {
        self.words.next().ok_or(Problem::LineEnds)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.clone().next().is_none()
    }

    pub(crate) fn read<T: Words>(&mut self) -> Result<T, Problem> {
        T::read(self)
    }

    pub(crate) fn end(mut self) -> Result<(), Problem> {
        self.words.next().map_or(Ok(()), |word| Err(unknown(word)))
    }
}

pub(crate) fn unknown(word: &str) -> Problem {
    Problem::Unknown(word.to_owned())
}

pub(crate) fn push(out: &mut String, word: impl std::fmt::Display) {
    use std::fmt::Write;
    let _ = write!(out, " {word}");
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, Problem> {
    word.parse().map_err(|_| unknown(word))
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Words for $type {
            fn write(&self, out: &mut String) {
                push(out, self);
            }

            fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
                number(words.word()?)
            }
        })*
    };
}

numbers! { u8, u32, u64, i64, usize, bool }

macro_rules! names {
    ($($type:ident in $list:ident,)*) => {
        $(impl Words for $type {
            fn write(&self, out: &mut String) {
                push(out, self.index());
            }

            fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
                let word = words.word()?;
                let index: usize = number(word)?;
                if index >= words.limits.$list {
                    return Err(unknown(word));
                }
                Ok($type::new(index))
            }
        })*
    };
}

names! {
    ThreadId in threads,
    LocationId in locations,
    ObjectId in objects,
    PortListId in port_lists,
    SiteId in sites,
}

impl Words for Resolution {
    fn write(&self, out: &mut String) {
        self.number().write(out);
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        words.read().map(Resolution::nth)
    }
}

impl Words for EventId {
    fn write(&self, out: &mut String) {
        push(out, format_args!("{}.{}", self.thread.index(), self.index));
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        let word = words.word()?;
        let (thread, index) = word.split_once('.').ok_or_else(|| unknown(word))?;
        let thread: usize = number(thread)?;
        if thread >= words.limits.threads {
            return Err(unknown(word));
        }
        Ok(EventId {
            thread: ThreadId::new(thread),
            index: number(index)?,
        })
    }
}

/// `-` stands for `None`.
impl<T: Words> Words for Option<T> {
    fn write(&self, out: &mut String) {
        match self {
            Some(value) => value.write(out),
            None => push(out, "-"),
        }
    }

    fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
        if words.words.clone().next() == Some("-") {
            words.word()?;
            return Ok(None);
        }
        T::read(words).map(Some)
    }
}

/// Defines the text form of an enum: one word for each variant, then its fields in order. A new
/// variant or field needs a new [`VERSION`].
macro_rules! tables {
    ($($type:path {
        $($word:literal => $variant:ident $(($($value:ident),*))? $({ $($field:ident),* })?,)*
    })*) => {
        $(impl $crate::base::words::Words for $type {
            fn write(&self, out: &mut String) {
                use $type as This;
                match *self {
                    $(This::$variant $(($(ref $value),*))? $({ $(ref $field),* })? => {
                        $crate::base::words::push(out, $word);
                        $($($value.write(out);)*)?
                        $($($field.write(out);)*)?
                    })*
                    #[allow(unreachable_patterns, reason = "if all are listed")]
                    _ => unreachable!("a variant that is never part of a graph"),
                }
            }

            fn read(
                words: &mut $crate::base::words::Reader<'_>,
            ) -> Result<Self, $crate::base::words::Problem> {
                use $type as This;
                match words.word()? {
                    $($word => {
                        $($(let $value = words.read()?;)*)?
                        $($(let $field = words.read()?;)*)?
                        Ok(This::$variant $(($($value),*))? $({ $($field),* })?)
                    })*
                    word => Err($crate::base::words::unknown(word)),
                }
            }
        })*
    };
}

pub(crate) use tables;

/// Defines the text form of an enum without variants, which has no values.
macro_rules! never {
    ($type:path) => {
        impl $crate::base::words::Words for $type {
            fn write(&self, _out: &mut String) {
                match *self {}
            }

            fn read(
                words: &mut $crate::base::words::Reader<'_>,
            ) -> Result<Self, $crate::base::words::Problem> {
                Err($crate::base::words::unknown(words.word()?))
            }
        }
    };
}

pub(crate) use never;
