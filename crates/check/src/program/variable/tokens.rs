//! Rust source as a list of tokens with their places, without comments.

/// A word, an operator or a literal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Line and column, counted from 1 as the compiler does.
    pub(super) place: (u32, u32),
}

impl Token<'_> {
    pub(super) fn is_name(&self) -> bool {
        let mut letters = self.text.trim_start_matches("r#").chars();
        letters
            .next()
            .is_some_and(|c| c == '_' || c.is_alphabetic())
            && letters.all(is_part_of_name)
    }
}

/// Operators of more than one character, longest match.
const LONG_SIGNS: [&str; 20] = [
    "..=", "<<=", ">>=", "::", "->", "=>", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=",
    "|=", "&=", "^=", "||", "..",
];

fn is_part_of_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns the tokens of a source; of text that is not Rust, an approximation.
pub(super) fn of(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut place = (1, 1);
    while !rest.is_empty() {
        let length = length(rest);
        let (text, after) = rest.split_at(length);
        if !text.starts_with(char::is_whitespace) && !is_comment(text) {
            tokens.push(Token { text, place });
        }
        for c in text.chars() {
            place = if c == '\n' {
                (place.0 + 1, 1)
            } else {
                (place.0, place.1 + 1)
            };
        }
        rest = after;
    }
    tokens
}

fn is_comment(text: &str) -> bool {
    text.starts_with("//") || text.starts_with("/*")
}

/// Returns the length of the first token in bytes; at least one character.
fn length(rest: &str) -> usize {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let until = |end: fn(char) -> bool| rest.find(end).unwrap_or(rest.len());
    if rest.starts_with("//") {
        until(|c| c == '\n')
    } else if rest.starts_with("/*") {
        block_comment(rest)
    } else if rest.starts_with(char::is_whitespace) {
        until(|c| !c.is_whitespace())
    } else if let Some(length) = string(rest) {
        length
    } else if let Some(name) = rest.strip_prefix("r#") {
        let end = name.find(|c| !is_part_of_name(c));
        2 + end.unwrap_or(name.len())
    } else if rest.starts_with(is_part_of_name) {
        until(|c| !is_part_of_name(c))
    } else if rest.starts_with('\'') {
        character(rest)
    } else {
        let sign = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign));
        sign.map_or(first, |sign| sign.len())
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let left = &rest[at..];
        if left.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if left.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += left.chars().next().map_or(0, char::len_utf8);
        }
        if depth == 0 || at >= rest.len() {
            return at;
        }
    }
}

/// Returns the length of a string literal of any sort, if there is one.
fn string(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| {
            let raw = prefix.ends_with('r');
            let after = if raw {
                after.trim_start_matches('#')
            } else {
                after
            };
            after.starts_with('"')
        })
    })?;
    let after = &rest[prefix.len()..];
    let hashes = after.len() - after.trim_start_matches('#').len();
    let start = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = rest[start..].find(&end).map(|at| start + at + end.len());
        return Some(length.unwrap_or(rest.len()));
    }
    Some(start + quoted(&rest[start..], '"'))
}

/// Returns the number of bytes up to and including the closing quote.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a character literal or a lifetime.
fn character(rest: &str) -> usize {
    let mut letters = rest[1..].chars();
    let (first, second) = (letters.next(), letters.next());
    if first == Some('\\') || (first.is_some() && second == Some('\'')) {
        1 + quoted(&rest[1..], '\'')
    } else {
        let name = rest[1..].find(|c| !is_part_of_name(c));
        1 + name.unwrap_or(rest.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        of(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        let source = r####"a /* let /* b */ */ // let c
            "let \" d" r#"let " e"# b'\'' '"' 'static 'l' c"x" r#match 0..=1 x=='y'"####;
        assert_eq!(
            texts(source),
            [
                "a",
                r#""let \" d""#,
                r##"r#"let " e"#"##,
                "b",
                r"'\''",
                "'\"'",
                "'static",
                "'l'",
                "c\"x\"",
                "r#match",
                "0",
                "..=",
                "1",
                "x",
                "==",
                "'y'"
            ]
        );
    }

    #[test]
    fn places_are_counted_in_characters() {
        let places: Vec<_> = of("ä = x;\n  \"ö\" y").iter().map(|it| it.place).collect();
        assert_eq!(places, [(1, 1), (1, 3), (1, 5), (1, 6), (2, 3), (2, 7)]);
    }

    #[test]
    fn what_does_not_end_ends_with_the_source() {
        for source in ["\"a", "r#\"a\"", "/* a", "'", "'\\", "b'", "r#"] {
            let length: usize = texts(source).iter().map(|text| text.len()).sum();
            assert!(length <= source.len(), "{source}");
        }
    }
}
