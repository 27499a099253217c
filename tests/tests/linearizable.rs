//! `linearizable!`: collections with a mistake and without it, and the cases in which a result would claim too much.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use raddle::sync::atomic::{
    AtomicBool, AtomicU32, AtomicUsize, Ordering,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use raddle::sync::{Condvar, Mutex, RwLock};
use raddle::{Checker, Linearizable, Memory, linearizable};

/// A stack of at most two values in an array, whose top is a number.
#[derive(Default)]
struct Stack<const CORRECT: bool> {
    slots: [AtomicU32; 2],
    top: AtomicUsize,
    taken: AtomicBool,
}

impl<const CORRECT: bool> Stack<CORRECT> {
    /// Enters the critical section; the mistake is that `pop` does not.
    fn enter(&self, needed: bool) {
        while (CORRECT || needed) && self.taken.swap(true, Acquire) {
            raddle::hint::spin_loop();
        }
    }

    fn leave(&self, needed: bool) {
        if CORRECT || needed {
            self.taken.store(false, Release);
        }
    }

    fn push(&self, value: u32) -> bool {
        self.enter(true);
        let top = self.top.load(Relaxed);
        let fits = top < self.slots.len();
        if fits {
            self.slots[top].store(value, Relaxed);
            self.top.store(top + 1, Relaxed);
        }
        self.leave(true);
        fits
    }

    fn pop(&self) -> Option<u32> {
        self.enter(false);
        let top = self.top.load(Relaxed);
        let value = top.checked_sub(1).map(|last| {
            self.top.store(last, Relaxed);
            self.slots[last].load(Relaxed)
        });
        self.leave(false);
        value
    }
}

fn stack<const CORRECT: bool>() -> Linearizable<Stack<CORRECT>> {
    linearizable!(Stack::default(), { push(1), push(2), pop() })
}

/// A set whose `insert` looks and adds in one critical section, or in two.
#[derive(Default)]
struct Set<const CORRECT: bool>(Mutex<BTreeSet<u32>>);

impl<const CORRECT: bool> Set<CORRECT> {
    fn insert(&self, value: u32) -> bool {
        if CORRECT {
            return self.0.lock().unwrap().insert(value);
        }
        let is_new = !self.0.lock().unwrap().contains(&value);
        self.0.lock().unwrap().insert(value);
        is_new
    }

