//! Panics of Rust programs.
//!
//! The message and place of a panic are in the output of the program's own hook to standard error;
//! they are read there, and not printed in every execution. Then the panic becomes an exception,
//! which the unwinder carries up the stack. It calls the frames on the way. Those that catch the
//! exception or have cleanup code set the address at which they continue. The last frame that
//! continued has caught the panic. If that frame is outside of the thread's function, the panic has
//! ended the thread.

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

use raddle_engine::ThreadId;

use super::output;
use crate::abi::real::{forward, real};
use crate::abi::unwinding::preceded;
use crate::engine::Manner;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::mode;
use crate::names::symbols;

/// Class of Rust's exceptions.
const RUST: u64 = u64::from_ne_bytes(*b"MOZ\0RUST");
/// Maximum number of frames from the beginning of a thread that are searched.
const FRAMES: usize = 64;
/// Functions that call those of threads and tests. A panic caught there has ended the thread or
/// test.
const BEGIN: &str = "__rust_begin_short_backtrace";
const BEGIN_OF_TEST: &str = "test::__rust_begin_short_backtrace";
/// Maximum bytes of a thread's output that are kept.
const KEPT: usize = 64 << 10;
/// Start of the hook's output, in newer versions after an empty line.
const BEGINS: &[u8] = b"thread '";
/// The text before the place of a panic.
const PANICKED: &str = " panicked at ";

/// A panic that has begun.
struct Begun {
    /// The exception's address.
    exception: usize,
    message: String,
    place: Option<String>,
    /// Number of events at that time.
    after: usize,
    /// The frame in which the function of the thread, or the test, begins.
    bottom: usize,
    /// The thread that has joined the panicked one, and so handles the panic.
    joined_by: Option<ThreadId>,
}

/// State of a thread.
#[derive(Default)]
struct Thread {
    /// Output to standard error since its last panic; while it panics, the output of the hook.
    printed: Vec<u8>,
    /// True while std's hook prints.
    is_panicking: bool,
    panics: Vec<Begun>,
    /// Last frame that continued with an exception, and that exception.
    landed: (usize, usize),
}

/// The panics of the execution.
#[derive(Default)]
pub(crate) struct Panics {
    /// State of each thread, by its number.
    threads: Vec<Thread>,
    /// True if the test was expected to panic, so that no panic of the execution is a failure.
    are_forgiven: bool,
}

impl Part for Panics {
    fn renew(&mut self) {
        let Panics {
            threads,
            are_forgiven,
        } = self;
        threads.clear();
        *are_forgiven = false;
    }
}

pub(crate) static PANICS: PartCell<Panics> = PartCell::new();

/// At the beginning of a check: triggers the one-time initialisation of the unwinder.
pub(crate) fn prepare() {
    unsafe extern "C" fn look(_: *mut c_void, _: *mut c_void) -> c_int {
        0
    }
    // SAFETY: the unwinder calls a function of this type, which ignores its second argument.
    unsafe { _Unwind_Backtrace(look, std::ptr::null_mut()) };
}

/// True if code is the unwinder's, which is not modelled.
pub(crate) fn is_unwinders(code: usize) -> bool {
    static WHERE: OnceLock<Option<usize>> = OnceLock::new();
    let own = WHERE.get_or_init(|| {
        let function = real!(fn _Unwind_RaiseException(*mut c_void) -> c_int);
        symbols::base(function as *const () as usize)
    });
    own.is_some() && symbols::base(code) == *own
}

fn with<R>(thread: ThreadId, use_it: impl FnOnce(&mut Thread) -> R) -> R {
    let threads = &mut PANICS.get().threads;
    while threads.len() <= thread.index() {
        threads.push(Thread::default());
    }
    use_it(&mut threads[thread.index()])
}

/// In host mode: records output of the running guest to standard error. Returns true if it is that
/// of a panic.
pub(crate) fn prints(bytes: &[u8]) -> bool {
    let line = bytes.strip_prefix(b"\n").unwrap_or(bytes);
    with(running().thread(), |thread| {
        if line.starts_with(BEGINS) && !thread.is_panicking {
            thread.is_panicking = true;
            thread.printed.clear();
        }
        thread.printed.extend(bytes);
        // For a panic the first bytes are kept, otherwise the last.
        match thread.is_panicking {
            true => thread.printed.truncate(KEPT),
            false => {
                let old = thread.printed.len().saturating_sub(KEPT);
                thread.printed.drain(..old);
            }
        }
        thread.is_panicking
    })
}

