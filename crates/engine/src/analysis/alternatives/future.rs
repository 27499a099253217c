//! Futures as users write them: which receives see what.
//!
//! ```text
//! consumer ready 0 sees producer ready 0; consumer data 0 sees initial
//! ```
//!
//! A point of the program is a thread, a thing and an occurrence: of what the thread receives there
//! (reads, grants, messages), or sends there (writes, releases, messages), counted from 0. The thing is
//! called as in stories. With the name of an operation before it, `unlock(state)`, it is these
//! operations that are counted. A word that has white space, `;` or `"` in it, or is empty, stands in
//! double quotes, where `\` makes an ordinary character of the next one.

use std::fmt;
use std::str::FromStr;

/// Which receives see what; everything else is free.
///
/// ```
/// use raddle_engine::futures::Future;
///
/// let future = Future::new()
///     .read("consumer", "ready", 0)
///     .sees("producer", "ready", 0)
///     .read("consumer", "data", 0)
///     .sees_initial();
/// let text = "consumer ready 0 sees producer ready 0; consumer data 0 sees initial";
/// assert_eq!(future.to_string(), text);
/// assert_eq!(text.parse(), Ok(future));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Future {
    choices: Vec<FutureChoice>,
}

/// A point of the program: the events of a thread that do something to a thing, and which of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// The thread's name, or its place in the tree of creations: `main.2`.
    pub thread: String,
    /// What it is done to, as stories call it; or `operation(thing)`.
    pub thing: String,
    /// Which of these events, from 0.
    pub occurrence: u32,
}

/// What a receive is to see.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sees {
    /// The initial value or state, or no message.
    Initial,
    /// This write, message or release.
    Event(Point),
}

/// One receive of a future.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FutureChoice {
    /// The receive.
    pub receive: Point,
    /// What it is to see, if that is not free.
    pub sees: Option<Sees>,
    /// In which of several ways it is to turn out, if that is not free.
    pub outcome: Option<u32>,
}

/// A receive of a future that is about to be told what it sees.
#[derive(Clone, Debug)]
#[must_use = "say what it sees"]
pub struct FutureReceive {
    future: Future,
    receive: Point,
}

impl Point {
    /// The point of this thread at this thing.
    pub fn new(thread: impl Into<String>, thing: impl Into<String>, occurrence: u32) -> Self {
        Point {
            thread: thread.into(),
            thing: thing.into(),
            occurrence,
        }
    }
}

impl Future {
    /// Everything is free.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the thread receives there for the `occurrence`th time, from 0: a read, a lock that it is
    /// granted, a message that it takes, a choice that it makes.
    pub fn read(
        self,
        thread: impl Into<String>,
        thing: impl Into<String>,
        occurrence: u32,
    ) -> FutureReceive {
        FutureReceive {
            receive: Point::new(thread, thing, occurrence),
            future: self,
        }
    }

    /// The same future with one more choice.
    #[must_use]
    pub fn with(mut self, choice: FutureChoice) -> Self {
        self.choices.push(choice);
        self
    }

    /// What is chosen, in the order it was said.
    pub fn choices(&self) -> &[FutureChoice] {
        &self.choices
    }

    /// Every way to choose one of the alternatives of each receive, the last receive fastest.
    ///
    /// ```
    /// use raddle_engine::futures::{Future, FutureChoice};
    ///
    /// let choice = |text: &str| text.parse::<Future>().unwrap().choices()[0].clone();
    /// let first = vec![choice("a x 0 sees initial"), choice("a x 0 sees b x 0")];
    /// let second = vec![choice("a y 0 sees initial"), choice("a y 0 sees b y 0")];
    /// let all: Vec<Future> = Future::combinations([first, second]);
    /// assert_eq!(all.len(), 4);
    /// assert_eq!(all[1].to_string(), "a x 0 sees initial; a y 0 sees b y 0");
    /// ```
    pub fn combinations(
        receives: impl IntoIterator<Item = impl IntoIterator<Item = FutureChoice>>,
    ) -> Vec<Future> {
        receives
            .into_iter()
            .fold(vec![Future::new()], |futures, alternatives| {
                let alternatives: Vec<FutureChoice> = alternatives.into_iter().collect();
                let each = |future: Future| {
                    let with = alternatives.iter().cloned();
                    with.map(move |choice| future.clone().with(choice))
                        .collect::<Vec<_>>()
                };
                futures.into_iter().flat_map(each).collect()
            })
    }
}

