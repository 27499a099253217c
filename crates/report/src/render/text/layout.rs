//! Layout of stories for the place where they are read.

use std::env;
use std::io::IsTerminal;

/// Narrowest terminal whose width is used; some report 0 columns.
const MIN_WIDTH: usize = 20;

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
    /// for any output. The width is `COLUMNS`, or else that which the terminal reports.
    pub fn detect() -> Self {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let (out, err) = (std::io::stdout(), std::io::stderr());
        let terminal = out.is_terminal() && err.is_terminal();
        decide(variable, terminal, || columns(&out))
    }
}

fn decide(
    variable: impl Fn(&'static str) -> Option<String>,
    terminal: bool,
    reported: impl FnOnce() -> Option<usize>,
) -> Layout {
    let forced = variable("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let set = variable("COLUMNS").filter(|_| forced || terminal);
    let set = set.and_then(|columns| columns.parse().ok());
    Layout {
        coloured: variable("NO_COLOR").is_none() && (forced || terminal),
        width: set.or_else(|| reported().filter(|_| terminal)),
    }
}

/// Returns the number of columns that the terminal reports.
#[cfg(unix)]
fn columns(terminal: &impl std::os::fd::AsFd) -> Option<usize> {
    use std::os::fd::AsRawFd;

    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let file = terminal.as_fd().as_raw_fd();
    // SAFETY: the file is open, and the request writes one `winsize`, which `size` is.
    let result = unsafe { libc::ioctl(file, libc::TIOCGWINSZ, &raw mut size) };
    let columns = usize::from(size.ws_col);
    (result == 0 && columns >= MIN_WIDTH).then_some(columns)
}

#[cfg(not(unix))]
fn columns<T>(_terminal: &T) -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_overrides_terminal_detection() {
        let coloured = |set: &[&str], terminal| {
            let get = |name: &str| set.contains(&name).then(|| "1".to_owned());
            decide(get, terminal, || None).coloured
        };
        assert!(coloured(&[], true));
        assert!(!coloured(&[], false));
        assert!(coloured(&["CLICOLOR_FORCE"], false));
        assert!(!coloured(&["NO_COLOR"], true));
        assert!(!coloured(&["NO_COLOR", "CLICOLOR_FORCE"], true));
        let zero = |name: &str| (name == "CLICOLOR_FORCE").then(|| "0".to_owned());
        assert!(!decide(zero, false, || None).coloured);
    }

    #[test]
    fn only_a_terminal_has_a_width() {
        let columns = |name: &str| (name == "COLUMNS").then(|| "72".to_owned());
        let forced = |name: &str| (name != "NO_COLOR").then(|| "72".to_owned());
        let wide = |_: &str| Some("wide".to_owned());
        let reported = || Some(100);
        assert_eq!(decide(forced, false, reported).width, Some(72));
        assert_eq!(decide(columns, true, reported).width, Some(72));
        assert_eq!(decide(columns, false, reported).width, None);
        assert_eq!(decide(|_| None, true, reported).width, Some(100));
        assert_eq!(decide(|_| None, false, reported).width, None);
        assert_eq!(decide(wide, true, reported).width, Some(100));
        assert_eq!(decide(wide, true, || None).width, None);
    }

    #[cfg(unix)]
    #[test]
    fn a_terminal_reports_its_width() {
        use std::os::fd::{FromRawFd, OwnedFd};

        let width_of = |ws_col| {
            let size = libc::winsize {
                ws_row: 24,
                ws_col,
                ws_xpixel: 0,
                ws_ypixel: 0,
            };
            let (mut host, mut terminal) = (-1, -1);
            let (name, settings) = (std::ptr::null_mut(), std::ptr::null());
            // SAFETY: the pointers are those of two files and of a size, or null where that is allowed.
            let opened =
                unsafe { libc::openpty(&mut host, &mut terminal, name, settings, &raw const size) };
            assert_eq!(opened, 0);
            // SAFETY: `openpty` has opened both, and nothing else owns them.
            let files = [host, terminal].map(|file| unsafe { OwnedFd::from_raw_fd(file) });
            columns(&files[1])
        };
        assert_eq!(width_of(61), Some(61));
        assert_eq!(width_of(0), None, "unknown");
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(columns(&file), None);
    }
}
