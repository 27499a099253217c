//! Errors that only tokio can make, with their texts.
//!
//! They are types of this crate: to have tokio make one, its future would be polled, and tokio's own
//! thread-local variables would be a part of the check.

/// Defines an error without data.
macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(pub(crate) ());

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($text)
            }
        }

        impl std::error::Error for $name {}
    )*};
}

errors! {
    /// The semaphore is closed.
    AcquireError = "semaphore closed";
    /// No sender is left.
    RecvError = "channel closed";
}
