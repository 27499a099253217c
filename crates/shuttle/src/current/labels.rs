//! Values of tasks, one of each type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;

/// Labels of a task: at most one value of each type.
#[derive(Clone, Default)]
pub struct Labels {
    values: HashMap<TypeId, Box<dyn Label>>,
}

trait Label: Any {
    fn boxed_clone(&self) -> Box<dyn Label>;
    fn type_name(&self) -> &'static str;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Clone + 'static> Label for T {
    fn boxed_clone(&self) -> Box<dyn Label> {
        Box::new(self.clone())
    }

    fn type_name(&self) -> &'static str {
        type_name::<T>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Clone for Box<dyn Label> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

fn taken<T: 'static>(label: Box<dyn Label>) -> T {
    let label = label.into_any().downcast();
    *label.expect("the key of a label is its type")
}

impl Labels {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a label and returns the earlier one of its type.
    pub fn insert<T: Clone + 'static>(&mut self, value: T) -> Option<T> {
        let earlier = self.values.insert(TypeId::of::<T>(), Box::new(value));
        earlier.map(taken)
    }

    /// Returns the label of this type.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        (**self.values.get(&TypeId::of::<T>())?)
            .as_any()
            .downcast_ref()
    }

    /// Returns the label of this type.
    pub fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        (**self.values.get_mut(&TypeId::of::<T>())?)
            .as_any_mut()
            .downcast_mut()
    }

    /// Returns the label of this type, after setting it if there is none.
    pub fn get_or_insert<T: Clone + 'static>(&mut self, value: T) -> &mut T {
        self.get_or_insert_with(|| value)
    }

    /// Returns the label of this type, after setting it to the result of `make` if there is none.
    pub fn get_or_insert_with<T: Clone + 'static, F: FnOnce() -> T>(&mut self, make: F) -> &mut T {
        let label = self.values.entry(TypeId::of::<T>());
        let label = label.or_insert_with(|| Box::new(make()));
        (**label)
            .as_any_mut()
            .downcast_mut()
            .expect("the key of a label is its type")
    }

    /// Returns the label of this type, after setting it to the default if there is none.
    pub fn get_or_insert_default<T: Default + Clone + 'static>(&mut self) -> &mut T {
        self.get_or_insert_with(T::default)
    }

    /// Removes the label of this type and returns it.
    pub fn remove<T: 'static>(&mut self) -> Option<T> {
        self.values.remove(&TypeId::of::<T>()).map(taken)
    }

    /// Removes all labels.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// True when there is no label.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of labels.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Sets all labels of another set.
    pub fn extend(&mut self, other: Self) {
        self.values.extend(other.values);
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.values.values().map(|it| (**it).type_name()).collect();
        names.sort_unstable();
        f.debug_tuple("Labels").field(&names).finish()
    }
}
