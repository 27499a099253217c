//! What a completed call passes on from thread to thread.
//!
//! That one call is completed before another does not mean that what its thread did before is known
//! to the other: a lock that is given back passes it on to whoever takes it next, an attempt that
//! failed takes nothing over. An object has *lanes*. A call that gives adds what its thread has seen
//! to one of them, a call that takes adds what is in a lane to what its thread has seen.

/// Where what threads have seen is kept; each object numbers its own.
pub(crate) type Lane = u32;

/// What a completed call gives and takes, first that which it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Passing {
    takes: [Option<Lane>; 2],
    gives: Option<Lane>,
}

impl Passing {
    /// Nothing.
    pub(crate) const NONE: Passing = Passing {
        takes: [None; 2],
        gives: None,
    };

    /// From this lane.
    pub(crate) fn take(lane: Lane) -> Self {
        Passing {
            takes: [Some(lane), None],
            gives: None,
        }
    }

    /// To this lane.
    pub(crate) fn give(lane: Lane) -> Self {
        Passing {
            takes: [None; 2],
            gives: Some(lane),
        }
    }

    /// The same, and from this lane.
    pub(crate) fn and_take(mut self, lane: Lane) -> Self {
        let free = self.takes.iter_mut().find(|lane| lane.is_none());
        *free.expect("raddle: a call takes from two lanes at most") = Some(lane);
        self
    }

    /// The same, and to this lane.
    pub(crate) fn and_give(self, lane: Lane) -> Self {
        Passing {
            gives: Some(lane),
            ..self
        }
    }

    /// What to take from.
    pub(crate) fn takes(&self) -> impl Iterator<Item = Lane> + use<> {
        self.takes.into_iter().flatten()
    }

    /// What to give to.
    pub(crate) fn gives(&self) -> Option<Lane> {
        self.gives
    }
}