    fn remove(&self, value: u32) -> bool {
        self.0.lock().unwrap().remove(&value)
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn set<const CORRECT: bool>() -> Linearizable<Set<CORRECT>> {
    linearizable!(Set::default(), { insert(1), insert(2), remove(1) } finally { len() })
}

/// A queue with a count of its own, which is changed under the lock, or after it.
#[derive(Default)]
struct Queue<const CORRECT: bool> {
    values: Mutex<VecDeque<u32>>,
    len: AtomicUsize,
}

impl<const CORRECT: bool> Queue<CORRECT> {
    fn push(&self, value: u32) {
        let mut values = self.values.lock().unwrap();
        values.push_back(value);
        if !CORRECT {
            drop(values);
            self.len.fetch_add(1, Release);
            return;
        }
        self.len.fetch_add(1, Release);
    }

    fn pop(&self) -> Option<u32> {
        let mut values = self.values.lock().unwrap();
        let value = values.pop_front()?;
        self.len.fetch_sub(1, Release);
        Some(value)
    }

    fn len(&self) -> usize {
        if CORRECT {
            return self.values.lock().unwrap().len();
        }
        self.len.load(Acquire)
    }
}

fn queue<const CORRECT: bool>() -> Linearizable<Queue<CORRECT>> {
    linearizable!(Queue::default(), { push(1), pop(), len() })
}

/// Two numbers that are written together, and read under the lock or one by one.
#[derive(Default)]
struct Pair<const CORRECT: bool>(RwLock<()>, [AtomicU32; 2]);

impl<const CORRECT: bool> Pair<CORRECT> {
    fn write(&self, value: u32) {
        let _guard = self.0.write().unwrap();
        self.1.iter().for_each(|half| half.store(value, Relaxed));
    }

    fn read(&self) -> (u32, u32) {
        let _guard = CORRECT.then(|| self.0.read().unwrap());
        (self.1[0].load(Relaxed), self.1[1].load(Relaxed))
    }
}

fn pair<const CORRECT: bool>() -> Linearizable<Pair<CORRECT>> {
    linearizable!(Pair::default(), { write(1), write(2), read() })
}

/// A cache that computes a value once, or may return a value that is replaced afterwards.
#[derive(Default)]
struct Cache<const CORRECT: bool> {
    values: Mutex<BTreeMap<u32, u32>>,
    computed: AtomicU32,
}

impl<const CORRECT: bool> Cache<CORRECT> {
    fn get(&self, key: u32) -> u32 {
        let values = self.values.lock().unwrap();
        if let Some(&value) = values.get(&key) {
            return value;
        }
        let mut values = match CORRECT {
            true => values,
            false => {
                drop(values);
                self.values.lock().unwrap()
            }
        };
        let value = self.computed.fetch_add(1, Relaxed);
        values.insert(key, value);
        value
    }
}

fn cache<const CORRECT: bool>() -> Linearizable<Cache<CORRECT>> {
    linearizable!(Cache::default(), { get(1), get(2) })
}

/// A ring of two slots that many threads fill: the ticket of a slot is taken by an update, or by a load and a store.
struct Ring<const CORRECT: bool> {
    slots: [Mutex<Option<u32>>; 2],
    next: AtomicUsize,
}

impl<const CORRECT: bool> Ring<CORRECT> {
    fn new() -> Self {
        Ring {
            slots: [const { Mutex::new(None) }; 2],
            next: AtomicUsize::new(0),
        }
    }

    fn offer(&self, value: u32) -> Option<usize> {
        let slot = match CORRECT {
            true => self.next.fetch_add(1, Relaxed),
            false => {
                let slot = self.next.load(Relaxed);
                self.next.store(slot + 1, Relaxed);
                slot
            }
        };
        *self.slots.get(slot)?.lock().unwrap() = Some(value);
        Some(slot)
    }

    fn values(&self) -> Vec<Option<u32>> {
        (self.slots.iter())
            .map(|slot| *slot.lock().unwrap())
            .collect()
    }
}

fn ring<const CORRECT: bool>() -> Linearizable<Ring<CORRECT>> {
    linearizable!(Ring::new(), { offer(1), offer(2) } finally { values() }).threads(3)
}

/// Asserts that the mistake is found and the correct version runs every behaviour of every client.
#[track_caller]
fn compare<B, C>(broken: Linearizable<B>, correct: Linearizable<C>)
where
    B: Sync + 'static,
    C: Sync + 'static,
{
    let broken = broken.run();
    // As long as it takes: the machine may be busy.
    let unlimited = Checker::new().max_time(Duration::from_secs(3_600));
    let correct = correct.checker(unlimited).run();
    let failure = broken.failure().expect("the mistake is found");
    let message = failure.message.as_str();
    assert!(
        message.contains("not linearizable: no order of these calls"),
        "{message}"
    );
    correct.assert_ok();
    assert!(correct.exhausted(), "{correct}");
}

#[test]
fn mistakes_of_six_collections_are_found_and_their_correct_versions_pass() {
    compare(stack::<false>(), stack::<true>());
    compare(set::<false>(), set::<true>());
    compare(queue::<false>(), queue::<true>());
    compare(pair::<false>(), pair::<true>());
    compare(cache::<false>(), cache::<true>());
    compare(ring::<false>(), ring::<true>());
}

/// A register whose writes are seen after a flush.
#[derive(Default)]
struct Buffered(Mutex<[u32; 2]>);

impl Buffered {
    fn write(&self, value: u32) {
        self.0.lock().unwrap()[0] = value;
    }

    fn flush(&self) {
        let mut values = self.0.lock().unwrap();
        values[1] = values[0];
    }

    fn read(&self) -> u32 {
        self.0.lock().unwrap()[1]
    }
}

#[test]
fn a_sequential_specification_may_be_any() {
    // It does on one thread what it does on two: a read returns what was flushed.
    linearizable!(Buffered::default(), { write(1), flush(), read() }).assert_ok();
}

/// A flag that is read with too weak an ordering, as the value behind it shows.
#[derive(Default)]
struct Published {
    value: AtomicU32,
    ready: AtomicBool,
}

impl Published {
    fn publish(&self, ordering: Ordering) {
        self.value.store(7, Relaxed);
        self.ready.store(true, ordering);
    }

    fn get(&self) -> Option<u32> {
        self.ready.load(Acquire).then(|| self.value.load(Relaxed))
    }
}

#[test]
fn a_missing_release_is_found_by_clients_that_share_nothing_else() {
    let check = |ordering| {
        let check = linearizable!(Published::default(), { get() });
        check
            .call("publish()", move |object| object.publish(ordering))
            .run()
    };
    let failure = check(Relaxed)
        .failure()
        .cloned()
        .expect("the value may be old");
    assert!(failure.message.contains("get() = Some(0)"), "{failure}");
    assert!(
        !failure.message.contains("began"),
        "no ticket was needed: {failure}"
    );
    assert!(check(Release).exhausted());
}

/// Two numbers that are written and read one at a time.
#[derive(Default)]
struct Cells([AtomicU32; 2]);

#[test]
fn store_buffering_is_not_linearizable() {
    let check = |store, load, memory| {
        let check = linearizable!(Cells::default(), {});
        let check = check.call("set(0)", move |cells| cells.0[0].store(1, store));
        let check = check.call("get(0)", move |cells| cells.0[0].load(load));
        let check = check.call("set(1)", move |cells| cells.0[1].store(1, store));
        let check = check.call("get(1)", move |cells| cells.0[1].load(load));
        check.checker(raddle::Checker::new().memory(memory)).run()
    };
    let report = check(Release, Acquire, Memory::Rc11);
    let failure = report
        .failure()
        .expect("each thread may miss the other's write");
    assert!(
        failure.message.contains("A: set(0) = (), get(1) = 0"),
        "{failure}"
    );
    assert!(
        failure.message.contains("B: set(1) = (), get(0) = 0"),
        "{failure}"
    );
    assert!(check(Release, Acquire, Memory::Sc).exhausted());
    assert!(check(SeqCst, SeqCst, Memory::Rc11).exhausted());
}

/// A counter with a copy for readers that is brought up to date by the next call only.
#[derive(Default)]
struct Lagging {
    count: AtomicU32,
    copy: AtomicU32,
}

impl Lagging {
    /// Publishes the count before its own increment when another thread is incrementing.
    fn increment(&self) {
        let count = self.count.fetch_add(1, SeqCst) + 1;
        if self.copy.load(SeqCst) + 1 == count {
            self.copy.store(count, SeqCst);
        }
    }

    fn get(&self) -> u32 {
        self.copy.load(SeqCst)
    }
}

#[test]
fn a_call_that_returns_before_it_takes_effect_is_found_with_tickets() {
    // A has incremented the count but not the copy. B increments it too, leaves the copy to A, and returns; then C
    // reads the old copy. Without the order of B and C, C might have come first.
    let report = linearizable!(Lagging::default(), { increment(), get() })
        .threads(3)
        .run();
    let failure = report
        .failure()
        .expect("an increment has ended and is not seen");
    assert!(failure.message.contains("not linearizable"), "{failure}");
}

/// A queue whose `take` waits until there is a value.
#[derive(Default)]
struct Blocking(Mutex<VecDeque<u32>>, Condvar);

impl Blocking {
    fn put(&self, value: u32) {
        self.0.lock().unwrap().push_back(value);
        self.1.notify_one();
    }

    fn take(&self) -> u32 {
        let mut values = self.0.lock().unwrap();
        loop {
            match values.pop_front() {
                Some(value) => return value,
                None => values = self.1.wait(values).unwrap(),
            }
        }
    }
}

#[test]
fn clients_that_wait_for_ever_one_at_a_time_are_left_out_and_counted() {
    let report = linearizable!(Blocking::default(), { put(1), take() }).run();
    assert!(report.failure().is_none(), "{:?}", report.failure());
    // Of `put | put`, `put | take` and `take | take` the last one waits for ever. Of two calls and one, these remain:
    // put put | put, put put | take, put take | put, take put | put, and of (put take | take) and the others none;
    // of two and two all pairs with at least as many puts as takes, which never wait for ever.
    let (kept, left_out) = expected_clients();
    assert_eq!((report.clients, report.left_out), (kept, left_out));
    assert!(!report.exhausted(), "a client was left out");
    assert!(report.to_string().ends_with(&format!(
        "; {left_out} left out, whose calls may wait for ever"
    )));
}

/// Counts the clients of a queue with as many puts as takes, and the others, by all schedules of a counter.
fn expected_clients() -> (usize, usize) {
    let (mut kept, mut left_out) = (0, 0);
    for (one, other) in [(1, 1), (2, 1), (2, 2)] {
        for first in 0..1_u32 << one {
            for second in 0..1_u32 << other {
                // Threads of one length are interchangeable; the bits are the calls, `take` is 1.
                if one == other && first > second {
                    continue;
                }
                let takes = first.count_ones() + second.count_ones();
                // More takes than puts leave one waiting; otherwise some thread can always go on, because one
                // whose next call is `take` waits only while all other calls that are left are behind takes.
                match is_stuck((one, first), (other, second), 0) || 2 * takes > one + other {
                    true => left_out += 1,
                    false => kept += 1,
                }
            }
        }
    }
    (kept, left_out)
}

/// True if some order of the calls of two threads ends with both at a take and nothing to be taken.
fn is_stuck(one: (u32, u32), other: (u32, u32), values: u32) -> bool {
    let step = |(left, calls): (u32, u32)| {
        (left > 0).then(|| match (calls & 1, values) {
            (0, _) => Some(((left - 1, calls >> 1), values + 1)),
            (_, 0) => None,
            _ => Some(((left - 1, calls >> 1), values - 1)),
        })
    };
    let (first, second) = (step(one), step(other));
    if first.is_none() && second.is_none() {
        return false;
    }
    let goes = [
        first.flatten().map(|(rest, values)| (rest, other, values)),
        second.flatten().map(|(rest, values)| (one, rest, values)),
    ];
    let mut any = false;
    for (one, other, values) in goes.into_iter().flatten() {
        any = true;
        if is_stuck(one, other, values) {
            return true;
        }
    }
    !any
}

/// A lock that hands out numbers, and loses a wake-up.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        // The mistake: nothing is notified.
    }

