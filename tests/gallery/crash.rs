use raddle::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use raddle::thread;

pub fn follows_a_wild_pointer() {
    let address = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| address.store(16, Relaxed));
        if address.load(Relaxed) == 16 {
            let pointer = std::ptr::without_provenance::<u32>(16);
            // SAFETY: there is none, which is the point.
            println!("{}", unsafe { pointer.read_volatile() });
        }
    });
}
