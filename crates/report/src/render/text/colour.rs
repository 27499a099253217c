//! Terminal colours. Only headlines and column titles are coloured, each as a whole, so that a
//! search for words of a story finds them in coloured text as well.

use std::io::IsTerminal;

/// Presence of colour in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colouring {
    Plain,
    Coloured,
}

impl Colouring {
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
            Colouring::Plain => text.to_owned(),
            Colouring::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Returns the colouring for this process. Both stdout and stderr must be terminals, because the
/// test harness captures stderr and prints it on stdout. `NO_COLOR` turns colours off,
/// `CLICOLOR_FORCE` turns them on for any output.
pub(crate) fn detect() -> Colouring {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let forced = is_set("CLICOLOR_FORCE")
        && std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    decide(is_set("NO_COLOR"), forced, terminal)
}

fn decide(no_color: bool, forced: bool, terminal: bool) -> Colouring {
    match !no_color && (forced || terminal) {
        true => Colouring::Coloured,
        false => Colouring::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_overrides_terminal_detection() {
        assert_eq!(decide(false, false, true), Colouring::Coloured);
        assert_eq!(decide(false, false, false), Colouring::Plain);
        assert_eq!(decide(false, true, false), Colouring::Coloured);
        assert_eq!(decide(true, false, true), Colouring::Plain);
        assert_eq!(decide(true, true, true), Colouring::Plain);
    }
}
