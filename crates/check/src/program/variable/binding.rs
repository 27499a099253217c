//! The name of a value, from the expression that makes it outwards to its binding.
//!
//! `let forks = Arc::new([Mutex::new(()), Mutex::new(())])` makes `forks[0]` and `forks[1]`; a
//! field of a struct has the field's name. A value in an expression of any other form has no name.

use super::tokens::Token;

/// Types around a value that are not part of its name.
const WRAPPERS: [&str; 6] = ["Arc", "Rc", "Box", "Pin", "TrackedArc", "CachePadded"];

/// A step from a variable to a value inside it.
enum Part {
    Field(usize),
    Element(usize),
}

/// Returns the name of a value of this kind that is made at this place.
pub(super) fn name(tokens: &[Token<'_>], place: (u32, u32), kind: &str) -> Option<String> {
    let at = tokens.iter().position(|token| token.place == place)?;
    let search = Search { tokens };
    if let Some(field) = search.derived(at, kind) {
        return Some(search.with_parts(field, &[]));
    }
    let keeps = makes(tokens, at, kind) && !search.is_used_at_once(at);
    keeps.then(|| search.name(at))?
}

/// True when the path that starts there names the kind.
fn makes(tokens: &[Token<'_>], at: usize, kind: &str) -> bool {
    let path = tokens[at..].iter();
    let mut path = path.take_while(|token| token.text == "::" || token.is_name());
    path.any(|token| token.text == kind)
}

struct Search<'a> {
    tokens: &'a [Token<'a>],
}

