#![deny(warnings)]

use raddle::sync::Mutex;

/// Things to use and to give back.
#[derive(Default)]
pub struct Pool {
    free: Mutex<Vec<u32>>,
    used: Mutex<Vec<u32>>,
}

impl Pool {
    pub fn take(&self) -> Option<u32> {
        let mut free = self.free.lock().unwrap();
        let mut used = self.used.lock().unwrap();
        let thing = free.pop()?;
        used.push(thing);
        Some(thing)
    }

    pub fn give_back(&self, thing: u32) {
        let mut used = self.used.lock().unwrap();
        used.retain(|&other| other != thing);
        self.free.lock().unwrap().push(thing);
    }
}
