//! Names of objects in annotated schedules, of which there are none here.

/// Gives an object a name. Names have no effect; `raddle::label!` names objects in failures.
pub trait WithName: Sized {
    /// Sets the name and the kind.
    #[must_use]
    fn with_name_and_kind(self, name: Option<&str>, kind: Option<&str>) -> Self;

    /// Sets the name.
    #[must_use]
    fn with_name(self, name: &str) -> Self {
        self.with_name_and_kind(Some(name), None)
    }

    /// Sets the kind.
    #[must_use]
    fn with_kind(self, kind: &str) -> Self {
        self.with_name_and_kind(None, Some(kind))
    }
}

macro_rules! without_names {
    ($($type:ty $(where $param:ident)?),* $(,)?) => {$(
        impl$(<$param>)? WithName for $type {
            fn with_name_and_kind(self, _name: Option<&str>, _kind: Option<&str>) -> Self {
                self
            }
        }
        impl$(<$param>)? WithName for &$type {
            fn with_name_and_kind(self, _name: Option<&str>, _kind: Option<&str>) -> Self {
                self
            }
        }
    )*};
}

without_names! {
    crate::future::batch_semaphore::BatchSemaphore,
    crate::sync::Mutex<T> where T,
    crate::sync::RwLock<T> where T,
}