impl Search<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(Token::is_name)
    }

    /// Returns the name of the value whose first token is at `value`.
    fn name(&self, mut value: usize) -> Option<String> {
        let mut parts = Vec::new();
        loop {
            let before = value.checked_sub(1)?;
            value = match self.text(before) {
                "=" => return self.variable(before, parts),
                ":" => return self.field(before, &parts),
                "&" => before,
                "|" | "||" => self.collection(before)?,
                "," | "(" | "[" | "{" => {
                    let (open, position) = self.opening(value)?;
                    match self.text(open) {
                        "(" if self.is_call(open) => match self.wrapper(open) {
                            Some(start) => start,
                            None => return self.tuple_struct(open, position, parts),
                        },
                        "(" => {
                            if self.has_several(open) {
                                parts.push(Part::Field(position));
                            }
                            open
                        }
                        "[" => {
                            if !self.is_repeated(open) {
                                parts.push(Part::Element(position));
                            }
                            self.array(open)?
                        }
                        _ if self.text(open.checked_sub(1)?) == "const" => open - 1,
                        _ => return None,
                    }
                }
                _ => return None,
            };
        }
    }

    /// Returns the field of a value made by `derive(Default)`, whose place is that of the derive:
    /// unique only if the struct has one field of the kind.
    fn derived(&self, at: usize, kind: &str) -> Option<usize> {
        let (open, _) = self.opening(at)?;
        if self.text(at) != "Default" || self.text(open.checked_sub(1)?) != "derive" {
            return None;
        }
        let mut after = open..self.tokens.len();
        after.find(|&at| ["struct", "enum"].contains(&self.text(at)))?;
        let body = after.find(|&at| ["{", "(", ";"].contains(&self.text(at)));
        let body = body.filter(|&body| self.text(body) == "{")?;
        let of_kind = |&name: &usize| {
            let is_field = self.is_name(name) && self.text(name + 1) == ":";
            let mut types = (name + 2..self.tokens.len()).map(|at| self.text(at));
            let mut head = types
                .by_ref()
                .take_while(|it| ![",", "}", "<"].contains(it));
            is_field && head.any(|it| it == kind)
        };
        let mut fields = self.inside(body).into_iter().filter(of_kind);
        fields.next().filter(|_| fields.next().is_none())
    }

    /// True when the expression keeps a part of the value instead of the value:
    /// `Port::new().sender()`.
    fn is_used_at_once(&self, value: usize) -> bool {
        let mut after = value..self.tokens.len();
        let open = after.find(|&at| self.text(at) == "(");
        let close = open.and_then(|open| self.matching_close(open));
        close.is_some_and(|close| self.text(close + 1) == ".")
    }

    /// Returns the bracket around the value, and the number of values before it there.
    fn opening(&self, value: usize) -> Option<(usize, usize)> {
        let mut position = 0;
        let mut at = value;
        loop {
            at = at.checked_sub(1)?;
            match self.text(at) {
                "(" | "[" | "{" => return Some((at, position)),
                ")" | "]" | "}" => at = self.matching_open(at)?,
                "," => position += 1,
                // Commas may separate other things here.
                "<" | ">" | "|" | ";" => return None,
                _ => {}
            }
        }
    }

    fn matching_open(&self, close: usize) -> Option<usize> {
        let mut depth = 0;
        for at in (0..=close).rev() {
            match self.text(at) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    fn matching_close(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        (open..self.tokens.len()).find(|&at| {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    }

    /// Returns the tokens between a bracket and its end, without those in inner brackets.
    fn inside(&self, open: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = open + 1;
        while at < self.tokens.len() {
            match self.text(at) {
                ")" | "]" | "}" => break,
                "(" | "[" | "{" => at = self.matching_close(at).unwrap_or(at),
                _ => found.push(at),
            }
            at += 1;
        }
        found
    }

    fn has_several(&self, open: usize) -> bool {
        self.inside(open).iter().any(|&at| self.text(at) == ",")
    }

    fn is_repeated(&self, open: usize) -> bool {
        self.inside(open).iter().any(|&at| self.text(at) == ";")
    }

    fn is_call(&self, open: usize) -> bool {
        let before = open.checked_sub(1);
        before.is_some_and(|before| {
            let text = self.text(before);
            let keyword = ["return", "in", "break", "else", "match", "if"].contains(&text);
            (self.is_name(before) && !keyword) || [">", "!", ")", "]"].contains(&text)
        })
    }

    /// Returns the start of a call's path, if the call wraps its only argument.
    fn wrapper(&self, open: usize) -> Option<usize> {
        let function = open.checked_sub(1)?;
        let is_some = ["Some", "Ok"].contains(&self.text(function));
        let named = self.text(function) == "new" && self.text(open.checked_sub(2)?) == "::";
        let is_wrapper = named && WRAPPERS.contains(&self.text(open.checked_sub(3)?));
        let inside = self.inside(open).into_iter();
        let mut commas = inside.filter(|&at| self.text(at) == ",");
        let only = commas.all(|at| self.text(at + 1) == ")");
        (only && (is_some || is_wrapper)).then(|| self.start_of_path(function))
    }

    /// Returns the name of a field of a tuple struct: `Tally(AtomicU32::new(0))` has `Tally.0`.
    fn tuple_struct(&self, open: usize, position: usize, mut parts: Vec<Part>) -> Option<String> {
        let name = open.checked_sub(1)?;
        let is_type = self.text(name).starts_with(char::is_uppercase);
        let is_known = is_type && !["Self", "Err"].contains(&self.text(name));
        parts.push(Part::Field(position));
        is_known.then(|| self.with_parts(name, &parts))
    }

    fn start_of_path(&self, mut at: usize) -> usize {
        while at >= 2 && self.text(at - 1) == "::" && self.is_name(at - 2) {
            at -= 2;
        }
        at
    }

    /// Returns the start of an array; `vec!` is part of it.
    fn array(&self, open: usize) -> Option<usize> {
        let before = open.checked_sub(1)?;
        match self.text(before) {
            "!" if self.text(before.checked_sub(1)?) == "vec" => Some(before - 1),
            text if [")", "]", "!", "?"].contains(&text) || self.is_name(before) => None,
            _ => Some(open),
        }
    }

    /// Returns the value that a closure is called for repeatedly, by its last token before the
    /// body: `(0..3).map(|_| …)` or `array::from_fn(|_| …)`.
    fn collection(&self, bar: usize) -> Option<usize> {
        let mut open = match self.text(bar) {
            "||" => bar.checked_sub(1)?,
            _ => {
                let mut before = (0..bar).rev().take(8);
                before.find(|&at| self.text(at) == "|")?.checked_sub(1)?
            }
        };
        if self.text(open) == "move" {
            open = open.checked_sub(1)?;
        }
        let function = open.checked_sub(1)?;
        match (self.text(open), self.text(function)) {
            ("(", "from_fn") => Some(self.start_of_path(function)),
            ("(", "map") => {
                let mut at = function;
                loop {
                    at = at.checked_sub(1)?;
                    match self.text(at) {
                        "=" | ":" => return Some(at + 1),
                        ")" | "]" => at = self.matching_open(at)?,
                        "(" | "[" | "{" | "}" | ";" | "," | "|" => return None,
                        _ => {}
                    }
                }
            }
            _ => None,
        }
    }

    /// Returns the field before this colon.
    fn field(&self, colon: usize, parts: &[Part]) -> Option<String> {
        let name = colon.checked_sub(1)?;
        let before = self.text(name.checked_sub(1)?);
        let is_field = self.is_name(name) && ["{", ",", "]"].contains(&before);
        is_field.then(|| self.with_parts(name, parts))
    }

    /// Returns the variable or static before this equals sign.
    fn variable(&self, equals: usize, mut parts: Vec<Part>) -> Option<String> {
        let mut at = equals;
        let mut first = loop {
            at = at.checked_sub(1)?;
            match self.text(at) {
                "let" | "static" => break at + 1,
                ")" | "]" => at = self.matching_open(at)?,
                ";" | "{" | "}" | "=" | "(" | "[" | "const" => return None,
                _ => {}
            }
        };
        if self.text(first) == "mut" {
            first += 1;
        }
        if self.text(first) == "(" {
            let Some(Part::Field(number)) = parts.pop() else {
                return None;
            };
            first = self.in_pattern(first, number)?;
        } else if ![":", "="].contains(&self.text(first + 1)) {
            return None;
        }
        let named = self.is_name(first) && self.text(first) != "_";
        named.then(|| self.with_parts(first, &parts))
    }

    /// Returns the name with this number in a pattern that consists only of names.
    fn in_pattern(&self, open: usize, number: usize) -> Option<usize> {
        let inside = self.inside(open);
        if self.matching_close(open)? - open - 1 != inside.len() {
            return None;
        }
        let mut names = Vec::new();
        for at in inside {
            match self.text(at) {
                "," | "mut" => {}
                _ if self.is_name(at) => names.push(at),
                _ => return None,
            }
        }
        names.get(number).copied()
    }

    fn with_parts(&self, name: usize, parts: &[Part]) -> String {
        let mut text = self.text(name).trim_start_matches("r#").to_owned();
        for part in parts.iter().rev() {
            text += &match part {
                Part::Field(number) => format!(".{number}"),
                Part::Element(number) => format!("[{number}]"),
            };
        }
        text
    }
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
