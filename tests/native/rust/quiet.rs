//! Programs in which everything is in order; the first argument says which.
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*, fence};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock, Weak, mpsc};
use std::thread;
use std::time::Duration;

unsafe extern "C" {
    fn raddle_check(body: extern "C" fn(*mut ()), argument: *mut ()) -> i32;
}

fn arc_drop() {
    struct Noted(String);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.push('!');
        }
    }
    let a = Arc::new(Noted("x".to_owned()));
    let b = a.clone();
    let h = thread::spawn(move || b.0.len());
    drop(a);
    h.join().unwrap();
}

fn arc_unwrap() {
    let a = Arc::new(Mutex::new(vec![1, 2, 3]));
    let b = a.clone();
    let h = thread::spawn(move || b.lock().unwrap().push(4));
    h.join().unwrap();
    let v = Arc::try_unwrap(a).unwrap().into_inner().unwrap();
    assert_eq!(v.len(), 4);
}

fn arc_get_mut() {
    let mut a = Arc::new(5);
    let b = a.clone();
    let h = thread::spawn(move || *b);
    if let Some(x) = Arc::get_mut(&mut a) {
        *x = 6;
    }
    h.join().unwrap();
    *Arc::get_mut(&mut a).unwrap() = 7;
    assert_eq!(Arc::strong_count(&a), 1);
}

fn arc_weak() {
    let a = Arc::new(String::from("weak"));
    let w: Weak<String> = Arc::downgrade(&a);
    let h = thread::spawn(move || w.upgrade().map(|s| s.len()));
    drop(a);
    h.join().unwrap();
}

fn collections() {
    let h = thread::spawn(|| {
        let mut m = HashMap::new();
        for i in 0..20 {
            m.insert(i, i.to_string());
        }
        let mut b = BTreeMap::new();
        b.insert(1, Box::new(2));
        let mut q = VecDeque::new();
        q.push_back(Rc::new(RefCell::new(3)));
        *q[0].borrow_mut() += 1;
        (m, b.len(), q.len())
    });
    let (mut m, _, _) = h.join().unwrap();
    m.insert(100, String::from("main"));
    assert_eq!(m.len(), 21);
    let v: Vec<_> = m.into_values().collect();
    assert_eq!(v.iter().map(String::len).max(), Some(4));
}

fn locals() {
    thread_local! {
        static N: Cell<usize> = const { Cell::new(0) };
        static S: RefCell<String> = RefCell::new(String::from("s"));
    }
    let hs: Vec<_> = (0..2)
        .map(|i| {
            thread::spawn(move || {
                N.set(N.get() + i);
                S.with_borrow_mut(|s| s.push('x'));
                N.get()
            })
        })
        .collect();
    N.set(7);
    for (i, h) in hs.into_iter().enumerate() {
        assert_eq!(h.join().unwrap(), i);
    }
    assert_eq!(N.get(), 7);
}

fn scoped() {
    let mut v = vec![1, 2, 3, 4];
    let (a, b) = v.split_at_mut(2);
    thread::scope(|s| {
        s.spawn(|| a[0] = 10);
        s.spawn(|| b[0] = 20);
    });
    assert_eq!(v, [10, 2, 20, 4]);
}

fn channel() {
    let (t, r) = mpsc::channel::<[u64; 100]>();
    let t2 = t.clone();
    let a = thread::spawn(move || t.send([1; 100]).unwrap());
    let b = thread::spawn(move || t2.send([2; 100]).unwrap());
    let mut sum = 0;
    for m in r {
        sum += m[99];
    }
    assert_eq!(sum, 3);
    a.join().unwrap();
    b.join().unwrap();
}

fn bounded() {
    let (t, r) = mpsc::sync_channel::<Box<String>>(1);
    let a = thread::spawn(move || {
        for i in 0..3 {
            t.send(Box::new(i.to_string())).unwrap();
        }
    });
    assert_eq!(r.iter().count(), 3);
    a.join().unwrap();
}

fn rendezvous() {
    let (t, r) = mpsc::sync_channel::<Vec<u8>>(0);
    let a = thread::spawn(move || {
        t.send(vec![1]).unwrap();
        t.send(vec![2]).unwrap();
    });
    assert_eq!(r.recv().unwrap(), [1]);
    assert_eq!(r.recv().unwrap(), [2]);
    a.join().unwrap();
}

fn published() {
    static DATA: OnceLock<Vec<u8>> = OnceLock::new();
    let h = thread::spawn(|| DATA.get_or_init(|| vec![1, 2]).len());
    assert_eq!(DATA.get_or_init(|| vec![3, 4]).len(), 2);
    h.join().unwrap();
}

fn release_acquire() {
    struct Shared(UnsafeCell<u32>, AtomicBool);
    unsafe impl Sync for Shared {}
    let s = Arc::new(Shared(UnsafeCell::new(0), AtomicBool::new(false)));
    let t = s.clone();
    let h = thread::spawn(move || {
        unsafe { *t.0.get() = 5 };
        t.1.store(true, Release);
    });
    if s.1.load(Acquire) {
        assert_eq!(unsafe { *s.0.get() }, 5);
    }
    h.join().unwrap();
}

