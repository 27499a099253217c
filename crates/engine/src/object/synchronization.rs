//! Synchronizes-with edges of completed calls.
//!
//! Completion order alone does not synchronize: the release of a lock synchronizes with its next
//! acquisition, but a failed attempt acquires nothing. So an object has numbered *clocks*. A call that
//! releases joins the clock of its thread into one of them, a call that acquires joins one of them
//! into the clock of its thread.

/// Number of a clock; each object numbers its own.
pub(crate) type SyncClock = u32;

/// The clocks that a completed call acquires and releases; it acquires first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Synchronization {
    acquires: [Option<SyncClock>; 2],
    releases: Option<SyncClock>,
}

impl Synchronization {
    /// No synchronization.
    pub(crate) const NONE: Synchronization = Synchronization {
        acquires: [None; 2],
        releases: None,
    };

    /// Creates the synchronization of a call that acquires this clock.
    pub(crate) fn acquire(clock: SyncClock) -> Self {
        Synchronization {
            acquires: [Some(clock), None],
            releases: None,
        }
    }

    /// Creates the synchronization of a call that releases to this clock.
    pub(crate) fn release(clock: SyncClock) -> Self {
        Synchronization {
            acquires: [None; 2],
            releases: Some(clock),
        }
    }

    /// Adds a clock to acquire.
    pub(crate) fn and_acquire(mut self, clock: SyncClock) -> Self {
        let free = self.acquires.iter_mut().find(|clock| clock.is_none());
        *free.expect("raddle: a call acquires two clocks at most") = Some(clock);
        self
    }

    /// Sets the clock to release to.
    pub(crate) fn and_release(self, clock: SyncClock) -> Self {
        Synchronization {
            releases: Some(clock),
            ..self
        }
    }

    /// Returns the clocks to acquire.
    pub(crate) fn acquires(&self) -> impl Iterator<Item = SyncClock> + use<> {
        self.acquires.into_iter().flatten()
    }

    /// Returns the clock to release to.
    pub(crate) fn releases(&self) -> Option<SyncClock> {
        self.releases
    }
}
