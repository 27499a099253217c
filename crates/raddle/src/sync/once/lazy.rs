//! A value that is initialised at its first use, with std's surface.
//!
//! A static is initialised again in every execution, each of which has its own copy of the
//! initialiser. A value from outside that is not a static can be initialised again only if its
//! initialiser is a plain function; any other closure is run once.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Mutex, PoisonError};

use super::lock::OnceLock;
use crate::labelled::{Labelled, Thing};
use raddle_check::runtime::Identity;
use raddle_check::runtime::statics::{CopyNumber, Virtual};
use raddle_check::runtime::{Made, current};

const POISONED: &str = "LazyLock instance has previously been poisoned";

/// A value that is initialised at its first use, as [`std::sync::LazyLock`].
///
/// Inside a check, the thread that initialises it is one of the choices that the engine explores,
/// and an initialiser that needs the value itself is a deadlock. Outside one, this is std's.
///
/// A static is initialised again in every execution. References to it from inside a check are
/// invalid after the execution, so do not keep a `&'static T` beyond that.
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    init: Mutex<Option<F>>,
}

// As std's: the lock around the initialiser would promise more.
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Creates a value that `f` will initialise.
    #[track_caller]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock {
            cell: OnceLock::of_kind("LazyLock"),
            init: Mutex::new(Some(f)),
        }
    }

    /// Returns the value; initialises it first, if needed.
    ///
    /// # Panics
    ///
    /// If the initialiser panicked.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let this = this.here();
        match this.cell.inside() {
            None => this.cell.get_or_init(|| match this.take_init() {
                Some(init) => init(),
                None => panic!("{POISONED}"),
            }),
            Some((cell, caller)) => cell.write_inside(caller, |poisoned| {
                assert!(!poisoned, "{POISONED}");
                this.init_inside()
            }),
        }
    }

    /// Returns the value, when no other thread can access it; initialises it first, if needed.
    ///
    /// # Panics
    ///
    /// If the initialiser panicked.
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        if this.cell.get_mut().is_none() {
            LazyLock::force(this);
        }
        this.cell.get_mut().expect("it has been made")
    }

    fn take_init(&self) -> Option<F> {
        let mut init = self.init.lock().unwrap_or_else(PoisonError::into_inner);
        init.take()
    }

    /// Initialises the value for one execution.
    fn init_inside(&self) -> T {
        let made = match self.function() {
            Some(function) => Some(function()),
            None => self.take_init().map(|init| init()),
        };
        made.unwrap_or_else(|| {
            panic!(
                "raddle: the LazyLock made at {} has run its closure in an earlier execution or \
                 outside the check. Create it inside the check, or give it a function or a closure \
                 that captures nothing, as `fn() -> T`",
                self.cell.place()
            )
        })
    }

    /// Returns the initialiser if it is a plain function, which can be run again.
    fn function(&self) -> Option<fn() -> T> {
        if type_id::<F>() != type_id::<fn() -> T>() {
            return None;
        }
        let init = self.init.lock().unwrap_or_else(PoisonError::into_inner);
        let init: &F = init.as_ref()?;
        // SAFETY: `F` is `fn() -> T` but for lifetimes, which do not differ either, because what `F`
        // returns is `T`. A function pointer may be copied.
        Some(unsafe { std::mem::transmute_copy::<F, fn() -> T>(init) })
    }
}

impl<T, F> LazyLock<T, F> {
    /// Returns the value, if it is initialised.
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        this.here().cell.get()
    }

    /// Returns the value, if it is initialised, when no other thread can access it.
    #[track_caller]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        this.cell.get_mut()
    }

    /// Returns the value that the caller uses: in a check, a copy of its own if this is a static.
    fn here(&self) -> &Self {
        current().map_or(self, |context| context.here(self))
    }
}

impl<T, F> Virtual for LazyLock<T, F> {
    const LENDS: bool = true;
    const DROPS: bool = std::mem::needs_drop::<T>() || std::mem::needs_drop::<F>();

    fn identity(&self) -> &Identity {
        self.cell.identity()
    }

    fn made(&self) -> &Made {
        self.cell.made()
    }

    fn is_guarded(&self) -> bool {
        false
    }

    fn adopt(&mut self, number: CopyNumber) {
        self.cell.adopt(number);
    }
}

/// Returns an identifier of the type, equal for types that differ in lifetimes only.
fn type_id<T>() -> TypeId {
    trait Identified {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T> Identified for PhantomData<T> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let marker: &dyn Identified = &PhantomData::<T>;
    // SAFETY: only lifetimes change, and `id` uses nothing that lives in them.
    let marker =
        unsafe { std::mem::transmute::<&dyn Identified, &(dyn Identified + 'static)>(marker) };
    marker.id()
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T, F> Labelled for LazyLock<T, F> {
    fn thing(&self) -> Thing<'_> {
        let this = current().map_or(self, |context| context.here(self));
        this.cell.thing()
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}
