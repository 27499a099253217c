//! How much a check prints while it runs.

/// What a check says while it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Log {
    /// How far it is, if stderr is a terminal.
    #[default]
    OnTerminal,
    /// How far it is, wherever stderr goes.
    Progress,
    /// Nothing.
    Off,
}
