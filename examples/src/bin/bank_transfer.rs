//! Two transfers in opposite directions, each holding the lock that the other one waits for.
//!
//! ```console
//! cargo run -p raddle-examples --bin bank_transfer
//! ```
//!
//! A deadlock needs no assertion: a check fails when threads wait for each other for ever, and the
//! report names the holder of each lock.

use raddle::sync::Mutex;
use raddle::{Checker, thread};

struct Account {
    number: u32,
    money: Mutex<u32>,
}

/// Locks the account that pays, then the one that is paid.
fn transfer(from: &Account, to: &Account, amount: u32) {
    let mut payer = from.money.lock().unwrap();
    let mut payee = to.money.lock().unwrap();
    *payer -= amount;
    *payee += amount;
}

/// The fix: every thread locks the account with the lower number first.
fn transfer_in_order(from: &Account, to: &Account, amount: u32) {
    let first_payer = from.number < to.number;
    let (first, second) = if first_payer { (from, to) } else { (to, from) };
    let mut first = first.money.lock().unwrap();
    let mut second = second.money.lock().unwrap();
    let (payer, payee) = if first_payer {
        (&mut first, &mut second)
    } else {
        (&mut second, &mut first)
    };
    **payer -= amount;
    **payee += amount;
}

fn two_transfers(transfer: fn(&Account, &Account, u32)) {
    let account = |number| Account {
        number,
        money: Mutex::new(100),
    };
    let (ann, bob) = (account(1), account(2));
    thread::scope(|scope| {
        // Threads with names are easier to follow in a report than `main.1` and `main.2`.
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("rent")
            .spawn_scoped(scope, || transfer(&ann, &bob, 10))
            .unwrap();
        named("salary")
            .spawn_scoped(scope, || transfer(&bob, &ann, 25))
            .unwrap();
    });
    assert_eq!(*ann.money.lock().unwrap(), 115);
    assert_eq!(*bob.money.lock().unwrap(), 85);
}

fn main() {
    println!("Payer first:");
    let report = Checker::new()
        .named("bank_transfer")
        .keep_going(true)
        .run(|| two_transfers(transfer));
    println!("{report}");

    println!("Lower number first:");
    let report = Checker::new().run(|| two_transfers(transfer_in_order));
    report.assert_ok();
}
