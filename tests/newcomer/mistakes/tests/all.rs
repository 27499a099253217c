use mistakes::{Account, drain};
use raddle::sync::atomic::AtomicU32;
use raddle::thread;

#[raddle::test]
fn deposits_are_kept() {
    let account = Account::default();
    thread::scope(|scope| {
        scope.spawn(|| account.deposit(1));
        account.deposit(2);
    });
    assert_eq!(account.balance(), 3);
}

#[raddle::test]
fn nothing_is_left() {
    drain(&AtomicU32::new(2));
}
