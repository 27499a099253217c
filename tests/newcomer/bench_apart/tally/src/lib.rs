#![deny(warnings)]

use raddle::sync::Mutex;

pub fn count(tally: &Mutex<u32>) {
    *tally.lock().unwrap() += 1;
}
