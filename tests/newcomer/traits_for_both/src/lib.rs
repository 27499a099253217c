#![deny(warnings)]

pub trait Reset {
    fn reset(&self);
}

impl Reset for std::sync::Mutex<u32> {
    fn reset(&self) {
        *self.lock().unwrap() = 0;
    }
}

impl Reset for raddle::sync::Mutex<u32> {
    fn reset(&self) {
        *self.lock().unwrap() = 0;
    }
}
