//! Colour, for terminals. Only headlines and the names above columns have it, each as a whole, so that
//! whoever looks for some words of a story finds them in either form.

use std::io::IsTerminal;

/// Whether there is colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paint {
    Plain,
    Colours,
}

impl Paint {
    /// Bold and red.
    pub(crate) fn headline(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// Bold and cyan.
    pub(crate) fn thread(self, text: &str) -> String {
        self.with("1;36", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self {
            Paint::Plain => text.to_owned(),
            Paint::Colours => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Whether there is colour in what this process prints. A test's output is collected from stderr and
/// printed on stdout, so that both must be terminals. `NO_COLOR` turns colour off, `CLICOLOR_FORCE`
/// turns it on wherever the text goes.
pub(crate) fn wanted() -> Paint {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced = is_set("CLICOLOR_FORCE")
        && std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    decide(is_set("NO_COLOR"), forced, terminal)
}

fn decide(no_color: bool, forced: bool, terminal: bool) -> Paint {
    match !no_color && (forced || terminal) {
        true => Paint::Colours,
        false => Paint::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_unless_somebody_says_otherwise() {
        assert_eq!(decide(false, false, true), Paint::Colours);
        assert_eq!(decide(false, false, false), Paint::Plain);
        assert_eq!(decide(false, true, false), Paint::Colours);
        assert_eq!(decide(true, false, true), Paint::Plain);
        assert_eq!(decide(true, true, true), Paint::Plain);
    }
}
