//! Colours and width of the terminal, for this process and for those that it runs in the foreground.

use std::ffi::OsString;

use console::Term;
use raddle_report::Layout;

/// Narrowest terminal whose width is used; some report 0 columns.
const MIN_WIDTH: usize = 20;

/// Turns colours on or off; the terminal and NO_COLOR decide if the user does not.
pub fn set_colours(wanted: Option<bool>) {
    if let Some(enabled) = wanted {
        console::set_colors_enabled(enabled);
        console::set_colors_enabled_stderr(enabled);
    }
}

/// The layout of stories on standard output that are indented by this number of columns.
pub fn story_layout(indent: usize) -> Layout {
    Layout {
        coloured: console::colors_enabled(),
        width: width(&Term::stdout()).map(|width| width.saturating_sub(indent)),
    }
}

fn width(terminal: &Term) -> Option<usize> {
    let (_, columns) = terminal.size_checked()?;
    Some(columns.into()).filter(|&columns| columns >= MIN_WIDTH)
}

/// The variables with which a process in the foreground prints its stories as this one would.
pub fn terminal_variables(colours: Option<bool>) -> Vec<(&'static str, OsString)> {
    let mut variables = Vec::new();
    match colours.or(console::colors_enabled_stderr().then_some(true)) {
        Some(true) => variables.push(("CLICOLOR_FORCE", "1".into())),
        Some(false) => variables.push(("NO_COLOR", "1".into())),
        None => {}
    }
    let width = width(&Term::stderr());
    variables.extend(width.map(|width| ("COLUMNS", width.to_string().into())));
    variables
}
