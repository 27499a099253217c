//! Alternatives in the notation of users: receives with their wanted sources.
//!
//! ```text
//! consumer ready 0 sees producer ready 0; consumer data 0 sees initial
//! ```
//!
//! A point of the program is a thread, a thing and an occurrence: of the thread's receives there
//! (reads, grants, messages), or of its sends there (writes, releases, messages), counted from 0.
//! Things have the names that reports use. With the name of an operation before it,
//! `unlock(state)`, only these operations are counted. A word that contains white space, `;` or
//! `"`, or is empty, stands in double quotes, where `\` escapes the next character.

use std::fmt;
use std::str::FromStr;

/// Required sources of some receives; all other receives are free.
///
/// ```
/// use raddle_engine::alternatives::Alternative;
///
/// let alternative = Alternative::new()
///     .read("consumer", "ready", 0)
///     .sees("producer", "ready", 0)
///     .read("consumer", "data", 0)
///     .sees_initial();
/// let text = "consumer ready 0 sees producer ready 0; consumer data 0 sees initial";
/// assert_eq!(alternative.to_string(), text);
/// assert_eq!(text.parse(), Ok(alternative));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Alternative {
    choices: Vec<AlternativeChoice>,
}

/// A point of the program: the events of a thread on a thing, and the number of one of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// Name of the thread, or its position in the spawn tree: `main.2`.
    pub thread: String,
    /// Name of the thing in reports; or `operation(thing)`.
    pub thing: String,
    /// Number among these events, from 0.
    pub occurrence: u32,
}

/// Wanted source of a receive.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlternativeSource {
    /// The initial value or state, or no message.
    Initial,
    /// This write, message or release.
    Event(Point),
}

/// One receive of an alternative.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AlternativeChoice {
    /// The receive.
    pub receive: Point,
    /// Its wanted source, if one is given.
    pub sees: Option<AlternativeSource>,
    /// Its wanted outcome, if one is given.
    pub outcome: Option<u32>,
}

/// A receive of an alternative whose source is about to be given.
#[derive(Clone, Debug)]
#[must_use = "say what it sees"]
pub struct AlternativeReceive {
    alternative: Alternative,
    receive: Point,
}

impl Point {
    /// Creates the point of this thread at this thing.
    pub fn new(thread: impl Into<String>, thing: impl Into<String>, occurrence: u32) -> Self {
        Point {
            thread: thread.into(),
            thing: thing.into(),
            occurrence,
        }
    }
}

impl Alternative {
    /// Creates an alternative without choices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects the thread's receive number `occurrence`, from 0: a read, a lock acquisition, a
    /// message, or a choice of the program.
    pub fn read(
        self,
        thread: impl Into<String>,
        thing: impl Into<String>,
        occurrence: u32,
    ) -> AlternativeReceive {
        AlternativeReceive {
            receive: Point::new(thread, thing, occurrence),
            alternative: self,
        }
    }

    /// Adds a choice.
    #[must_use]
    pub fn with(mut self, choice: AlternativeChoice) -> Self {
        self.choices.push(choice);
        self
    }

    /// Returns the choices in the order in which they were added.
    pub fn choices(&self) -> &[AlternativeChoice] {
        &self.choices
    }

    /// Returns every combination of one alternative per receive, the last receive varying fastest.
    ///
    /// ```
    /// use raddle_engine::alternatives::{Alternative, AlternativeChoice};
    ///
    /// let choice = |text: &str| text.parse::<Alternative>().unwrap().choices()[0].clone();
    /// let first = vec![choice("a x 0 sees initial"), choice("a x 0 sees b x 0")];
    /// let second = vec![choice("a y 0 sees initial"), choice("a y 0 sees b y 0")];
    /// let all: Vec<Alternative> = Alternative::combinations([first, second]);
    /// assert_eq!(all.len(), 4);
    /// assert_eq!(all[1].to_string(), "a x 0 sees initial; a y 0 sees b y 0");
    /// ```
    pub fn combinations(
        receives: impl IntoIterator<Item = impl IntoIterator<Item = AlternativeChoice>>,
    ) -> Vec<Alternative> {
        receives
            .into_iter()
            .fold(vec![Alternative::new()], |all, receive| {
                let receive: Vec<AlternativeChoice> = receive.into_iter().collect();
                let each = |alternative: Alternative| {
                    let with = receive.iter().cloned();
                    with.map(move |choice| alternative.clone().with(choice))
                        .collect::<Vec<_>>()
                };
                all.into_iter().flat_map(each).collect()
            })
    }
}

impl AlternativeReceive {
    /// Requires that the receive takes its value from this thread's send number `occurrence` there,
    /// from 0.
    #[must_use]
    pub fn sees(
        self,
        thread: impl Into<String>,
        thing: impl Into<String>,
        occurrence: u32,
    ) -> Alternative {
        let source = Point::new(thread, thing, occurrence);
        self.choose(Some(AlternativeSource::Event(source)), None)
    }

    /// Requires that the receive takes the initial value, acquires a lock for the first time, or
    /// finds no message.
    #[must_use]
    pub fn sees_initial(self) -> Alternative {
        self.choose(Some(AlternativeSource::Initial), None)
    }

    /// Requires this outcome of the receive, counted from 0: the alternative of `choose`, the
    /// waiter of `notify_one`, or 1 for a spurious failure of a weak compare-exchange.
    #[must_use]
    pub fn turns_out(self, outcome: u32) -> Alternative {
        self.choose(None, Some(outcome))
    }

