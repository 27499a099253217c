// Programs that are checked twice: with raddle's types, and with the standard library's in a process that
// knows nothing of raddle. `world` is one or the other.

use super::world::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use super::world::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
use super::world::{Arc, mpsc, thread};
use std::time::Duration;

pub const ALL: &[(&str, fn())] = &[
    ("lost_update", lost_update),
    ("fetch_add", fetch_add),
    ("three_adders", three_adders),
    ("store_buffering", store_buffering),
    ("exchanges", exchanges),
    ("flags", flags),
    ("pointers", pointers),
    ("fetch_update", fetch_update),
    ("fences", fences),
    ("spin", spin),
    ("scope", scope),
    ("scope_in_scope", scope_in_scope),
    ("scope_of_many", scope_of_many),
    ("scope_across", scope_across),
    ("is_finished", is_finished),
    ("detached", detached),
    ("panicking", panicking),
    ("unbounded", unbounded),
    ("hanging_up", hanging_up),
    ("one_message", one_message),
    ("receiver_gone", receiver_gone),
    ("try_receive", try_receive),
    ("receive_in_time", receive_in_time),
    ("bounded", bounded),
    ("two_bounded_senders", two_bounded_senders),
    ("rendezvous", rendezvous),
    ("try_rendezvous", try_rendezvous),
    ("try_send", try_send),
    ("bounded_in_time", bounded_in_time),
    ("shared", shared),
];

fn lost_update() {
    let n = Arc::new(AtomicUsize::new(0));
    let add = |n: Arc<AtomicUsize>| {
        thread::spawn(move || {
            let v = n.load(SeqCst);
            n.store(v + 1, SeqCst);
        })
    };
    let (a, b) = (add(n.clone()), add(n.clone()));
    a.join().unwrap();
    b.join().unwrap();
    n.load(SeqCst);
}

fn fetch_add() {
    let n = Arc::new(AtomicU32::new(0));
    let m = n.clone();
    let t = thread::spawn(move || m.fetch_add(1, SeqCst));
    n.fetch_add(2, SeqCst);
    t.join().unwrap();
    assert_eq!(n.load(SeqCst), 3);
}

fn three_adders() {
    let n = Arc::new(AtomicU32::new(0));
    let mut threads = Vec::new();
    for i in 1..=3 {
        let n = n.clone();
        threads.push(thread::spawn(move || n.fetch_add(i, Relaxed)));
    }
    for t in threads {
        t.join().unwrap();
    }
    assert_eq!(n.load(Relaxed), 6);
}

fn store_buffering() {
    let both = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let other = both.clone();
    let t = thread::spawn(move || {
        other.0.store(1, Relaxed);
        other.1.load(Relaxed)
    });
    both.1.store(1, Relaxed);
    both.0.load(Relaxed);
    t.join().unwrap();
}

#[allow(unexpected_cfgs)]
fn exchanges() {
    let n = Arc::new(AtomicU32::new(0));
    let m = n.clone();
    let t = thread::spawn(move || {
        let _ = m.compare_exchange(0, 1, SeqCst, SeqCst);
        m.swap(5, SeqCst)
    });
    let _ = n.compare_exchange(0, 2, SeqCst, Relaxed);
    #[cfg(not(without_maximum))]
    n.fetch_max(3, SeqCst);
    t.join().unwrap();
}

fn flags() {
    let f = Arc::new(AtomicBool::new(false));
    let g = f.clone();
    let t = thread::spawn(move || g.fetch_or(true, SeqCst));
    f.fetch_and(false, SeqCst);
    let _ = f.compare_exchange(true, false, SeqCst, SeqCst);
    t.join().unwrap();
}

fn pointers() {
    let p = Arc::new(AtomicPtr::new(std::ptr::null_mut::<u64>()));
    let q = p.clone();
    let t = thread::spawn(move || q.store(std::ptr::dangling_mut(), Release));
    p.load(Acquire);
    t.join().unwrap();
}

fn fetch_update() {
    let n = Arc::new(AtomicU32::new(1));
    let m = n.clone();
    let t = thread::spawn(move || m.store(3, SeqCst));
    let _ = n.fetch_update(SeqCst, SeqCst, |v| (v == 7).then_some(8));
    t.join().unwrap();
}

fn fences() {
    let f = Arc::new(AtomicBool::new(false));
    let g = f.clone();
    let t = thread::spawn(move || {
        fence(Release);
        g.store(true, Relaxed);
    });
    if f.load(Relaxed) {
        fence(Acquire);
    }
    t.join().unwrap();
}

fn spin() {
    let f = Arc::new(AtomicBool::new(false));
    let g = f.clone();
    let t = thread::spawn(move || g.store(true, Release));
    while !f.load(Acquire) {
        thread::yield_now();
    }
    t.join().unwrap();
}

fn scope() {
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| n.fetch_add(1, SeqCst));
        s.spawn(|| n.fetch_add(2, SeqCst));
        n.load(SeqCst);
    });
    assert_eq!(n.load(SeqCst), 3);
}

fn scope_in_scope() {
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            s.spawn(|| n.fetch_add(1, SeqCst));
            thread::scope(|inner| {
                inner.spawn(|| n.fetch_add(2, SeqCst));
            });
        });
    });
    assert_eq!(n.load(SeqCst), 3);
}

