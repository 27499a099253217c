use raddle::sync::{Arc, Mutex};
use raddle::thread;

pub fn poisoned() {
    let stock = Arc::new(Mutex::new(vec![1, 2, 3]));
    let other = Arc::clone(&stock);
    let buyer = thread::spawn(move || {
        let mut stock = other.lock().unwrap();
        assert!(stock.len() > 3, "sold out");
        stock.pop();
    });
    let _ = buyer.join();
    stock.lock().unwrap().push(4);
}
