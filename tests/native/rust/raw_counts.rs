//! References that are taken by a raw pointer while another thread may drop the last one, and references that are taken
//! by their owners; the argument says which.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;

unsafe extern "C" {
    fn raddle_check(function: extern "C" fn(*mut c_void), argument: *mut c_void) -> i32;
}

#[derive(Clone, Copy)]
struct Raw(*const u32);

// SAFETY: which thread may use the value is what is tested.
unsafe impl Send for Raw {}

impl Raw {
    fn new() -> Self {
        Raw(Arc::into_raw(Arc::new(5)))
    }

    /// The reference that the pointer stands for.
    fn own(self) -> Arc<u32> {
        // SAFETY: each pointer is taken for a reference once.
        unsafe { Arc::from_raw(self.0) }
    }

    /// One more reference.
    fn more(self) -> Arc<u32> {
        // SAFETY: whether there still is a reference is what is tested.
        unsafe { Arc::increment_strong_count(self.0) };
        self.own()
    }
}

static WHICH: AtomicUsize = AtomicUsize::new(0);

const ALL: [(&str, fn()); 9] = [
    ("wrong-after-join", || {
        let raw = Raw::new();
        let thread = thread::spawn(move || drop(raw.own()));
        let mine = raw.more();
        thread.join().unwrap();
        drop(mine);
    }),
    ("wrong-before-join", || {
        let raw = Raw::new();
        let thread = thread::spawn(move || drop(raw.own()));
        drop(raw.more());
        thread.join().unwrap();
    }),
    ("wrong-in-thread", || {
        let raw = Raw::new();
        let thread = thread::spawn(move || drop(raw.more()));
        drop(raw.own());
        thread.join().unwrap();
    }),
    ("wrong-beside-owner", || {
        let raw = Raw::new();
        let owner = raw.more();
        let dropper = thread::spawn(move || drop(owner));
        let thread = thread::spawn(move || drop(raw.more()));
        drop(raw.own());
        dropper.join().unwrap();
        thread.join().unwrap();
    }),
    ("wrong-swapped", || {
        let shared = Arc::new(AtomicPtr::new(Raw::new().0.cast_mut()));
        let theirs = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            drop(Raw(theirs.swap(Raw::new().0.cast_mut(), AcqRel)).own());
        });
        let mine = Raw(shared.load(Acquire)).more();
        thread.join().unwrap();
        assert_eq!(*mine, 5);
        drop(Raw(shared.load(Relaxed)).own());
    }),
    ("right-clones", || {
        let mine = Arc::new(5);
        let theirs = Arc::clone(&mine);
        let thread = thread::spawn(move || {
            let more = Arc::clone(&theirs);
            drop(theirs);
            drop(more);
        });
        let more = Arc::clone(&mine);
        drop(mine);
        thread.join().unwrap();
        drop(more);
    }),
    ("right-raw", || {
        let raw = Raw::new();
        let more = raw.more();
        let thread = thread::spawn(move || drop(more));
        drop(raw.more());
        thread.join().unwrap();
        drop(raw.own());
    }),
    // The threads at the end drop what the one in the middle has made.
    ("right-handed-on", || {
        let mine = Arc::new(5);
        let theirs = Arc::clone(&mine);
        let middle = thread::spawn(move || {
            let ends = [0, 1].map(|_| {
                let more = Arc::clone(&theirs);
                thread::spawn(move || drop(more))
            });
            drop(theirs);
            ends.map(|end| end.join().unwrap());
        });
        drop(Arc::clone(&mine));
        middle.join().unwrap();
    }),
    // The last owner of the outer value drops the inner one, of which another thread has made a copy before.
    ("right-nested", || {
        let outer = Arc::new(Arc::new(5));
        let theirs = Arc::clone(&outer);
        let thread = thread::spawn(move || {
            let inner = Arc::clone(&theirs);
            drop(theirs);
            inner
        });
        drop(outer);
        drop(thread.join().unwrap());
    }),
];

extern "C" fn test(_: *mut c_void) {
    ALL[WHICH.load(Relaxed)].1();
}

fn main() {
    let name = std::env::args().nth(1).expect("a name");
    let which = ALL.iter().position(|(known, _)| *known == name);
    WHICH.store(which.expect("a known name"), Relaxed);
    // SAFETY: the function takes any argument.
    std::process::exit(unsafe { raddle_check(test, std::ptr::null_mut()) });
}