/// Returns the message and the place in the output of the hook.
fn read(printed: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(printed);
    let (_, text) = text.split_once(PANICKED)?;
    let (place, message) = text.split_once(":\n")?;
    let ends = ["\nnote: run with `RUST_BACKTRACE", "\nstack backtrace:\n"];
    let end = ends.iter().filter_map(|end| message.find(end)).min();
    let message = &message[..end.unwrap_or(message.len())];
    Some((message.trim_end_matches('\n').to_owned(), place.to_owned()))
}

/// In guest mode: records that an exception begins.
extern "C" fn raise(exception: *mut c_void) {
    // SAFETY: the C++ ABI lets every exception begin with its class, a number of 8 bytes.
    if unsafe { exception.cast::<u64>().read() } != RUST {
        return;
    }
    let mut frames = Frames {
        list: [(0, 0); FRAMES],
        count: 0,
    };
    // SAFETY: the unwinder calls a function of this type with a list that outlives the call.
    unsafe { _Unwind_Backtrace(Frames::add, (&raw mut frames).cast()) };
    mode::host(|| {
        let native = running();
        let bottom = frames.bottom();
        with(native.thread(), |thread| {
            let is_told = std::mem::take(&mut thread.is_panicking);
            let said = is_told.then(|| read(&thread.printed)).flatten();
            thread.printed.clear();
            let now = native.count_events();
            let (message, place, after) = match (said, thread.panics.last()) {
                (Some((message, place)), _) => (message, Some(place), now),
                // The hook prints nothing when a caught panic is resumed.
                (None, Some(last)) => (last.message.clone(), last.place.clone(), last.after),
                (None, None) => ("(a panic without a text)".to_owned(), None, now),
            };
            thread.panics.push(Begun {
                exception: exception as usize,
                message,
                place,
                after,
                bottom,
                joined_by: None,
            });
        });
        join_scoped(native.thread());
    });
}

/// In host mode: returns the message and the place of the panic by which the running thread calls
/// `abort`. In that case the hook has printed, and no exception began.
pub(crate) fn aborts() -> Option<(String, String)> {
    /// Messages of panics which only state that another panic cannot continue.
    const CANNOT_UNWIND: [&str; 2] = [
        "panic in a function that cannot unwind",
        "panic in a destructor during cleanup",
    ];
    let ends = "the program aborts, because the panic cannot unwind";
    with(running().thread(), |thread| {
        let said = thread.is_panicking.then(|| read(&thread.printed)).flatten();
        let (message, place) = said?;
        // Output after the message of the hook is about the abort.
        let message = message.split("\nthread ").next().unwrap_or_default();
        let is_about_another = CANNOT_UNWIND.iter().any(|text| message.starts_with(text));
        match thread.panics.last() {
            Some(Begun {
                message: first,
                place: Some(place),
                ..
            }) if is_about_another => Some((format!("{first}\n{ends}"), place.clone())),
            _ => Some((format!("{message}\n{ends}"), place)),
        }
    })
}

/// Records the running thread as the joiner of threads of its scope, if it panics because they did.
fn join_scoped(joiner: ThreadId) {
    const SCOPED: &str = "a scoped thread panicked";
    let threads = &mut PANICS.get().threads;
    let last = threads[joiner.index()].panics.last();
    if last.is_none_or(|panic| panic.message != SCOPED) {
        return;
    }
    for (index, thread) in threads.iter_mut().enumerate() {
        let thread_id = ThreadId::new(index);
        if thread_id != joiner {
            running().join_panic(thread_id);
            let untaken = thread.panics.iter_mut();
            untaken.for_each(|panic| panic.joined_by = panic.joined_by.or(Some(joiner)));
        }
    }
}

/// The last frames that the unwinder has reached: stack address of each, and an instruction in it.
struct Frames {
    list: [(usize, usize); FRAMES],
    count: usize,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        look: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

impl Frames {
    unsafe extern "C" fn add(context: *mut c_void, to: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes a context that is valid during this call, and the list that
        // `_Unwind_Backtrace` was called with, which nothing else refers to meanwhile.
        let (frames, frame) = unsafe {
            let frame = (_Unwind_GetCFA(context), _Unwind_GetIP(context));
            (&mut *to.cast::<Frames>(), frame)
        };
        frames.list[frames.count % FRAMES] = frame;
        frames.count += 1;
        0
    }

