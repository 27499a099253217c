//! Names that the program gives to its objects and locations.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use raddle_engine::object::Object;

use raddle_check::runtime::Identity;
use raddle_check::runtime::{Made, current};

/// A value that can be named with [`label!`](crate::label!): the controlled types, and pointers to
/// them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given a name",
    note = "raddle's locks, atomics and the like can, and references and `Arc`s to them"
)]
pub trait Labelled {
    #[doc(hidden)]
    fn thing(&self) -> Thing<'_>;
}

/// A value that can have a name in an execution; `None` if it was created elsewhere and cannot be
/// used here.
#[doc(hidden)]
pub struct Thing<'a>(Option<(&'a Identity, Made, LabelState)>);

/// The initial state, for an execution that has not used the value yet.
enum LabelState {
    Object(Object),
    Location(u64),
    Cell,
}

impl<'a> Thing<'a> {
    pub(crate) fn object(identity: &'a Identity, made: Made, state: Object) -> Self {
        Thing(Some((identity, made, LabelState::Object(state))))
    }

    pub(crate) fn location(identity: &'a Identity, made: Made, initial: u64) -> Self {
        Thing(Some((identity, made, LabelState::Location(initial))))
    }

    pub(crate) fn cell(identity: &'a Identity, made: Made) -> Self {
        Thing(Some((identity, made, LabelState::Cell)))
    }

    pub(crate) fn elsewhere() -> Self {
        Thing(None)
    }
}

/// Gives a value a name in the running execution, if there is one.
pub fn label(labelled: &(impl Labelled + ?Sized), name: fmt::Arguments<'_>) {
    let Some(context) = current() else { return };
    let Thing(Some((identity, made, state))) = labelled.thing() else {
        return;
    };
    let _aside = raddle_check::runtime::alloc::aside();
    let name = name.to_string();
    match state {
        LabelState::Object(object) => context.label_object(identity, made, object, name),
        LabelState::Location(initial) => context.label_location(identity, made, initial, name),
        LabelState::Cell => context.label_cell(identity, &made, name),
    }
}

/// Declares that some values belong together in the running execution, if there is one.
pub fn data_set(name: &str, members: &[&dyn Labelled]) {
    let Some(context) = current() else { return };
    let datum = |member: &&dyn Labelled| {
        let Thing(Some((identity, made, state))) = member.thing() else {
            return None;
        };
        match state {
            LabelState::Object(object) => Some(context.datum_of_object(identity, made, object)),
            LabelState::Location(initial) => {
                Some(context.datum_of_location(identity, made, initial))
            }
            LabelState::Cell => context.datum_of_cell(identity, &made),
        }
    };
    let _aside = raddle_check::runtime::alloc::aside();
    let data = members.iter().filter_map(datum).collect();
    context.declare_set(name.to_owned(), data);
}

/// Declares that the controlled values in a struct belong together in the running execution, if there is one.
pub fn data_struct<T: ?Sized>(name: &str, object: &T) {
    let Some(context) = current() else { return };
    let start = std::ptr::from_ref(object).addr();
    let _aside = raddle_check::runtime::alloc::aside();
    context.declare_struct(name.to_owned(), start..start + size_of_val(object));
}

macro_rules! pointers {
    ($($pointer:ty)*) => {$(
        impl<T: Labelled + ?Sized> Labelled for $pointer {
            fn thing(&self) -> Thing<'_> {
                (**self).thing()
            }
        }
    )*};
}
pointers!(&T &mut T Box<T> Rc<T> Arc<T>);