    fn pass(&self) {
        let mut open = self.0.lock().unwrap();
        while !*open {
            open = self.1.wait(open).unwrap();
        }
    }
}

#[test]
fn a_call_that_waits_for_ever_only_beside_others_is_a_failure() {
    let report = linearizable!(Gate::default(), { open(), pass() }).run();
    let failure = report
        .failure()
        .expect("the thread that passes is not woken");
    assert!(!failure.message.contains("not linearizable"), "{failure}");
}

#[test]
fn calls_that_panic_on_one_thread_are_an_error() {
    let report = linearizable!(Mutex::new(0_u32), {
        "halve" => |number| {
            let mut number = number.lock().unwrap();
            assert!(*number > 0, "there is nothing to halve");
            *number /= 2;
        },
    })
    .run();
    assert_eq!(
        report.unusable.as_deref(),
        Some("`halve` panics on one thread after 0 other calls: there is nothing to halve")
    );
    assert!(report.failure().is_none() && !report.exhausted());
}

#[test]
fn blocks_of_several_calls_are_judged_as_one() {
    let transfer = |accounts: &[Mutex<i32>; 2]| {
        *accounts[0].lock().unwrap() -= 1;
        *accounts[1].lock().unwrap() += 1;
    };
    let sum =
        |accounts: &[Mutex<i32>; 2]| *accounts[0].lock().unwrap() + *accounts[1].lock().unwrap();
    let report =
        linearizable!([Mutex::new(5), Mutex::new(5)], { "transfer" => transfer, "sum" => sum })
            .run();
    let message = &report
        .failure()
        .expect("the sum is seen in between")
        .message;
    assert!(
        message.contains("sum = 9") && message.contains("sum = 10 (not 9)"),
        "{message}"
    );
}