fn scope_of_many() {
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        let first = s.spawn(|| n.fetch_add(1, SeqCst));
        s.spawn(|| n.fetch_add(1, SeqCst));
        first.join().unwrap();
        n.load(SeqCst);
    });
}

/// A thread of the outer scope is not waited for at the end of the inner one.
fn scope_across() {
    let n = AtomicUsize::new(0);
    thread::scope(|outer| {
        thread::scope(|inner| {
            inner.spawn(|| n.fetch_add(1, SeqCst));
            outer.spawn(|| n.fetch_add(2, SeqCst));
        });
        n.load(SeqCst);
    });
    assert_eq!(n.load(SeqCst), 3);
}

fn is_finished() {
    let n = Arc::new(AtomicUsize::new(0));
    let m = n.clone();
    let t = thread::spawn(move || m.store(1, SeqCst));
    if t.is_finished() {
        assert_eq!(n.load(SeqCst), 1);
    }
    t.join().unwrap();
}

fn detached() {
    let n = Arc::new(AtomicUsize::new(0));
    let m = n.clone();
    drop(thread::spawn(move || m.fetch_add(1, SeqCst)));
    n.load(SeqCst);
}

fn panicking() {
    let n = Arc::new(AtomicUsize::new(0));
    let m = n.clone();
    let t = thread::spawn(move || {
        let caught = std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(5u8)));
        assert!(caught.is_err());
        m.fetch_add(1, SeqCst);
    });
    n.load(SeqCst);
    t.join().unwrap();
}

fn unbounded() {
    let (t, r) = mpsc::channel::<[u64; 40]>();
    let u = t.clone();
    let a = thread::spawn(move || t.send([1; 40]).unwrap());
    let b = thread::spawn(move || u.send([2; 40]).unwrap());
    let sum: u64 = r.iter().map(|m| m[39]).sum();
    assert_eq!(sum, 3);
    a.join().unwrap();
    b.join().unwrap();
}

fn hanging_up() {
    let (t, r) = mpsc::channel::<u8>();
    let n = Arc::new(AtomicUsize::new(0));
    let m = n.clone();
    let a = thread::spawn(move || {
        drop(t);
        m.store(1, SeqCst);
    });
    assert!(r.recv().is_err());
    n.load(SeqCst);
    a.join().unwrap();
}

fn one_message() {
    let (t, r) = mpsc::channel::<Box<u32>>();
    let a = thread::spawn(move || {
        t.send(Box::new(1)).unwrap();
        t.send(Box::new(2)).unwrap();
    });
    assert_eq!(*r.recv().unwrap(), 1);
    assert_eq!(*r.recv().unwrap(), 2);
    assert!(r.recv().is_err());
    a.join().unwrap();
}

fn receiver_gone() {
    let (t, r) = mpsc::channel::<u32>();
    let a = thread::spawn(move || t.send(1).is_ok());
    drop(r);
    a.join().unwrap();
}

fn try_receive() {
    let (t, r) = mpsc::channel::<u32>();
    let a = thread::spawn(move || t.send(1).unwrap());
    let first = r.try_recv();
    let second = r.try_recv();
    assert!(first.is_err() || second.is_err());
    a.join().unwrap();
}

fn receive_in_time() {
    let (t, r) = mpsc::channel::<u32>();
    let a = thread::spawn(move || {
        let _ = t.send(1);
    });
    let _ = r.recv_timeout(Duration::from_secs(1));
    a.join().unwrap();
}

fn bounded() {
    let (t, r) = mpsc::sync_channel::<String>(1);
    let a = thread::spawn(move || {
        for i in 0..3 {
            t.send(i.to_string()).unwrap();
        }
    });
    let all: Vec<String> = r.iter().collect();
    assert_eq!(all, ["0", "1", "2"]);
    a.join().unwrap();
}

fn two_bounded_senders() {
    let (t, r) = mpsc::sync_channel::<u32>(2);
    let u = t.clone();
    let a = thread::spawn(move || t.send(1).unwrap());
    let b = thread::spawn(move || u.send(2).unwrap());
    assert_eq!(r.recv().unwrap() + r.recv().unwrap(), 3);
    a.join().unwrap();
    b.join().unwrap();
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

fn try_rendezvous() {
    let (t, r) = mpsc::sync_channel::<u8>(0);
    let a = thread::spawn(move || t.try_send(1).is_ok());
    let received = r.recv().is_ok();
    assert_eq!(a.join().unwrap(), received);
}

fn try_send() {
    let (t, r) = mpsc::sync_channel::<u8>(1);
    let a = thread::spawn(move || {
        t.try_send(1).unwrap();
        t.try_send(2).is_ok()
    });
    let first = r.recv().unwrap();
    let second = r.try_recv();
    assert_eq!(first, 1);
    let _ = second;
    a.join().unwrap();
}

fn bounded_in_time() {
    let (t, r) = mpsc::sync_channel::<u8>(1);
    let a = thread::spawn(move || {
        let _ = t.send(1);
    });
    let _ = r.recv_timeout(Duration::from_millis(3));
    a.join().unwrap();
}

fn shared() {
    let text = Arc::new(String::from("text"));
    let n = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let (text, n) = (text.clone(), n.clone());
        threads.push(thread::spawn(move || n.fetch_add(text.len(), SeqCst)));
    }
    drop(text);
    for t in threads {
        t.join().unwrap();
    }
    assert_eq!(Arc::try_unwrap(n).unwrap().into_inner(), 8);
}
