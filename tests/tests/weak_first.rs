use std::collections::HashSet;
use raddle::sync::atomic::{AtomicU32, Ordering::{self, *}, fence};
use raddle::sync::Arc;
use raddle::thread;
use raddle::{Checker, Memory, Strategy};

type Body = fn(Ordering, Ordering);

fn classes(memory: Memory, strategy: Strategy, body: impl Fn() + Send + Sync + 'static) -> (usize, u64) {
    let mut set = HashSet::new();
    let report = raddle::__private::run_observed(Checker::new().strategy(strategy).memory(memory), body, &mut |e| { set.insert(e.class()); });
    report.assert_ok();
    assert!(report.exhausted);
    (set.len(), report.executions)
}

fn both(name: &str, expect_weak: usize, expect_sc: usize, body: impl Fn() + Send + Sync + Clone + 'static) {
    let (weak, runs) = classes(Memory::Rc11, Strategy::Exhaustive, body.clone());
    let (brute, _) = classes(Memory::Rc11, Strategy::EnumeratePrivateFirst, body.clone());
    let (sc, _) = classes(Memory::Sc, Strategy::Exhaustive, body);
    println!("{name}: rc11 {weak} in {runs} runs, enumerate {brute}, sc {sc}; expected {expect_weak}/{expect_sc}");
    if (weak, sc) != (expect_weak, expect_sc) || weak != brute || runs as usize != weak { println!("  MISMATCH"); }
}

fn xy() -> (Arc<AtomicU32>, Arc<AtomicU32>) { (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0))) }

fn sb(s: Ordering, l: Ordering, f: bool) {
    let (x, y) = xy();
    let (x2, y2) = (x.clone(), y.clone());
    let t = thread::spawn(move || { x2.store(1, s); if f { fence(SeqCst) } y2.load(l) });
    let (x3, y3) = (x.clone(), y.clone());
    let u = thread::spawn(move || { y3.store(1, s); if f { fence(SeqCst) } x3.load(l) });
    t.join().unwrap(); u.join().unwrap();
}
fn mp(s: Ordering, l: Ordering) {
    let (x, y) = xy();
    let (x2, y2) = (x.clone(), y.clone());
    let t = thread::spawn(move || { x2.store(1, Relaxed); y2.store(1, s); });
    let u = thread::spawn(move || { y.load(l); x.load(Relaxed); });
    t.join().unwrap(); u.join().unwrap();
}
fn mpf() {
    let (x, y) = xy();
    let (x2, y2) = (x.clone(), y.clone());
    let t = thread::spawn(move || { x2.store(1, Relaxed); fence(Release); y2.store(1, Relaxed); });
    let u = thread::spawn(move || { y.load(Relaxed); fence(Acquire); x.load(Relaxed); });
    t.join().unwrap(); u.join().unwrap();
}
fn lb() {
    let (x, y) = xy();
    let (x2, y2) = (x.clone(), y.clone());
    let t = thread::spawn(move || { x2.load(Relaxed); y2.store(1, Relaxed); });
    let u = thread::spawn(move || { y.load(Relaxed); x.store(1, Relaxed); });
    t.join().unwrap(); u.join().unwrap();
}
fn w2() {
    let (x, y) = xy();
    let (x2, y2) = (x.clone(), y.clone());
    let t = thread::spawn(move || { x2.store(1, Relaxed); y2.store(2, Relaxed); });
    let u = thread::spawn(move || { y.store(1, Relaxed); x.store(2, Relaxed); });
    t.join().unwrap(); u.join().unwrap();
}
fn iriw(s: Ordering, l: Ordering) {
    let (x, y) = xy();
    let (x1, y1, x2, y2) = (x.clone(), y.clone(), x.clone(), y.clone());
    let a = thread::spawn(move || x1.store(1, s));
    let b = thread::spawn(move || y1.store(1, s));
    let c = thread::spawn(move || { x2.load(l); y2.load(l) });
    let d = thread::spawn(move || { y.load(l); x.load(l) });
    a.join().unwrap(); b.join().unwrap(); c.join().unwrap(); d.join().unwrap();
}
fn s_test() {
    let (x, y) = xy();
    let (x2, y2) = (x.clone(), y.clone());
    let t = thread::spawn(move || { x2.store(2, Relaxed); y2.store(1, Relaxed); });
    let u = thread::spawn(move || { y.load(Relaxed); x.store(1, Relaxed); });
    t.join().unwrap(); u.join().unwrap();
}
fn corr() {
    let (x, _) = xy();
    let x2 = x.clone();
    let t = thread::spawn(move || { x2.store(1, Relaxed); x2.store(2, Relaxed); });
    let u = thread::spawn(move || { x.load(Relaxed); x.load(Relaxed); });
    t.join().unwrap(); u.join().unwrap();
}
fn inc(n: usize) {
    let x = Arc::new(AtomicU32::new(0));
    let ts: Vec<_> = (0..n).map(|_| { let x = x.clone(); thread::spawn(move || { x.fetch_add(1, Relaxed); }) }).collect();
    for t in ts { t.join().unwrap(); }
}
#[test]
fn litmus() {
    both("sb relaxed", 4, 3, || sb(Relaxed, Relaxed, false));
    both("sb seqcst", 3, 3, || sb(SeqCst, SeqCst, false));
    both("sb fences", 3, 3, || sb(Relaxed, Relaxed, true));
    both("mp relaxed", 4, 3, || mp(Relaxed, Relaxed));
    both("mp rel/acq", 3, 3, || mp(Release, Acquire));
    both("mp fences", 3, 3, mpf);
    both("lb", 3, 3, lb);
    both("2+2w", 4, 3, w2);
    both("iriw acq", 16, 15, || iriw(Release, Acquire));
    both("iriw sc", 15, 15, || iriw(SeqCst, SeqCst));
    both("s", 4, 3, s_test);
    both("corr", 6, 6, corr);
    both("inc 3", 6, 6, || inc(3));
    both("inc 4", 24, 24, || inc(4));
}
#[test]
fn debug_it() {
    let body = || {
        let (x, y) = xy();
        let (x1, y1, x2) = (x.clone(), y.clone(), x.clone());
        let a = thread::spawn(move || {
            let r = match y1.compare_exchange_weak(0, 2, Relaxed, Relaxed) { Err(0) => 2, Ok(f) | Err(f) => f };
            x1.store(r + 1, SeqCst);
        });
        let b = thread::spawn(move || { x2.store(2, Release); });
        let r = x.compare_exchange(1, 2, AcqRel, Acquire).unwrap_or_else(|f| f);
        y.store(r + 2, Release);
        a.join().unwrap(); b.join().unwrap();
    };
    let report = Checker::new().strategy(Strategy::Exhaustive).memory(Memory::Rc11).run(body);
    println!("{report}");
}
