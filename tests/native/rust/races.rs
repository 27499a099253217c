//! Programs with something wrong in them; the first argument says which.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

unsafe extern "C" {
    fn raddle_check(body: extern "C" fn(*mut ()), argument: *mut ()) -> i32;
}

static mut COUNT: u32 = 0;

fn static_mut() {
    let t = thread::spawn(|| unsafe {
        COUNT += 1;
    });
    unsafe {
        COUNT += 2;
    }
    t.join().unwrap();
}

struct Shared(UnsafeCell<u32>);
unsafe impl Sync for Shared {}

fn cell() {
    let ours = Arc::new(Shared(UnsafeCell::new(0)));
    let shared = ours.clone();
    let t = thread::spawn(move || unsafe {
        *shared.0.get() = 1;
    });
    let shared = ours;
    unsafe {
        *shared.0.get() = 2;
    }
    t.join().unwrap();
}

struct Pointer<T>(*mut T);
impl<T> Copy for Pointer<T> {}
impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
unsafe impl<T> Send for Pointer<T> {}

fn vector() {
    let mut values = Vec::with_capacity(8);
    let vector = Pointer(&raw mut values);
    let t = thread::spawn(move || {
        let vector = vector;
        unsafe { (*vector.0).push(1) };
    });
    unsafe { (*vector.0).push(2) };
    t.join().unwrap();
}

fn raw() {
    let pointer = Pointer(Box::into_raw(Box::new(1u64)));
    let t = thread::spawn(move || {
        let pointer = pointer;
        unsafe { pointer.0.write(5) };
    });
    unsafe { pointer.0.read() };
    t.join().unwrap();
    drop(unsafe { Box::from_raw(pointer.0) });
}

static mut NAME: [u8; 8] = *b"somebody";

/// One of the two is in a function that came compiled.
fn valid() {
    let t = thread::spawn(|| unsafe {
        NAME[0] = b'S';
    });
    let name = unsafe { std::str::from_utf8(&*(&raw const NAME)) };
    assert!(name.is_ok());
    t.join().unwrap();
}

/// To clone a shared pointer orders nothing.
fn cloned() {
    let ours = Arc::new(Shared(UnsafeCell::new(0)));
    let theirs = ours.clone();
    let t = thread::spawn(move || {
        drop(theirs.clone());
        unsafe { (*theirs.0.get()) += 1 };
    });
    drop(ours.clone());
    unsafe { (*ours.0.get()) += 1 };
    t.join().unwrap();
}

fn lost_update() {
    let n = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let n = n.clone();
        threads.push(thread::spawn(move || { // to add
            let v = n.load(SeqCst);
            n.store(v + 1, SeqCst);
        }));
    }
    for h in threads {
        h.join().unwrap();
    }
    if n.load(SeqCst) != 2 {
        std::process::abort();
    }
}

fn no_message() {
    let (sender, receiver) = mpsc::channel::<u8>();
    let t = thread::spawn(move || receiver.recv());
    let _ = t.join();
    drop(sender);
}

fn named() {
    let worker = thread::Builder::new().name("worker".to_owned());
    let t = worker.spawn(|| unsafe { COUNT = 3 }).unwrap();
    unsafe { COUNT = 4 };
    t.join().unwrap();
}

trait Bump {
    fn bump(&self);
}

struct Counter<T>(T);

impl<T> Bump for Counter<T> {
    fn bump(&self) {
        unsafe { COUNT += 5 }
    }
}

fn method() {
    let t = thread::spawn(|| Counter(1).bump());
    Counter(2).bump();
    t.join().unwrap();
}

struct Fields {
    lock: Mutex<u32>,
    once: AtomicU32,
    inner: AtomicU32,
}

static FIELDS: Fields = Fields {
    lock: Mutex::new(0),
    once: AtomicU32::new(0),
    inner: AtomicU32::new(0),
};

fn fields() {
    let t = thread::spawn(|| *FIELDS.lock.lock().unwrap() = 1);
    t.join().unwrap();
    FIELDS.once.store(1, SeqCst);
    FIELDS.inner.store(1, SeqCst);
    std::process::abort();
}

const ALL: &[(&str, fn())] = &[
    ("static_mut", static_mut),
    ("cell", cell),
    ("vector", vector),
    ("raw", raw),
    ("valid", valid),
    ("cloned", cloned),
    ("lost_update", lost_update),
    ("no_message", no_message),
    ("named", named),
    ("method", method),
    ("fields", fields),
];

extern "C" fn body(which: *mut ()) {
    ALL[which as usize].1();
}

fn main() {
    let name = std::env::args().nth(1).unwrap();
    let which = ALL.iter().position(|(it, _)| *it == name).unwrap();
    // SAFETY: raddle's own function, with a body that takes such an argument.
    std::process::exit(unsafe { raddle_check(body, which as *mut ()) });
}
