//! Blocks that threads are in, and the texts of their values.

use std::fmt::Debug;
use std::panic::Location;

use raddle_check::runtime::current;
use raddle_check::runtime::declarations::EnteredBlock;

/// A block that the calling thread is in. It has no value if this is dropped.
pub struct Entered(Option<EnteredBlock>);

impl Entered {
    /// Enters a block of this name.
    #[track_caller]
    pub fn new(name: &str) -> Self {
        let (context, place) = (current(), Location::caller());
        Entered(context.and_then(|context| context.enter_block(name, place)))
    }

    /// Leaves the block, whose value has this text.
    pub fn leave(mut self, value: impl FnOnce() -> Option<String>) {
        self.end(value);
    }

    fn end(&mut self, value: impl FnOnce() -> Option<String>) {
        if let (Some(block), Some(context)) = (self.0.take(), current()) {
            context.leave_block(block, value);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.end(|| None);
    }
}

/// The value of a block. Method lookup finds [`WithDebug`] first, if the type implements `Debug`.
pub struct Value<'a, T: ?Sized>(pub &'a T);

/// The text of a value whose type implements `Debug`.
pub trait WithDebug {
    /// Returns the text.
    fn text(&self) -> Option<String>;
}

impl<T: Debug + ?Sized> WithDebug for Value<'_, T> {
    fn text(&self) -> Option<String> {
        Some(format!("{:?}", self.0))
    }
}

/// The text of any other value.
pub trait WithoutDebug {
    /// Returns no text.
    fn text(&self) -> Option<String>;
}

impl<T: ?Sized> WithoutDebug for &Value<'_, T> {
    fn text(&self) -> Option<String> {
        None
    }
}