#[test]
fn weak_compare_exchange_may_fail_on_one_thread_too() {
    struct Slot(AtomicU32);
    impl Slot {
        fn fill(&self) -> bool {
            self.0.compare_exchange_weak(0, 1, AcqRel, Relaxed).is_ok()
        }
        fn clear(&self) -> u32 {
            self.0.swap(0, AcqRel)
        }
    }
    let report = linearizable!(Slot(AtomicU32::new(0)), { fill(), clear() }).run();
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
    assert!(report.exhausted());
}

#[test]
fn unusable_sizes_and_checks_inside_checks_are_refused() {
    let message = |run: fn()| {
        let payload = std::panic::catch_unwind(run).expect_err("it is refused");
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap()
    };
    let none = message(|| _ = set::<true>().threads(1).run());
    assert!(
        none.contains("two threads and a call for each of them"),
        "{none}"
    );
    let large = message(|| _ = set::<true>().calls_per_thread(5).run());
    assert!(
        large.contains("sequences of calls, and the limit is 20000"),
        "{large}"
    );
}

/// The set of the book.
#[derive(Default)]
struct SetOfTheBook(Mutex<BTreeSet<u32>>);

impl SetOfTheBook {
    fn insert(&self, value: u32) -> bool {
        let is_new = !self.0.lock().unwrap().contains(&value);
        self.0.lock().unwrap().insert(value);
        is_new
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

#[test]
fn the_book_shows_what_is_printed() {
    let page = include_str!("../../docs/src/linearizability.md");
    let broken = linearizable!(SetOfTheBook::default(), { insert(1), insert(2) } finally { len() });
    let broken = broken.run();
    let failure = broken.failure().expect("both threads insert the value");
    let lines = failure.message.lines();
    for line in lines.filter(|line| !line.starts_with("main panicked at ")) {
        assert!(page.contains(line.trim()), "the page has no line `{line}`");
    }
    let correct = linearizable!(Set::<true>::default(), { insert(1), insert(2) } finally { len() });
    let correct = correct.run();
    for (number, report) in correct.reports.iter().enumerate() {
        let classes = report.classes();
        let check = if number == 0 {
            String::new()
        } else {
            format!(", check {}", number + 1)
        };
        let line = format!("raddle: set{check}: every behaviour was run: {classes} classes in ");
        assert!(page.contains(&line), "the page has no line `{line}`");
    }
    assert!(
        page.contains(&format!("raddle: {correct}\n")),
        "the page has no line `{correct}`"
    );
}
