//! Messages on topics, for everybody who listens.

use std::sync::RwLock;

use flume::{Receiver, Sender};

#[derive(Default)]
pub struct Topic {
    listeners: RwLock<Vec<Sender<u32>>>,
}

impl Topic {
    pub fn listen(&self) -> Receiver<u32> {
        let (sender, receiver) = flume::unbounded();
        self.listeners.write().unwrap().push(sender);
        receiver
    }

    /// To how many it went.
    pub fn publish(&self, message: u32) -> usize {
        let listeners = self.listeners.read().unwrap();
        listeners
            .iter()
            .filter(|listener| listener.send(message).is_ok())
            .count()
    }

    /// Forgets those who are gone, as they were when it looked.
    pub fn clean_up(&self) {
        self.listeners
            .write()
            .unwrap()
            .retain(|listener| !listener.is_disconnected());
    }

    /// Others may begin to listen in between.
    pub fn clean_up_in_two_steps(&self) {
        let mut listeners = self.listeners.read().unwrap().clone();
        listeners.retain(|listener| !listener.is_disconnected());
        *self.listeners.write().unwrap() = listeners;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn messages_come_in_order() {
        let topic = Topic::default();
        let messages = topic.listen();
        thread::scope(|scope| {
            scope.spawn(|| {
                topic.publish(1);
                topic.publish(2);
            });
            assert_eq!((messages.recv(), messages.recv()), (Ok(1), Ok(2)));
        });
    }

    fn listening_while_cleaning(clean_up: fn(&Topic)) {
        let topic = Topic::default();
        thread::scope(|scope| {
            scope.spawn(|| clean_up(&topic));
            let messages = topic.listen();
            topic.publish(1);
            assert_eq!(messages.recv(), Ok(1));
        });
    }

    #[test]
    fn new_listeners_are_kept() {
        listening_while_cleaning(Topic::clean_up);
    }

    #[test]
    fn new_listeners_are_kept_in_two_steps() {
        listening_while_cleaning(Topic::clean_up_in_two_steps);
    }

    #[test]
    fn two_wait_for_each_other() {
        let (question, questions) = flume::bounded::<u32>(0);
        let (answer, answers) = flume::bounded::<u32>(0);
        let server = thread::spawn(move || {
            answer.send(1).unwrap();
            questions.recv().unwrap();
        });
        question.send(1).unwrap();
        answers.recv().unwrap();
        server.join().unwrap();
    }
}
