#![deny(warnings)]

pub static LOCK: raddle::sync::Mutex<u32> = raddle::sync::Mutex::new(0);
