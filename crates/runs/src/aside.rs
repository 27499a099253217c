//! Moving an unusable file away, while other processes may be about to do the same.
//!
//! A process may find the file unusable and act only after another one has already moved it; the
//! name then belongs to a new, good file. Therefore the file is moved under a lock, and only if it
//! is still the same file.

/// The folder of the file, as a trait so that all interleavings can be explored in a test.
pub(crate) trait Folder {
    /// Identity of a file, independent of its name.
    type Identity: PartialEq;
    /// Lock on the file; held while the file is moved.
    type Turn;
    /// New name of the moved file.
    type Name;

    /// Returns the identity of the file that has the name now.
    fn current(&self) -> Option<Self::Identity>;

    /// Locks the file without waiting; `None` if it is locked already, or does not exist.
    fn take_turn(&self) -> Option<Self::Turn>;

    /// Renames the file; `None` if that fails.
    fn move_away(&self) -> Option<Self::Name>;
}

/// Result of [`set_aside`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aside<N> {
    Moved(N),
    /// The file could not be renamed.
    Stays,
    /// Another process moves or has moved the file: the caller should open it again.
    NotOurs,
}

/// Moves the file away if it is still the one that was found unusable.
pub(crate) fn set_aside<F: Folder>(folder: &F, unusable: &F::Identity) -> Aside<F::Name> {
    let Some(_turn) = folder.take_turn() else {
        return Aside::NotOurs;
    };
    if folder.current().as_ref() != Some(unusable) {
        return Aside::NotOurs;
    }
    match folder.move_away() {
        Some(name) => Aside::Moved(name),
        None => Aside::Stays,
    }
}
