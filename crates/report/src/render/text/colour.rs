//! Terminal colours. Only headlines, column titles, and the pair of steps that decides are coloured, each as a whole,
//! so that a search for words of a story finds them in coloured text as well.

use crate::render::text::layout::Layout;

/// Presence of colour in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colouring {
    Plain,
    Coloured,
}

impl Colouring {
    pub(crate) fn of(layout: Layout) -> Self {
        match layout.coloured {
            true => Colouring::Coloured,
            false => Colouring::Plain,
        }
    }

    /// Formats a headline: bold and red.
    pub(crate) fn headline(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// Formats the name of a thread: bold and cyan.
    pub(crate) fn thread(self, text: &str) -> String {
        self.with("1;36", text)
    }

    /// Bold and yellow: the steps whose order decides whether the execution fails.
    pub(crate) fn pair(self, text: &str) -> String {
        self.with("1;33", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self {
            Colouring::Plain => text.to_owned(),
            Colouring::Coloured if text.is_empty() => String::new(),
            Colouring::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
