//! Functions that the program has registered for its end: `atexit`, `on_exit`, `at_quick_exit`, destructors of
//! static objects, and of thread-local objects of the first thread.
//!
//! They run in the thread that ends the program, as part of the execution, while the other threads are there.
//! Each execution has its own list, after those that were registered before the check began. Of the latter only
//! functions of the program itself are run: the system's libraries have nothing to tidy up in an execution,
//! because their memory is restored.

use std::ffi::{c_int, c_void};

use crate::abi::real::forward;
use crate::execution::part::{Part, PartCell};
use crate::execution::shadow_stack;
use crate::host::lock::Lock;
use crate::host::{mode, phase};
use crate::threads::guests::{self, ThreadEnd};
use crate::threads::unwind;

/// A function that is called when the program ends.
#[derive(Clone, Copy)]
struct Handler {
    function: usize,
    argument: usize,
    /// True if it takes the exit status before its argument.
    takes_status: bool,
    /// The module that has registered it, by the address of its `__dso_handle`.
    module: usize,
}

/// Registered functions, in the order of their registrations.
#[derive(Default)]
struct Handlers {
    at_exit: Vec<Handler>,
    at_quick_exit: Vec<Handler>,
    /// Destructors of thread-local objects of the first thread.
    of_first_thread: Vec<Handler>,
}

/// Selects the handlers for a way to end.
type Select = fn(&mut Handlers) -> &mut Vec<Handler>;

/// Handlers that were registered before the check began.
static BEFORE: Lock<Handlers> = Lock::new(Handlers {
    at_exit: Vec::new(),
    at_quick_exit: Vec::new(),
    of_first_thread: Vec::new(),
});

/// Handlers of the execution that have not been called.
pub(crate) struct ExitHandlers(Handlers);

impl Default for ExitHandlers {
    fn default() -> Self {
        let mut handlers = ExitHandlers(Handlers::default());
        handlers.renew();
        handlers
    }
}

impl Part for ExitHandlers {
    fn renew(&mut self) {
        let lists: [Select; 3] = [
            |handlers| &mut handlers.at_exit,
            |handlers| &mut handlers.at_quick_exit,
            |handlers| &mut handlers.of_first_thread,
        ];
        let of_program = |handler: &&Handler| shadow_stack::is_own(handler.function);
        for select in lists {
            let list = select(&mut self.0);
            list.clear();
            // The `main` of a test's harness does not end in an execution.
            if !phase::is_test() {
                BEFORE.with(|before| list.extend(select(before).iter().filter(of_program)));
            }
        }
    }
}

pub(crate) static EXIT_HANDLERS: PartCell<ExitHandlers> = PartCell::new();

/// Registers a handler; returns false if it is not the program's, or must be registered with the C library as
/// well.
fn register(handler: Handler, select: Select) -> bool {
    if shadow_stack::is_ours(handler.function) {
        return false;
    }
    let is_guest = mode::is_guest();
    match is_guest {
        true => mode::host(|| select(&mut EXIT_HANDLERS.get().0).push(handler)),
        false if phase::is_checking() => {}
        false => BEFORE.with(|before| select(before).push(handler)),
    }
    is_guest
}

/// `atexit` comes here, too.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __cxa_atexit(function: usize, argument: usize, module: *mut c_void) -> c_int {
    let handler = Handler {
        function,
        argument,
        takes_status: false,
        module: module as usize,
    };
    match register(handler, |handlers| &mut handlers.at_exit) {
        true => 0,
        false => {
            forward!(fn __cxa_atexit(function: usize, argument: usize, module: *mut c_void) -> c_int)
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn on_exit(function: usize, argument: usize) -> c_int {
    let handler = Handler {
        function,
        argument,
        takes_status: true,
        module: 0,
    };
    match register(handler, |handlers| &mut handlers.at_exit) {
        true => 0,
        false => forward!(fn on_exit(function: usize, argument: usize) -> c_int),
    }
}

/// `at_quick_exit` comes here.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __cxa_at_quick_exit(function: usize, module: *mut c_void) -> c_int {
    let handler = Handler {
        function,
        argument: 0,
        takes_status: false,
        module: module as usize,
    };
    match register(handler, |handlers| &mut handlers.at_quick_exit) {
        true => 0,
        false => forward!(fn __cxa_at_quick_exit(function: usize, module: *mut c_void) -> c_int),
    }
}

/// The C library keeps destructors of other threads with the storage of these. That of the first thread is
/// shared with raddle.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __cxa_thread_atexit_impl(
    function: usize,
    argument: usize,
    module: *mut c_void,
) -> c_int {
    let handler = Handler {
        function,
        argument,
        takes_status: false,
        module: module as usize,
    };
    let is_first = match mode::is_guest() {
        true => mode::host(is_in_shared_storage),
        false => !phase::is_checking(),
    };
    match is_first && register(handler, |handlers| &mut handlers.of_first_thread) {
        true => 0,
        false => {
            forward!(fn __cxa_thread_atexit_impl(
                function: usize, argument: usize, module: *mut c_void
            ) -> c_int)
        }
    }
}

