use raddle::sync::Mutex;

pub fn now_with_try_lock() {
    let lock = Mutex::new(0);
    *lock.try_lock().unwrap() += 1;
}
