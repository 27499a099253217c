//! Mistakes in sources: what cannot be changed while a program runs, found in the syntax tree and made in its text.
//!
//! A mistake is an operator at a place, and changes nothing else. Those that cannot make a difference, by their text alone,
//! are left out.

mod calls;
mod code_of_tests;
pub mod difference;
mod expressions;
mod finder;
mod guards;
pub mod operator;
mod states;
pub mod switches;
mod syntax;
#[cfg(test)]
mod tests;
pub mod text;

pub use code_of_tests::CodeOfTests;
pub use finder::find;
pub use states::find_states;

use std::ops::Range;

use self::operator::Operator;
use self::switches::Switch;
use self::text::{Edit, edited};

/// The mistakes that can be made in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mistakes {
    pub all: Vec<Mistake>,
    /// For each block of code, the byte where it begins.
    pub blocks: Vec<usize>,
}

/// A mistake at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub operator: Operator,
    pub line: u32,
    pub column: u32,
    /// In a few words: `` `<` becomes `<=` ``.
    pub what: String,
    pub edits: Vec<Edit>,
    /// Index of the innermost block around it: code that runs this runs the beginning of the block before.
    pub block: usize,
    /// The expression that it is in, if a choice at run time may take its place.
    pub switch: Option<Range<usize>>,
}

impl Mistake {
    /// Makes the mistake.
    pub fn make(&self, text: &str) -> String {
        edited(text, &self.edits)
    }
}

/// The variable with the file in which running code records the blocks that it reaches.
pub const REACHED: &str = "CARGO_RADDLE_REACHED";

/// Returns the text with a statement at the beginning of each of these blocks, which records its number once, and with
/// choices between what is there and mistakes. No line of the source moves.
pub fn with_marks(
    text: &str,
    blocks: impl Iterator<Item = (usize, usize)>,
    switches: &[Switch<'_>],
) -> String {
    let mark = |(number, start): (usize, usize)| Edit {
        range: start..start,
        text: format!(
            "{{static NEW: ::std::sync::atomic::AtomicBool=::std::sync::atomic::AtomicBool::new(true);\
             if NEW.swap(false,::std::sync::atomic::Ordering::Relaxed){{\
             if let Some(file)=::std::env::var_os(\"{REACHED}\"){{use ::std::io::Write as _;\
             let _=::std::fs::OpenOptions::new().append(true).create(true).open(file)\
             .and_then(|mut file|file.write_all(b\"{number}\\n\"));}}}}}}"
        ),
    };
    let mut edits: Vec<_> = blocks.map(mark).collect();
    // After the marks: a choice may be the first statement of a block.
    edits.extend(switches::edits(text, switches));
    edited(text, &edits)
}
