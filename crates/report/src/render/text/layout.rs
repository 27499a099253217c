//! Layout of stories for the place where they are read.

use std::env;
use std::io::IsTerminal;

/// Colours and width of a story.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// True when the headline, the names of threads and the steps of `why:` are coloured.
    pub coloured: bool,
    /// Columns of the terminal; `None` for tables as wide as their longest steps.
    pub width: Option<usize>,
}

impl Layout {
    /// Without colours and without a limit.
    pub const PLAIN: Layout = Layout {
        coloured: false,
        width: None,
    };

    /// Returns the layout for the output of this process. Both stdout and stderr must be terminals, because the test
    /// harness captures stderr and prints it on stdout. `NO_COLOR` turns colours off, `CLICOLOR_FORCE` turns them on
    /// for any output; `COLUMNS` is the width of such a terminal.
    pub fn detect() -> Self {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        decide(variable, terminal)
    }
}

fn decide(variable: impl Fn(&'static str) -> Option<String>, terminal: bool) -> Layout {
    let forced = variable("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let columns = variable("COLUMNS").filter(|_| forced || terminal);
    Layout {
        coloured: variable("NO_COLOR").is_none() && (forced || terminal),
        width: columns.and_then(|columns| columns.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_overrides_terminal_detection() {
        let coloured = |set: &[&str], terminal| {
            let get = |name: &str| set.contains(&name).then(|| "1".to_owned());
            decide(get, terminal).coloured
        };
        assert!(coloured(&[], true));
        assert!(!coloured(&[], false));
        assert!(coloured(&["CLICOLOR_FORCE"], false));
        assert!(!coloured(&["NO_COLOR"], true));
        assert!(!coloured(&["NO_COLOR", "CLICOLOR_FORCE"], true));
        let zero = |name: &str| (name == "CLICOLOR_FORCE").then(|| "0".to_owned());
        assert!(!decide(zero, false).coloured);
    }

    #[test]
    fn only_a_terminal_has_a_width() {
        let columns = |name: &str| (name == "COLUMNS").then(|| "72".to_owned());
        let forced = |name: &str| (name != "NO_COLOR").then(|| "72".to_owned());
        assert_eq!(decide(forced, false).width, Some(72));
        assert_eq!(decide(columns, true).width, Some(72));
        assert_eq!(decide(columns, false).width, None);
        assert_eq!(decide(|_| Some("wide".to_owned()), true).width, None);
    }
}
