//! OpenMP, as gcc and clang compile it.
//!
//! Both turn directives into calls of a runtime library: `GOMP_` for gcc's libgomp, `__kmpc_` for clang's
//! libomp, `omp_` for both. Those libraries keep pools of threads that wait by system calls of their own, and
//! synchronise in code that is not instrumented. So guests get a small runtime made of raddle's own
//! objects. The threads of a team are spawned and joined with their region, barriers and critical
//! sections are objects of the engine, and each task is a thread. Code that is not controlled gets
//! the library.
//!
//! The state here is shared by guests but not part of the search, so it must not make guests depend
//! on the schedule. So each decision by order of arrival is an operation.

mod api;
mod clang;
mod clang_tasks;
mod gcc;
mod tasks;
pub(crate) mod team;
mod unsupported;
mod work;

use crate::abi::trampoline::replace as runtime;
use crate::execution::shadow_stack::caller_site as caller;
