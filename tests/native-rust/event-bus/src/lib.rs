//! Who subscribes gets every event from then on.

use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

#[derive(Default)]
pub struct Bus {
    subscribers: Mutex<Vec<Sender<u32>>>,
}

impl Bus {
    pub fn subscribe(&self) -> Receiver<u32> {
        let (sender, receiver) = mpsc::channel();
        self.subscribers.lock().unwrap().push(sender);
        receiver
    }

    pub fn publish(&self, event: u32) {
        let mut subscribers = self.subscribers.lock().unwrap();
        subscribers.retain(|subscriber| subscriber.send(event).is_ok());
    }
}

/// The same, but who publishes waits until everybody has taken the event.
#[derive(Default)]
pub struct Meeting {
    subscribers: Mutex<Vec<SyncSender<u32>>>,
}

impl Meeting {
    pub fn subscribe(&self) -> Receiver<u32> {
        let (sender, receiver) = mpsc::sync_channel(0);
        self.subscribers.lock().unwrap().push(sender);
        receiver
    }

    /// Who takes the event cannot subscribe meanwhile.
    pub fn publish(&self, event: u32) {
        for subscriber in self.subscribers.lock().unwrap().iter() {
            let _ = subscriber.send(event);
        }
    }

    pub fn publish_to_copies(&self, event: u32) {
        let subscribers = self.subscribers.lock().unwrap().clone();
        for subscriber in subscribers {
            let _ = subscriber.send(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn events_come_in_order() {
        let bus = Arc::new(Bus::default());
        let events = bus.subscribe();
        let publisher = thread::spawn({
            let bus = Arc::clone(&bus);
            move || {
                bus.publish(1);
                bus.publish(2);
            }
        });
        assert_eq!(events.recv(), Ok(1));
        assert_eq!(events.recv(), Ok(2));
        publisher.join().unwrap();
        drop(bus);
        assert!(events.recv().is_err());
    }

    #[test]
    fn subscribers_may_leave() {
        let bus = Bus::default();
        let events = bus.subscribe();
        thread::scope(|scope| {
            scope.spawn(|| bus.publish(1));
            drop(events);
        });
    }

    fn subscribed_again(publish: fn(&Meeting, u32)) {
        let bus = Arc::new(Meeting::default());
        let events = bus.subscribe();
        let publisher = thread::spawn({
            let bus = Arc::clone(&bus);
            move || publish(&bus, 1)
        });
        let more = bus.subscribe();
        assert_eq!(events.recv(), Ok(1));
        drop(more);
        publisher.join().unwrap();
    }

    #[test]
    fn subscribing_while_publishing() {
        subscribed_again(Meeting::publish_to_copies);
    }

    #[test]
    fn subscribing_while_publishing_under_the_lock() {
        subscribed_again(Meeting::publish);
    }
}
