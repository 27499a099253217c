//! The account of the book.

use raddle::sync::{Arc, Mutex};
use raddle::thread;

struct Account {
    checking: Mutex<i32>,
    savings: Mutex<i32>,
}

impl Account {
    fn save(&self, sum: i32) {
        raddle::atomic_block!("save", {
            *self.checking.lock().unwrap() -= sum;
            *self.savings.lock().unwrap() += sum;
        });
    }

    fn total(&self) -> i32 {
        raddle::atomic_block!("total", {
            let checking = *self.checking.lock().unwrap();
            checking + *self.savings.lock().unwrap()
        })
    }
}

pub fn program() {
    let account = Arc::new(Account {
        checking: Mutex::new(100),
        savings: Mutex::new(0),
    });
    raddle::label!("checking", &account.checking);
    raddle::label!("savings", &account.savings);
    let other = Arc::clone(&account);
    let thread = thread::spawn(move || other.save(30));
    account.total();
    thread.join().unwrap();
}
