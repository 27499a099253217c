//! Functions that the program has registered for its end: `atexit`, `on_exit`, `at_quick_exit`, destructors of
//! static objects, and of thread-local objects of the first thread. After them come the [functions that the
//! loader calls](super::destructors).
//!
//! They run in the thread that ends the program, as part of the execution, while the other threads
//! still run. Each execution has its own list, after the handlers that were registered before the
//! check began. Of the latter only functions of the program itself run: the system's libraries have
//! nothing to clean up in an execution, because their memory is restored.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::destructors::{self, Module};
use crate::abi::guest;
use crate::abi::real::forward;
use crate::execution::part::{Part, PartCell};
use crate::execution::shadow_stack;
use crate::host::lock::Lock;
use crate::host::{loaded, mode, phase};
use crate::threads::guests::{self, ThreadEnd};
use crate::threads::unwind;

/// A function that is called when the program ends.
#[derive(Clone, Copy)]
pub(super) struct Handler {
    function: usize,
    argument: usize,
    /// True if it takes the exit status before its argument.
    takes_status: bool,
    /// The module that has registered it, by the address of its `__dso_handle`; where the module was loaded, for
    /// a destructor.
    module: usize,
    /// Part of the end of the program that it belongs to.
    order: Order,
}

/// Parts of the end of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Handlers, the last one first.
    Registered,
    /// Handlers that were registered while libraries were loaded. They belong to the unloading of these.
    WhileLoading,
    /// Functions that the loader calls.
    Destructor,
}

impl Handler {
    /// A function that the loader calls when it unloads the module that was loaded there.
    pub(super) fn destructor(function: usize, module: usize) -> Self {
        Handler {
            function,
            argument: 0,
            takes_status: false,
            module,
            order: Order::Destructor,
        }
    }
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
pub(crate) struct ExitHandlers {
    handlers: Handlers,
    /// Where the modules were loaded whose destructors are among the handlers.
    modules: Vec<usize>,
    /// True if a destructor was called.
    is_unloading: bool,
}

impl Default for ExitHandlers {
    fn default() -> Self {
        let mut handlers = ExitHandlers {
            handlers: Handlers::default(),
            modules: Vec::new(),
            is_unloading: false,
        };
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
        self.modules.clear();
        self.is_unloading = false;
        for select in lists {
            let list = select(&mut self.handlers);
            list.clear();
            // The `main` of a test's harness does not end in an execution.
            if !phase::is_test() {
                BEFORE.with(|before| list.extend(select(before).iter().filter(of_program)));
            }
        }
        if !phase::is_test() {
            self.add_destructors();
        }
    }
}

impl ExitHandlers {
    /// The program ends. A library may have been loaded meanwhile. If a destructor ends the program once more, the
    /// loader does not call the others.
    fn begin_exit(&mut self) {
        match self.is_unloading {
            false => self.add_destructors(),
            true => {
                let list = &mut self.handlers.at_exit;
                list.retain(|handler| handler.order != Order::Destructor);
            }
        }
    }

    /// Adds the destructors of modules that are loaded and were not before. They are called after the handlers,
    /// and each module's before the handlers that were registered while it was loaded.
    fn add_destructors(&mut self) {
        let ExitHandlers {
            handlers, modules, ..
        } = self;
        let list = &mut handlers.at_exit;
        destructors::with(|found| {
            let is_new = |module: &&Module| !modules.iter().any(|&base| module.is_at(base));
            let new: Vec<&Module> = found.iter().filter(is_new).collect();
            if new.is_empty() {
                return;
            }
            let is_first = modules.is_empty();
            // The last to be called come first.
            let mut last = Vec::new();
            for module in new.into_iter().rev() {
                if is_first {
                    let is_its = |handler: &&Handler| {
                        handler.order == Order::WhileLoading && module.contains(handler.module)
                    };
                    last.extend(list.iter().filter(is_its).copied());
                }
                last.extend(module.handlers().rev());
                modules.push(module.base());
            }
            if is_first {
                let is_added = |handler: &Handler| {
                    let mut modules = found.iter();
                    handler.order == Order::WhileLoading
                        && modules.any(|module| module.contains(handler.module))
                };
                list.retain(|handler| !is_added(handler));
            }
            list.splice(0..0, last);
        });
    }
}

/// True once the libraries that the program begins with are loaded.
static ARE_LOADED: AtomicBool = AtomicBool::new(false);

/// The program begins: its libraries are loaded.
pub(crate) fn libraries_are_loaded() {
    ARE_LOADED.store(true, Relaxed);
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
        true => mode::host(|| select(&mut EXIT_HANDLERS.get().handlers).push(handler)),
        false if phase::is_checking() => {}
        false => BEFORE.with(|before| {
            let order = match ARE_LOADED.load(Relaxed) {
                true => Order::Registered,
                false => Order::WhileLoading,
            };
            select(before).push(Handler { order, ..handler });
        }),
    }
    is_guest
}

