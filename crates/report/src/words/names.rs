//! The front end's names for what the engine numbers.

use raddle_engine::SiteId;

use crate::data::place::Place;

/// How the front end calls what the engine only numbers.
pub trait Names {
    /// Where an operation was written.
    fn place(&self, site: SiteId) -> Option<Place>;
    /// Kind and place of creation of an object, by index.
    fn object(&self, index: usize) -> (&str, Option<Place>);
    /// Kind and place of creation of a memory location, by index.
    fn location(&self, index: usize) -> (&str, Option<Place>);
    /// The name that the program gave an object, which goes before its kind.
    fn object_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// The name that the program gave a memory location.
    fn location_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// What the program's source calls an object, if that is known: a variable or a field. It goes
    /// before the kind, and after a name that the program gave.
    fn object_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// What the program's source calls a memory location.
    fn location_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// Kind and place of creation of a cell, by index.
    fn cell(&self, _index: usize) -> (&str, Option<Place>) {
        ("UnsafeCell", None)
    }
    /// The name that the program gave a cell.
    fn cell_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// What the program's source calls a cell.
    fn cell_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// What memory a cell is, in words, if there is more to say than its name.
    fn cell_story(&self, _index: usize) -> Option<String> {
        None
    }
    /// Whether the program is known by its addresses.
    fn is_native(&self) -> bool {
        false
    }
    /// Whether orderings have the names that C gives them.
    fn is_c(&self) -> bool {
        false
    }
    /// The calls that led to a place, in words, if they are known.
    fn chain(&self, _site: SiteId) -> Option<String> {
        None
    }
}
