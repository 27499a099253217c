//! Output of progress.

/// Output of progress while a check runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Log {
    /// A line that changes, if stderr is a terminal.
    #[default]
    OnTerminal,
    /// Lines, wherever stderr goes.
    Progress,
    /// Nothing.
    Off,
}
