//! The interface to the front end's names.

use raddle_engine::SiteId;

use crate::data::place::Place;

/// Names of the front end for the engine's numbers.
pub trait Names {
    /// Returns the place of an operation.
    fn place(&self, site: SiteId) -> Option<Place>;
    /// Returns the kind and the place of creation of an object.
    fn object(&self, index: usize) -> (&str, Option<Place>);
    /// Returns the kind and the place of creation of a memory location.
    fn location(&self, index: usize) -> (&str, Option<Place>);
    /// Returns the name that the program gave to an object; it takes precedence over all others.
    fn object_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// Returns the name that the program gave to a memory location.
    fn location_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// Returns the variable or field of an object, if known. It takes precedence over the kind.
    fn object_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// Returns the variable or field of a memory location, if known.
    fn location_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// Returns the kind and the place of creation of a cell.
    fn cell(&self, _index: usize) -> (&str, Option<Place>) {
        ("UnsafeCell", None)
    }
    /// Returns the name that the program gave to a cell.
    fn cell_label(&self, _index: usize) -> Option<String> {
        None
    }
    /// Returns the variable or field of a cell, if known.
    fn cell_variable(&self, _index: usize) -> Option<String> {
        None
    }
    /// Returns a description of a cell's memory beyond its name, if there is one.
    fn cell_story(&self, _index: usize) -> Option<String> {
        None
    }
    /// True for a native program, whose variables are identified by address.
    fn is_native(&self) -> bool {
        false
    }
    /// True when memory orderings are printed with C's names.
    fn is_c(&self) -> bool {
        false
    }
    /// Returns an ordering's name in the program's language.
    fn ordering_name(&self, ordering: &str) -> String {
        match self.is_c() {
            true => ordering_in_c(ordering),
            false => ordering.to_owned(),
        }
    }
    /// True when plain accesses may be operations of the execution, which look like relaxed ones.
    fn has_plain_operations(&self) -> bool {
        false
    }
    /// True when a value is known to be the address of a variable or a block of the program.
    fn is_pointer(&self, _value: u64) -> bool {
        false
    }
    /// Returns a description of the calls that led to a site, if known.
    fn chain(&self, _site: SiteId) -> Option<String> {
        None
    }
}

/// Returns C's name for an ordering of Rust.
pub fn ordering_in_c(ordering: &str) -> String {
    let name = match ordering {
        "AcqRel" => "acq_rel".to_owned(),
        "SeqCst" => "seq_cst".to_owned(),
        other => other.to_lowercase(),
    };
    format!("memory_order_{name}")
}
