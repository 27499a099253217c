//! The events of an execution.
//!
//! [`Vec::push`] creates an element on the stack and copies it, because the vector may have to grow in
//! between. The copy reads in large parts what was written in small ones, which defeats store forwarding
//! and stalls at every event. So the places exist before they are used, and an event is created in its
//! place. The places are also kept between executions.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::event::Event;
use super::operation::Operation;
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;

/// The events of an execution in the order they were performed, as a slice.
#[derive(Default)]
pub struct Events {
    /// The events, and unused places after them.
    places: Vec<Event>,
    len: usize,
}

/// Number of places that are made first.
const FIRST_PLACES: usize = 64;

impl Events {
    /// Returns the number of events.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without events.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        loop {
            if let Some(place) = self.places.get_mut(self.len) {
                *place = event;
                self.len += 1;
                return;
            }
            self.grow();
        }
    }

    /// Removes all events.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes the events behind the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let places = (2 * self.places.len()).max(FIRST_PLACES);
        let unused = Event {
            id: EventId {
                thread: ThreadId::MAIN,
                index: 0,
            },
            operation: Operation::Begin,
            source: None,
            outcome: Outcome::FIRST,
            reply: Reply::DONE,
            site: SiteId::new(0),
        };
        self.places.resize(places, unused);
    }
}

impl Deref for Events {
    type Target = [Event];

    #[inline]
    fn deref(&self) -> &[Event] {
        &self.places[..self.len]
    }
}

impl DerefMut for Events {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Event] {
        &mut self.places[..self.len]
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = &'a Event;
    type IntoIter = std::slice::Iter<'a, Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Events {
    type Item = &'a mut Event;
    type IntoIter = std::slice::IterMut<'a, Event>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl Extend<Event> for Events {
    fn extend<I: IntoIterator<Item = Event>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

impl FromIterator<Event> for Events {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut all = Events::default();
        all.extend(events);
        all
    }
}

/// Clones the events without the unused places.
impl Clone for Events {
    fn clone(&self) -> Self {
        Events {
            places: self.to_vec(),
            len: self.len,
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}
