//! Tests that are run many times: each run finds the state that the first one found, and can end otherwise.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, CStr};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;

/// Which of the orders of three threads it was, from 0 to 5.
fn order() -> usize {
    let next = Arc::new(AtomicUsize::new(0));
    let threads = [(); 3].map(|()| {
        let next = next.clone();
        thread::spawn(move || next.fetch_add(1, SeqCst))
    });
    let [first, second, _] = threads.map(|thread| thread.join().unwrap());
    2 * first + usize::from(second > 0 && (first, second) != (0, 1))
}

unsafe extern "C" {
    fn strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char;
    fn gethostname(to: *mut c_char, size: usize) -> c_int;
    fn uname(to: *mut c_char) -> c_int;
}

const PAGE: usize = 4096;

/// A place on each of some pages, of which one order uses one.
#[repr(align(4096))]
struct Page([u8; PAGE]);

static mut BY_COPIES: [Page; 6] = [const { Page([0; PAGE]) }; 6];
static mut BY_CALLS: [Page; 6] = [const { Page([0; PAGE]) }; 6];
static mut PLAIN: [Page; 6] = [const { Page([0; PAGE]) }; 6];

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(0) };
    static LIST: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Changes state in ways that instrumentation sees, and in ways that it does not see: in the C library, and by the
/// kernel.
#[test]
fn begins_with_nothing_changed() {
    unsafe {
        for page in 0..6 {
            let places = [
                &raw const BY_COPIES[page].0,
                &raw const BY_CALLS[page].0,
                &raw const PLAIN[page].0,
            ];
            for place in places {
                assert_eq!(place.cast::<u8>().read_volatile(), 0, "page {page}");
            }
        }
        assert_eq!((OWN.get(), LIST.take()), (0, Vec::new()));
        let order = order();
        let text: &CStr = c"changed";
        strcpy((&raw mut BY_COPIES[order]).cast(), text.as_ptr());
        match order % 2 {
            0 => assert_eq!(uname((&raw mut BY_CALLS[order]).cast()), 0),
            _ => assert_eq!(gethostname((&raw mut BY_CALLS[order]).cast(), PAGE), 0),
        }
        (&raw mut PLAIN[order]).cast::<u8>().write_volatile(1);
        OWN.set(order + 1);
        LIST.with_borrow_mut(|list| list.push(order));
        assert_ne!((&raw const BY_CALLS[order]).cast::<u8>().read_volatile(), 0);
    }
}

#[test]
fn returns_an_error_at_times() -> Result<(), String> {
    match order() {
        4 => Err("the fifth order".to_owned()),
        _ => Ok(()),
    }
}

#[test]
#[should_panic(expected = "not the fifth order")]
fn panics_in_all_orders_but_one() {
    assert_eq!(order(), 4, "not the fifth order");
}

/// Aborts when it is dropped if it has seen the fifth order.
struct Late(Cell<usize>);

impl Drop for Late {
    fn drop(&mut self) {
        if self.0.get() == 4 {
            std::process::abort();
        }
    }
}

thread_local! {
    static LATE: Late = const { Late(Cell::new(0)) };
}

#[test]
fn aborts_at_times_when_its_variables_are_dropped() {
    LATE.with(|late| late.0.set(order()));
}

#[test]
fn ends_at_times_before_its_threads() {
    let thread = thread::spawn(|| {});
    if order() != 4 {
        thread.join().unwrap();
    }
}