    /// Returns the frame of the thread's function, or of the test's; the end of memory if unknown.
    fn bottom(&self) -> usize {
        let used = &self.list[..self.count.min(FRAMES)];
        let found = used
            .iter()
            .filter_map(|&(frame, code)| Some((calls_of_test(code)?, frame)));
        // The frame of a test is inside of that of its thread.
        found.max().map_or(usize::MAX, |(_, frame)| frame)
    }
}

/// True if the function that this return address is in calls tests, false if it calls functions of threads.
fn calls_of_test(code: usize) -> Option<bool> {
    static BEGINNINGS: OnceLock<Vec<(Range<usize>, bool)>> = OnceLock::new();
    let beginnings = BEGINNINGS.get_or_init(|| {
        let functions = symbols::functions(BEGIN).into_iter();
        functions
            .map(|(range, name)| (range, name.starts_with(BEGIN_OF_TEST)))
            .collect()
    });
    let mut beginnings = beginnings.iter();
    let found = beginnings.find(|(range, _)| range.contains(&code.wrapping_sub(1)));
    found.map(|&(_, is_test)| is_test)
}

/// In guest mode: true if the call that returns to this address is libtest's of a test.
pub(crate) fn is_call_of_test(code: usize) -> bool {
    mode::host(|| calls_of_test(code) == Some(true))
}

/// In guest mode: true if a panic has begun in the running thread.
pub(crate) fn has_begun() -> bool {
    let threads = &PANICS.get().threads;
    let thread = threads.get(running().thread().index());
    thread.is_some_and(|thread| !thread.panics.is_empty())
}

preceded! {
    // The unwinder must begin at the caller's frame, so it is jumped to.
    fn _Unwind_RaiseException(exception: *mut c_void) -> c_int => raise;
}

/// Prepares the registers of a frame that continues. The first of those that receive the exception
/// is `rax`.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize) {
    const RAX: c_int = 0;
    if register == RAX && mode::is_guest() {
        // SAFETY: the caller passes a context that is valid during this call, because it calls
        // `_Unwind_SetGR`.
        let frame = unsafe { _Unwind_GetCFA(context) };
        mode::host(|| with(running().thread(), |thread| thread.landed = (frame, value)));
    }
    forward!(fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize) -> ())
}

/// In host mode: records the panic that has ended the running thread, if one has.
pub(crate) fn finish() {
    let native = running();
    let ended = with(native.thread(), |thread| {
        let (frame, exception) = std::mem::take(&mut thread.landed);
        let mut panics = std::mem::take(&mut thread.panics).into_iter();
        panics.find(|panic| panic.exception == exception && frame > panic.bottom)
    });
    if let Some(panic) = ended
        && !PANICS.get().are_forgiven
    {
        let Begun { message, place, .. } = panic;
        native.add_panic(message, place, panic.after, panic.joined_by);
    }
}

/// Judges a test that has ended, in its own thread, by the status of its harness.
pub(crate) fn judge(status: c_int) {
    let native = running();
    if status == 0 {
        // The test was expected to panic, and all panics are part of that.
        if native.has_panicked() {
            native.forgive_panics();
            PANICS.get().are_forgiven = true;
        }
        return;
    }
    if native.has_unhandled_panic() {
        return;
    }
    let printed = with(native.thread(), |thread| {
        std::mem::take(&mut thread.printed)
    });
    let message = reason(
        &String::from_utf8_lossy(&printed),
        &output::harness_output(),
    );
    native.fail(Manner::Assertion, message, None);
}

/// Returns the reason why a test failed without a panic: the error that it returned, or the note of
/// its harness.
fn reason(printed: &str, said: &str) -> String {
    let error = printed.lines().rfind(|line| line.starts_with("Error: "));
    let note = said.lines().find_map(|line| line.strip_prefix("note: "));
    match (error, note) {
        (Some(error), _) => format!("the test returned an error\n{error}"),
        (None, Some(note)) => note.to_owned(),
        (None, None) => "the test failed".to_owned(),
    }
}