impl FutureReceive {
    /// It sees what this thread sends there for the `occurrence`th time, from 0.
    #[must_use]
    pub fn sees(
        self,
        thread: impl Into<String>,
        thing: impl Into<String>,
        occurrence: u32,
    ) -> Future {
        let source = Point::new(thread, thing, occurrence);
        self.choose(Some(Sees::Event(source)), None)
    }

    /// It sees what was there at first: the initial value, a lock that nobody has had; or no message.
    #[must_use]
    pub fn sees_initial(self) -> Future {
        self.choose(Some(Sees::Initial), None)
    }

    /// It turns out in this way, counted from 0: of `choose`, which alternative; of `notify_one`, which
    /// of those who wait; 1 for a weak compare-exchange that fails for no reason.
    #[must_use]
    pub fn turns_out(self, outcome: u32) -> Future {
        self.choose(None, Some(outcome))
    }

    fn choose(self, sees: Option<Sees>, outcome: Option<u32>) -> Future {
        self.future.with(FutureChoice {
            receive: self.receive,
            sees,
            outcome,
        })
    }
}

/// A text that is no future.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FutureError {
    choice: String,
    problem: &'static str,
}

impl fmt::Display for FutureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FutureError { choice, problem } = self;
        write!(
            f,
            "`{choice}` in a future: {problem}; write `consumer ready 0 sees producer ready 0`, \
             `consumer ready 0 sees initial` or `main choose 0 is 1`, with `;` between several"
        )
    }
}

impl std::error::Error for FutureError {}

impl FromStr for Future {
    type Err = FutureError;

    fn from_str(text: &str) -> Result<Self, FutureError> {
        let mut future = Future::new();
        for words in split(text)? {
            if !words.is_empty() {
                future = future.with(choice(&words)?);
            }
        }
        Ok(future)
    }
}

/// The words of each choice.
fn split(text: &str) -> Result<Vec<Vec<String>>, FutureError> {
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
                            return Err(FutureError {
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

fn choice(words: &[String]) -> Result<FutureChoice, FutureError> {
    let wrong = |problem| FutureError {
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
    let mut choice = FutureChoice {
        receive: point(receive)?,
        sees: None,
        outcome: None,
    };
    while let [verb, after @ ..] = rest {
        rest = match (verb.as_str(), after) {
            ("sees", [initial, left @ ..]) if initial == "initial" => {
                choice.sees = Some(Sees::Initial);
                left
            }
            ("sees", after) if after.len() >= 3 => {
                choice.sees = Some(Sees::Event(point(&after[..3])?));
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

/// A word as it must be written.
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

impl fmt::Display for FutureChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.receive)?;
        match &self.sees {
            None => {}
            Some(Sees::Initial) => write!(f, " sees initial")?,
            Some(Sees::Event(source)) => write!(f, " sees {source}")?,
        }
        match self.outcome {
            None => Ok(()),
            Some(outcome) => write!(f, " is {outcome}"),
        }
    }
}

impl fmt::Display for Future {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices: Vec<String> = self.choices.iter().map(FutureChoice::to_string).collect();
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
            let future = Future::new()
                .read(name, name, 3)
                .sees(name, name, 0)
                .read("main", "choose", 0)
                .turns_out(2);
            assert_eq!(future.to_string().parse(), Ok(future), "{name}");
        }
    }

    #[test]
    fn a_bad_text_is_told_what_is_wrong_with_it() {
        let problem = |text: &str| text.parse::<Future>().unwrap_err().problem;
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
        assert_eq!("".parse(), Ok(Future::new()));
        assert_eq!(" ; ".parse(), Ok(Future::new()));
    }
}