    fn choose(self, sees: Option<AlternativeSource>, outcome: Option<u32>) -> Alternative {
        self.alternative.with(AlternativeChoice {
            receive: self.receive,
            sees,
            outcome,
        })
    }
}

/// A text that is not an alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternativeError {
    choice: String,
    problem: &'static str,
}

impl fmt::Display for AlternativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AlternativeError { choice, problem } = self;
        write!(
            f,
            "`{choice}` in an alternative: {problem}; write `consumer ready 0 sees producer ready 0`, \
             `consumer ready 0 sees initial` or `main choose 0 is 1`, with `;` between several"
        )
    }
}

impl std::error::Error for AlternativeError {}

impl FromStr for Alternative {
    type Err = AlternativeError;

    fn from_str(text: &str) -> Result<Self, AlternativeError> {
        let mut alternative = Alternative::new();
        for words in split(text)? {
            if !words.is_empty() {
                alternative = alternative.with(choice(&words)?);
            }
        }
        Ok(alternative)
    }
}

/// Splits the text into the words of each choice.
fn split(text: &str) -> Result<Vec<Vec<String>>, AlternativeError> {
    let mut choices = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('\\') => word.extend(characters.next()),
                        Some(other) => word.push(other),
                        None => {
                            return Err(AlternativeError {
                                choice: text.to_owned(),
                                problem: "a `\"` is missing at the end",
                            });
                        }
                    }
                }
            }
            ';' => {
                choices.last_mut().expect("never empty").extend(word.take());
                choices.push(Vec::new());
            }
            space if space.is_whitespace() => {
                choices.last_mut().expect("never empty").extend(word.take());
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    choices.last_mut().expect("never empty").extend(word);
    Ok(choices)
}

fn choice(words: &[String]) -> Result<AlternativeChoice, AlternativeError> {
    let wrong = |problem| AlternativeError {
        choice: words.join(" "),
        problem,
    };
    let number = |word: &str| {
        word.parse()
            .map_err(|_| wrong("which one it is must be a number, from 0"))
    };
    let point = |words: &[String]| match words {
        [thread, thing, occurrence] => Ok(Point::new(thread, thing, number(occurrence)?)),
        _ => Err(wrong("a point is a thread, a thing and a number")),
    };
    if words.len() < 4 {
        return Err(wrong("it does not say what is seen"));
    }
    let (receive, mut rest) = words.split_at(3);
    let mut choice = AlternativeChoice {
        receive: point(receive)?,
        sees: None,
        outcome: None,
    };
    while let [verb, after @ ..] = rest {
        rest = match (verb.as_str(), after) {
            ("sees", [initial, left @ ..]) if initial == "initial" => {
                choice.sees = Some(AlternativeSource::Initial);
                left
            }
            ("sees", after) if after.len() >= 3 => {
                choice.sees = Some(AlternativeSource::Event(point(&after[..3])?));
                &after[3..]
            }
            ("is", [outcome, left @ ..]) => {
                choice.outcome = Some(number(outcome)?);
                left
            }
            _ => return Err(wrong("there must be `sees` or `is`, and what")),
        };
    }
    Ok(choice)
}

/// Quotes a word if needed.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty()
        && !word
            .chars()
            .any(|one| one.is_whitespace() || matches!(one, ';' | '"' | '\\'));
    match is_plain {
        true => word.to_owned(),
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (thread, thing) = (quoted(&self.thread), quoted(&self.thing));
        write!(f, "{thread} {thing} {}", self.occurrence)
    }
}

impl fmt::Display for AlternativeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.receive)?;
        match &self.sees {
            None => {}
            Some(AlternativeSource::Initial) => write!(f, " sees initial")?,
            Some(AlternativeSource::Event(source)) => write!(f, " sees {source}")?,
        }
        match self.outcome {
            None => Ok(()),
            Some(outcome) => write!(f, " is {outcome}"),
        }
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices: Vec<String> = self
            .choices
            .iter()
            .map(AlternativeChoice::to_string)
            .collect();
        f.write_str(&choices.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_survives_the_way_to_text_and_back() {
        for name in [
            "x",
            "lock(a b)",
            "it's",
            "a;b",
            "",
            "say \"x\"",
            "back\\slash",
            "π",
        ] {
            let alternative = Alternative::new()
                .read(name, name, 3)
                .sees(name, name, 0)
                .read("main", "choose", 0)
                .turns_out(2);
            assert_eq!(alternative.to_string().parse(), Ok(alternative), "{name}");
        }
    }

    #[test]
    fn a_bad_text_is_told_what_is_wrong_with_it() {
        let problem = |text: &str| text.parse::<Alternative>().unwrap_err().problem;
        assert_eq!(problem("a x 0"), "it does not say what is seen");
        assert_eq!(
            problem("a x y sees initial"),
            "which one it is must be a number, from 0"
        );
        assert_eq!(
            problem("a x 0 saw b x 0"),
            "there must be `sees` or `is`, and what"
        );
        assert_eq!(
            problem("a x 0 sees b x"),
            "there must be `sees` or `is`, and what"
        );
        assert_eq!(problem("\"a x 0"), "a `\"` is missing at the end");
        assert_eq!("".parse(), Ok(Alternative::new()));
        assert_eq!(" ; ".parse(), Ok(Alternative::new()));
    }
}
