//! A pool with a fixed number of connections.

use parking_lot::{Condvar, Mutex, RwLock};

pub struct Connections {
    free: Mutex<u32>,
    returned: Condvar,
    address: RwLock<String>,
}

impl Connections {
    pub fn new(size: u32, address: &str) -> Self {
        Connections {
            free: Mutex::new(size),
            returned: Condvar::new(),
            address: RwLock::new(address.to_owned()),
        }
    }

    /// Waits for a connection; to where it goes.
    pub fn take(&self) -> String {
        let mut free = self.free.lock();
        while *free == 0 {
            self.returned.wait(&mut free);
        }
        *free -= 1;
        self.address.read().clone()
    }

    pub fn give_back(&self) {
        *self.free.lock() += 1;
        self.returned.notify_one();
    }

    /// Does not notify the threads that wait for a connection.
    pub fn give_back_in_silence(&self) {
        *self.free.lock() += 1;
    }

    pub fn move_to(&self, address: &str) {
        *self.address.write() = address.to_owned();
    }

    /// Takes the locks the other way round.
    pub fn move_and_close_all(&self, address: &str) {
        let mut current = self.address.write();
        *self.free.lock() = 0;
        *current = address.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn shared_by_two(give_back: fn(&Connections)) {
        let connections = Connections::new(1, "here");
        let use_one = || {
            connections.take();
            give_back(&connections);
        };
        thread::scope(|scope| {
            scope.spawn(use_one);
            scope.spawn(use_one);
        });
    }

    #[test]
    fn one_serves_two() {
        shared_by_two(Connections::give_back);
    }

    #[test]
    fn one_serves_two_in_silence() {
        shared_by_two(Connections::give_back_in_silence);
    }

    #[test]
    fn moving_while_one_is_taken() {
        let connections = Connections::new(1, "here");
        thread::scope(|scope| {
            scope.spawn(|| connections.move_to("there"));
            assert!(["here", "there"].contains(&&*connections.take()));
        });
    }

    #[test]
    fn closing_while_one_is_taken() {
        let connections = Connections::new(1, "here");
        thread::scope(|scope| {
            scope.spawn(|| connections.move_and_close_all("there"));
            scope.spawn(|| {
                let free = connections.free.lock();
                let _address = connections.address.read();
                drop(free);
            });
        });
    }
}
