//! Ports that are controlled inside a check.
//!
//! A receive and a send are operations of the engine's port. A bounded port has an additional
//! semaphore, whose permits are the free places; a synchronous sender also waits for the delivery.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::object::{Object, port, semaphore};
use raddle_engine::{ObjectId, Operation, Ports, Received, World};

use crate::labelled::{Labelled, Thing};
use crate::mailbox::{Mailbox, check_outside};
use crate::plain;
use crate::plain::port::PortKind;
use raddle_check::protocol::{self, channel::Polled};
use raddle_check::runtime::Identity;
use raddle_check::runtime::{Context, Made, current};

/// The receiving end of a port. One thread at a time has it; it may be sent to another.
///
/// A port created inside a check is controlled: the next message to be received is one of the
/// choices that the engine explores. One created outside is a real one, and cannot be used inside a
/// check.
pub struct Port<T> {
    made: Made,
    end: PortEnd<plain::port::Port<T>, T>,
    /// Prevents sharing between threads.
    one_receiver: PhantomData<Cell<()>>,
}

/// A sending end of a port. Clones send to the same port.
pub struct Sender<T> {
    made: Made,
    end: PortEnd<plain::port::Sender<T>, T>,
}

/// An end of a port that was created outside or inside a check.
enum PortEnd<P, T> {
    Outside(P),
    Inside(Arc<Shared<T>>),
}

struct Shared<T> {
    mailbox: Mailbox<T>,
    kind: PortKind,
    /// Identity of the semaphore of a bounded port.
    places: Identity,
}

impl<T> Port<T> {
    /// Creates a port whose senders never wait.
    #[track_caller]
    pub fn asynchronous() -> Self {
        Port::new(PortKind::Asynchronous, plain::port::Port::asynchronous)
    }

    /// Creates a port whose senders wait until their message has been received.
    #[track_caller]
    pub fn synchronous() -> Self {
        Port::new(PortKind::Synchronous, plain::port::Port::synchronous)
    }

    /// Creates a port whose senders wait while `bound` messages are waiting.
    ///
    /// # Panics
    ///
    /// If `bound` is 0: that is [`Port::synchronous`].
    #[track_caller]
    pub fn bounded(bound: usize) -> Self {
        Port::new(PortKind::bounded(bound), || {
            plain::port::Port::bounded(bound)
        })
    }

    #[track_caller]
    fn new(kind: PortKind, outside: impl FnOnce() -> plain::port::Port<T>) -> Self {
        let made = Made {
            kind: "Port",
            place: Location::caller(),
        };
        let end = match current() {
            None => PortEnd::Outside(outside()),
            Some(context) => PortEnd::Inside(Arc::new(Shared {
                mailbox: Mailbox::new(context, made, port::Port::unordered()),
                kind,
                places: Identity::new(),
            })),
        };
        Port {
            made,
            end,
            one_receiver: PhantomData,
        }
    }

    /// Returns a sending end.
    pub fn sender(&self) -> Sender<T> {
        let end = match &self.end {
            PortEnd::Outside(port) => PortEnd::Outside(port.sender()),
            PortEnd::Inside(shared) => PortEnd::Inside(Arc::clone(shared)),
        };
        let made = self.made;
        Sender { made, end }
    }

    /// Receives the next message, after waiting for one.
    #[track_caller]
    pub fn receive(&self) -> T {
        match &self.end {
            PortEnd::Outside(port) => {
                check_outside(self.made);
                port.receive()
            }
            PortEnd::Inside(shared) => {
                let place = Location::caller();
                let context = shared.mailbox.context_at(place);
                match shared.mailbox.receive(context, place) {
                    Polled::Message(number) => shared.take(number, place),
                    Polled::Empty | Polled::Disconnected => unreachable!("ports are never closed"),
                }
            }
        }
    }

