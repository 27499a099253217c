//! The text of a source file, and edits of it.

use std::ops::Range;

use syn::spanned::Spanned;

/// A piece of a source with its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

/// A source file whose syntax tree was parsed from its text.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    text: &'a str,
    /// Bytes before the text that was parsed: a mark of the encoding, a line for the shell.
    skipped: usize,
}

impl<'a> Source<'a> {
    /// Parses a source; `None` if it is no Rust.
    pub fn parse(text: &'a str) -> Option<(Self, syn::File)> {
        let file = syn::parse_file(text).ok()?;
        let mark = text.len() - text.trim_start_matches('\u{feff}').len();
        let shell = file.shebang.as_ref().map_or(0, String::len);
        let source = Source {
            text,
            skipped: mark + shell,
        };
        Some((source, file))
    }

    /// Returns the bytes of a piece of syntax.
    pub fn range(self, piece: &impl Spanned) -> Range<usize> {
        let range = piece.span().byte_range();
        range.start + self.skipped..range.end + self.skipped
    }

    /// Returns the text of a piece of syntax.
    pub fn slice(self, piece: &impl Spanned) -> &'a str {
        &self.text[self.range(piece)]
    }

    /// Returns line and column of a byte, both from 1; columns count characters, as the compiler's do.
    pub fn position(self, byte: usize) -> (u32, u32) {
        let before = &self.text[..byte];
        let line = before.matches('\n').count() as u32 + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let mark = usize::from(start == 0 && before.starts_with('\u{feff}'));
        let column = before[start..].chars().count() - mark;
        (line, column as u32 + 1)
    }

    /// Replaces a piece of syntax.
    pub fn replace(self, piece: &impl Spanned, text: impl Into<String>) -> Edit {
        Edit {
            range: self.range(piece),
            text: text.into(),
        }
    }

    /// Puts text in front of a piece of syntax.
    pub fn before(self, piece: &impl Spanned, text: impl Into<String>) -> Edit {
        let start = self.range(piece).start;
        Edit {
            range: start..start,
            text: text.into(),
        }
    }

    /// Exchanges two pieces of syntax.
    pub fn swap(self, first: &impl Spanned, second: &impl Spanned) -> Vec<Edit> {
        vec![
            self.replace(first, self.slice(second)),
            self.replace(second, self.slice(first)),
        ]
    }
}

/// Returns the text with edits that do not overlap. Edits at the same place keep their order.
pub fn edited(text: &str, edits: &[Edit]) -> String {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| edit.range.start);
    let (mut new, mut at) = (String::with_capacity(text.len()), 0);
    for edit in ordered {
        new += &text[at..edit.range.start];
        new += &edit.text;
        at = edit.range.end;
    }
    new + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_compiler() {
        for start in ["", "\u{feff}", "#!/bin/rust\n", "\u{feff}#!/bin/rust\n"] {
            let text = format!("{start}// ä\nfn ä() {{ ü.lock(); }}\n");
            let (source, file) = Source::parse(&text).unwrap();
            let syn::Item::Fn(function) = &file.items[0] else {
                unreachable!()
            };
            let statement = &function.block.stmts[0];
            assert_eq!(source.slice(statement), "ü.lock();");
            let line = 2 + u32::from(start.contains('\n'));
            let byte = source.range(statement).start;
            assert_eq!(source.position(byte), (line, 10));
        }
        assert_eq!(Source::parse("fn (").map(|_| ()), None);
        let (source, file) = Source::parse("\u{feff}fn f() {}").unwrap();
        assert_eq!(source.position(source.range(&file.items[0]).start), (1, 1));
    }

    #[test]
    fn edits_are_made_where_they_belong() {
        let edit = |range, text: &str| Edit {
            range,
            text: text.to_owned(),
        };
        let edits = [
            edit(4..5, "d"),
            edit(0..1, "x"),
            edit(2..2, "1"),
            edit(2..2, "2"),
        ];
        assert_eq!(edited("abc e", &edits), "xb12c d");
    }
}