/// A module is unloaded: calls its handlers, and forgets those for `quick_exit`.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __cxa_finalize(module: *mut c_void) {
    if mode::is_guest() && !module.is_null() {
        mode::host(|| finalise(module as usize));
    }
    forward!(fn __cxa_finalize(module: *mut c_void) -> ());
}

/// In host mode: the running thread calls the handlers of a module, the last one first.
fn finalise(module: usize) {
    let is_its = |handler: &Handler| handler.module == module;
    let next = || {
        let list = &mut EXIT_HANDLERS.get().0.at_exit;
        let last = list.iter().rposition(is_its)?;
        Some(list.remove(last))
    };
    while let Some(handler) = next() {
        unwind::run_between(handler.function, handler.argument);
    }
    let mut handlers = EXIT_HANDLERS.get();
    handlers.0.at_quick_exit.retain(|handler| !is_its(handler));
}

/// True if the running thread has the thread-local storage of the host.
fn is_in_shared_storage() -> bool {
    guests::with_running(|guest| guest.pointer) == mode::host_pointer()
}

/// A call of a handler that takes the exit status.
struct WithStatus {
    function: usize,
    status: c_int,
    argument: usize,
}

/// In guest mode: calls a handler of `on_exit`.
extern "C" fn call_with_status(call: usize) -> usize {
    // SAFETY: the argument is the address of a value that lives until this function returns. The program has
    // registered the function as one that takes these arguments.
    unsafe {
        let call = &*(call as *const WithStatus);
        let function: extern "C" fn(c_int, usize) = std::mem::transmute(call.function);
        function(call.status, call.argument);
    }
    0
}

/// Runs code of the program in the running thread, in host mode.
type Run = fn(usize, usize) -> usize;

/// The running thread calls the handlers, the last one first. A handler may register others. Returns early if
/// the program was ended meanwhile.
fn call_all(select: Select, status: c_int, run: Run) {
    loop {
        if guests::with_running(|guest| guest.end) == ThreadEnd::Everything {
            return;
        }
        let Some(handler) = select(&mut EXIT_HANDLERS.get().0).pop() else {
            return;
        };
        match handler.takes_status {
            false => run(handler.function, handler.argument),
            true => {
                let call = WithStatus {
                    function: handler.function,
                    status,
                    argument: handler.argument,
                };
                let function = call_with_status as extern "C" fn(usize) -> usize as usize;
                run(function, &raw const call as usize)
            }
        };
    }
}

/// In host mode: the running thread ends the program by `exit`, or returns from `main`.
pub(crate) fn exit(status: c_int, run: Run) {
    unsafe extern "C" {
        fn __call_tls_dtors();
    }
    match is_in_shared_storage() {
        true => call_all(|handlers| &mut handlers.of_first_thread, status, run),
        false => {
            run(__call_tls_dtors as unsafe extern "C" fn() as usize, 0);
        }
    }
    call_all(|handlers| &mut handlers.at_exit, status, run);
}

/// The same for `quick_exit`.
pub(super) fn quick_exit(status: c_int, run: Run) {
    call_all(|handlers| &mut handlers.at_quick_exit, status, run);
}

/// In host mode: the first thread leaves `main` without ending the program.
pub(crate) fn leave_first_thread() {
    if is_in_shared_storage() {
        call_all(
            |handlers| &mut handlers.of_first_thread,
            0,
            guests::run_guest,
        );
    }
}