    #[doc(hidden)]
    pub fn __this(&self) -> &Self {
        self
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn __take(&self, message: u32) -> T {
        match &self.end {
            PortEnd::Outside(port) => port.take(),
            PortEnd::Inside(shared) => shared.take(message, Location::caller()),
        }
    }
}

impl<T> Sender<T> {
    /// Sends a message, after waiting if the kind of port requires it.
    #[track_caller]
    pub fn send(&self, message: T) {
        let shared = match &self.end {
            PortEnd::Outside(sender) => {
                check_outside(self.made);
                return sender.send(message);
            }
            PortEnd::Inside(shared) => shared,
        };
        let place = Location::caller();
        let context = shared.mailbox.context_at(place);
        shared.call_places(context, semaphore::Call::Acquire, place);
        shared.mailbox.send(context, place, message);
        if shared.kind == PortKind::Synchronous {
            context.perform(place, |world| Operation::Delivered {
                port: shared.mailbox.object(context, world),
            });
        }
    }
}

impl<T> Shared<T> {
    /// Removes and returns the message that was received.
    fn take(&self, number: u32, place: &'static Location<'static>) -> T {
        let message = self.mailbox.messages().take(number);
        self.call_places(
            self.mailbox.context_at(place),
            semaphore::Call::Release,
            place,
        );
        message
    }

    /// Takes a place of a bounded port, or returns it.
    fn call_places(
        &self,
        context: &Context,
        call: semaphore::Call,
        place: &'static Location<'static>,
    ) {
        let PortKind::Bounded(bound) = self.kind else {
            return;
        };
        let made = Made {
            kind: "PortPlaces",
            place: self.mailbox.made().place,
        };
        protocol::call(context, place, call, |world| {
            context.object(world, &self.places, made, || {
                let permits = u32::try_from(bound).unwrap_or(u32::MAX);
                Object::Semaphore(semaphore::Semaphore::counting(permits))
            })
        });
    }
}

/// A port that a selection waits for, with messages of any type.
pub(super) trait Alternative {
    /// Returns an address that identifies the port.
    fn address(&self) -> *const ();

    /// Returns the port itself, if it was created outside a check.
    fn outside(&self) -> Option<&dyn plain::port::Alternative>;

    /// Returns the engine's identifier of the port.
    fn object(&self, context: &Context, world: &mut World) -> ObjectId;

    /// Panics if the port cannot be used here.
    fn check(&self, place: &'static Location<'static>);
}

impl<T> Alternative for Port<T> {
    fn address(&self) -> *const () {
        match &self.end {
            PortEnd::Outside(port) => plain::port::Alternative::address(port),
            PortEnd::Inside(shared) => Arc::as_ptr(shared).cast(),
        }
    }

    fn outside(&self) -> Option<&dyn plain::port::Alternative> {
        match &self.end {
            PortEnd::Outside(port) => Some(port),
            PortEnd::Inside(_) => None,
        }
    }

    fn object(&self, context: &Context, world: &mut World) -> ObjectId {
        match &self.end {
            PortEnd::Outside(_) => unreachable!("it has been checked"),
            PortEnd::Inside(shared) => shared.mailbox.object(context, world),
        }
    }

    fn check(&self, place: &'static Location<'static>) {
        match &self.end {
            PortEnd::Outside(_) => check_outside(self.made),
            PortEnd::Inside(shared) => {
                shared.mailbox.context_at(place);
            }
        }
    }
}

/// Waits until one of the ports has a message; returns the port's position and the message's
/// number.
#[track_caller]
pub(super) fn first_of(ports: &[&dyn Alternative]) -> (usize, u32) {
    let place = Location::caller();
    ports.iter().for_each(|port| port.check(place));
    let Some(context) = current() else {
        let ports: Vec<_> = ports.iter().filter_map(|port| port.outside()).collect();
        return (plain::port::first_of(&ports), 0);
    };
    let reply = context.perform(Location::caller(), |world| {
        let mut objects: Vec<_> = ports
            .iter()
            .map(|port| port.object(context, world))
            .collect();
        let ports = match objects.len() {
            1 => Ports::One(objects.remove(0)),
            _ => Ports::Any(world.add_ports(&objects)),
        };
        Operation::Receive { ports, wait: true }
    });
    match reply.to_received() {
        Received::Message { port, number } => (port as usize, number),
        Received::Empty | Received::Closed => unreachable!("ports are never closed"),
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let end = match &self.end {
            PortEnd::Outside(sender) => PortEnd::Outside(sender.clone()),
            PortEnd::Inside(shared) => PortEnd::Inside(Arc::clone(shared)),
        };
        let made = self.made;
        Sender { made, end }
    }
}

impl<T> Labelled for Port<T> {
    fn thing(&self) -> Thing<'_> {
        match &self.end {
            PortEnd::Outside(_) => Thing::elsewhere(),
            PortEnd::Inside(shared) => shared.mailbox.thing(),
        }
    }
}

impl<T> fmt::Debug for Port<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}
