//! The mistakes that are made in sources.

use std::fmt;

/// A mistake with synchronization, or in an expression next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// Another lock is taken.
    ExchangeLock,
    /// Two locks are taken in the other order.
    SwapLocks,
    /// A guard that protects no data of its own is dropped at once.
    DropGuard,
    /// A guard is taken a statement earlier, or dropped later.
    ExpandGuard,
    /// A guard is taken a statement later, or dropped earlier.
    ShrinkGuard,
    /// The region of a guard moves by a statement.
    ShiftGuard,
    /// A lock is released and taken again in the middle of its region.
    SplitGuard,
    /// A wait returns at once.
    OmitWait,
    /// The condition of a wait is tested once.
    WhileToIf,
    /// A read-modify-write becomes a load and a store.
    SplitUpdate,
    /// A compare-exchange may fail spuriously.
    WeakExchange,
    /// A thread is not joined.
    OmitJoin,
    /// A lock that another thread holds is an error.
    TryLock,
    /// Data that a panic left half-changed is used.
    IgnorePoison,
    /// A channel holds fewer messages.
    ShrinkChannel,
    /// `select!` polls its branches in any order.
    UnbiasedSelect,
    /// `<` for `<=`, `==` for `!=`, and the like.
    Relational,
    /// `+` for `-`, `*` for `/`, and the like.
    Arithmetic,
    /// `&&` for `||`, and the other way.
    Logical,
    /// Two arguments of a call in the other order.
    Arguments,
}

impl Operator {
    #[cfg(test)]
    pub const ALL: [Operator; 20] = [
        Operator::ExchangeLock,
        Operator::SwapLocks,
        Operator::DropGuard,
        Operator::ExpandGuard,
        Operator::ShrinkGuard,
        Operator::ShiftGuard,
        Operator::SplitGuard,
        Operator::OmitWait,
        Operator::WhileToIf,
        Operator::SplitUpdate,
        Operator::WeakExchange,
        Operator::OmitJoin,
        Operator::TryLock,
        Operator::IgnorePoison,
        Operator::ShrinkChannel,
        Operator::UnbiasedSelect,
        Operator::Relational,
        Operator::Arithmetic,
        Operator::Logical,
        Operator::Arguments,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operator::ExchangeLock => "exchange-lock",
            Operator::SwapLocks => "swap-locks",
            Operator::DropGuard => "drop-guard",
            Operator::ExpandGuard => "expand-guard",
            Operator::ShrinkGuard => "shrink-guard",
            Operator::ShiftGuard => "shift-guard",
            Operator::SplitGuard => "split-guard",
            Operator::OmitWait => "omit-wait",
            Operator::WhileToIf => "while-to-if",
            Operator::SplitUpdate => "split-update",
            Operator::WeakExchange => "weak-exchange",
            Operator::OmitJoin => "omit-join",
            Operator::TryLock => "try-lock",
            Operator::IgnorePoison => "ignore-poison",
            Operator::ShrinkChannel => "shrink-channel",
            Operator::UnbiasedSelect => "unbiased-select",
            Operator::Relational => "relational",
            Operator::Arithmetic => "arithmetic",
            Operator::Logical => "logical",
            Operator::Arguments => "arguments",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
