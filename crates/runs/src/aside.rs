//! Putting a file aside that cannot be used, while others may be about to do the same.
//!
//! Somebody who has found the file unusable may come late: it has been put aside already, and what has its
//! name now is a new file. So only the very file that was found unusable is moved, and all that want to
//! move it take turns.

/// The folder of the file.
pub(crate) trait Folder {
    /// Which file it is, whatever its name.
    type Identity: PartialEq;
    /// Nobody else moves the file while this exists.
    type Turn;
    /// What a file is called that was put aside.
    type Name;

    /// The file that has the name now, if there is one.
    fn current(&self) -> Option<Self::Identity>;

    /// Waits for nobody: `None` if it is somebody else's turn, or there is no file.
    fn take_turn(&self) -> Option<Self::Turn>;

    /// Gives the file another name, if that can be done.
    fn move_away(&self) -> Option<Self::Name>;
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aside<N> {
    Moved(N),
    /// It is still there.
    Stays,
    /// Somebody else does it, or has done it: another look is worth while.
    NotOurs,
}

/// Puts the file aside that was found to be unusable.
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