/// Registers a handler; `atexit` calls this, too.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __cxa_atexit(function: usize, argument: usize, module: *mut c_void) -> c_int {
    let handler = Handler {
        function,
        argument,
        takes_status: false,
        module: module as usize,
        order: Order::Registered,
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
        order: Order::Registered,
    };
    match register(handler, |handlers| &mut handlers.at_exit) {
        true => 0,
        false => forward!(fn on_exit(function: usize, argument: usize) -> c_int),
    }
}

/// Registers a handler for `quick_exit`; `at_quick_exit` calls this.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __cxa_at_quick_exit(function: usize, module: *mut c_void) -> c_int {
    let handler = Handler {
        function,
        argument: 0,
        takes_status: false,
        module: module as usize,
        order: Order::Registered,
    };
    match register(handler, |handlers| &mut handlers.at_quick_exit) {
        true => 0,
        false => forward!(fn __cxa_at_quick_exit(function: usize, module: *mut c_void) -> c_int),
    }
}

/// Registers a destructor of a thread-local object. The C library keeps those of other threads in
/// their thread-local storage; that of the first thread is shared with raddle.
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
        order: Order::Registered,
    };
    let is_first = match mode::is_guest() {
        true => guest::thread_pointer() == mode::host_pointer(),
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

/// Calls the handlers of a module that is unloaded, and removes those for `quick_exit`.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __cxa_finalize(module: *mut c_void) {
    if mode::is_guest() && !module.is_null() {
        mode::host(|| finalise(module as usize));
        // The C library has handlers of such a module as well, from before the check.
        if loaded::any(|it| it.is_users() && it.contains(module as usize)) {
            return;
        }
    }
    forward!(fn __cxa_finalize(module: *mut c_void) -> ());
}

/// In host mode: calls the handlers of a module in the running thread, the last one first.
fn finalise(module: usize) {
    let is_its = |handler: &Handler| handler.module == module;
    let next = || {
        let list = &mut EXIT_HANDLERS.get().handlers.at_exit;
        let last = list.iter().rposition(is_its)?;
        Some(list.remove(last))
    };
    while let Some(handler) = next() {
        unwind::run_between(handler.function, handler.argument);
    }
    let handlers = &mut EXIT_HANDLERS.get().handlers;
    handlers.at_quick_exit.retain(|handler| !is_its(handler));
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

/// Function that runs code of the program in the running thread, in host mode.
type Run = fn(usize, usize) -> usize;

/// Calls the handlers in the running thread, the last one first. A handler may register others.
/// Returns early if the program was ended meanwhile.
fn call_all(select: Select, status: c_int, run: Run) {
    loop {
        if guests::with_running(|guest| guest.end) == ThreadEnd::Everything {
            return;
        }
        let Some(handler) = select(&mut EXIT_HANDLERS.get().handlers).pop() else {
            return;
        };
        if handler.order == Order::Destructor {
            EXIT_HANDLERS.get().is_unloading = true;
            // The loader has called those of libraries that were unloaded.
            if !loaded::any(|module| module.base() == handler.module) {
                continue;
            }
        }
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

/// In host mode: calls the handlers of `exit`, by which the running thread ends the program, or
/// returns from `main`.
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
    EXIT_HANDLERS.get().begin_exit();
    call_all(|handlers| &mut handlers.at_exit, status, run);
}

/// In host mode: calls the handlers of `quick_exit`.
pub(super) fn quick_exit(status: c_int, run: Run) {
    call_all(|handlers| &mut handlers.at_quick_exit, status, run);
}

/// In host mode: calls the destructors of the first thread, which leaves `main` without ending the
/// program.
pub(crate) fn leave_first_thread() {
    if is_in_shared_storage() {
        call_all(
            |handlers| &mut handlers.of_first_thread,
            0,
            guests::run_guest,
        );
    }
}
