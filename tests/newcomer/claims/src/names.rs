use raddle::sync::atomic::AtomicU32;
use raddle::sync::atomic::Ordering::SeqCst;

#[raddle::test]
fn a_name_is_counted() {
    let names = AtomicU32::new(0);
    names.fetch_add(1, SeqCst);
}