fn panics() {
    let h = thread::spawn(|| panic!("on purpose"));
    assert!(h.join().is_err());
    let caught = std::panic::catch_unwind(|| {
        let v = vec![1];
        assert_eq!(v.len(), 2);
    });
    assert!(caught.is_err());
    let n = Arc::new(AtomicUsize::new(0));
    let m = n.clone();
    let h = thread::spawn(move || m.fetch_add(1, SeqCst));
    n.fetch_add(1, SeqCst);
    h.join().unwrap();
    assert_eq!(n.load(SeqCst), 2);
}

fn locks() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    let h = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let mut ready = pair.0.lock().unwrap();
    while !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    drop(ready);
    h.join().unwrap();
}

fn rwlock() {
    let l = Arc::new(RwLock::new(vec![0]));
    let k = l.clone();
    let h = thread::spawn(move || k.write().unwrap().push(1));
    let _ = l.read().unwrap().len();
    h.join().unwrap();
}

fn barrier() {
    let b = Arc::new(Barrier::new(2));
    let c = b.clone();
    let h = thread::spawn(move || c.wait().is_leader());
    let mine = b.wait().is_leader();
    assert!(mine != h.join().unwrap());
}

fn once() {
    static ONCE: Once = Once::new();
    static mut VALUE: u32 = 0;
    let get = || {
        ONCE.call_once(|| unsafe { VALUE = 3 });
        unsafe { VALUE }
    };
    let h = thread::spawn(get);
    assert_eq!(get(), 3);
    assert_eq!(h.join().unwrap(), 3);
}

fn parked() {
    let flag = Arc::new(AtomicBool::new(false));
    let f = flag.clone();
    let h = thread::spawn(move || {
        while !f.load(Acquire) {
            thread::park();
        }
    });
    flag.store(true, Release);
    h.thread().unpark();
    h.join().unwrap();
}

fn detached() {
    let n = Arc::new(AtomicUsize::new(0));
    let m = n.clone();
    drop(thread::spawn(move || m.fetch_add(1, SeqCst)));
    n.load(SeqCst);
}

fn named() {
    let h = thread::Builder::new().name("worker".into()).spawn(|| {
        assert_eq!(thread::current().name(), Some("worker"));
        thread::current().id()
    });
    let id = h.unwrap().join().unwrap();
    assert!(id != thread::current().id());
}

fn finished() {
    let h = thread::spawn(|| 3);
    if h.is_finished() {
        assert_eq!(h.join().unwrap(), 3);
    }
}

fn pointers() {
    let p = Arc::new(AtomicPtr::new(std::ptr::null_mut::<u64>()));
    let q = p.clone();
    let h = thread::spawn(move || {
        q.store(Box::into_raw(Box::new(9)), Release);
    });
    let seen = p.load(Acquire);
    if !seen.is_null() {
        assert_eq!(unsafe { *seen }, 9);
    }
    h.join().unwrap();
    drop(unsafe { Box::from_raw(p.load(Acquire)) });
}

fn fences() {
    let a = Arc::new((UnsafeCellSync(UnsafeCell::new(0)), AtomicBool::new(false)));
    let b = a.clone();
    let h = thread::spawn(move || {
        unsafe { *b.0.0.get() = 1 };
        fence(Release);
        b.1.store(true, Relaxed);
    });
    if a.1.load(Relaxed) {
        fence(Acquire);
        assert_eq!(unsafe { *a.0.0.get() }, 1);
    }
    h.join().unwrap();
}
struct UnsafeCellSync(UnsafeCell<u32>);
unsafe impl Sync for UnsafeCellSync {}
unsafe impl Send for UnsafeCellSync {}

fn timeouts() {
    let (t, r) = mpsc::channel::<u8>();
    let h = thread::spawn(move || {
        let _ = t.send(1);
    });
    let _ = r.recv_timeout(Duration::from_millis(5));
    let _ = r.try_recv();
    h.join().unwrap();
}

const ALL: &[(&str, fn())] = &[
    ("arc_drop", arc_drop),
    ("arc_unwrap", arc_unwrap),
    ("arc_get_mut", arc_get_mut),
    ("arc_weak", arc_weak),
    ("collections", collections),
    ("locals", locals),
    ("scoped", scoped),
    ("channel", channel),
    ("bounded", bounded),
    ("rendezvous", rendezvous),
    ("published", published),
    ("release_acquire", release_acquire),
    ("panics", panics),
    ("locks", locks),
    ("rwlock", rwlock),
    ("barrier", barrier),
    ("once", once),
    ("parked", parked),
    ("detached", detached),
    ("named", named),
    ("finished", finished),
    ("pointers", pointers),
    ("fences", fences),
    ("timeouts", timeouts),
];

extern "C" fn body(which: *mut ()) {
    ALL[which as usize].1();
}

fn main() {
    let name = std::env::args().nth(1).unwrap();
    let which = ALL.iter().position(|(it, _)| *it == name).unwrap();
    std::process::exit(unsafe { raddle_check(body, which as *mut ()) });
}
