//! Events of `tracing`, with the feature of that name: the creation of tasks, accesses to the state of an execution, and
//! the end of a test. They have the targets and fields of shuttle's.

#[cfg(feature = "tracing")]
pub(crate) use emitted::{accessed, created, finished};

#[cfg(feature = "tracing")]
mod emitted {
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::panic::Location;

    use raddle_check::runtime;
    use tracing::{Level, event};

    use super::super::{TaskId, with_state};

    /// Reports a new task, which was created at this place.
    pub(crate) fn created(task: TaskId, place: &'static Location<'static>) {
        if !tracing::enabled!(target: "shuttle_engine::runtime::task", Level::DEBUG) {
            return;
        }
        let Some(context) = runtime::current() else {
            return;
        };
        let thread = raddle::scheduler::ThreadId::new(task.into());
        let path = context.with_world(|world| world.state().execution().path(thread));
        let mut hasher = DefaultHasher::new();
        place.hash(&mut hasher);
        let location = hasher.finish();
        // The path of a task does not depend on the schedule.
        path.to_string().hash(&mut hasher);
        event!(
            target: "shuttle_engine::runtime::task",
            Level::DEBUG,
            task_id = ?task,
            signature = hasher.finish(),
            static_create_location = location,
            "created task"
        );
    }

    /// Reports an access to the state of the execution. A subscriber may access it again, which is not reported.
    pub(crate) fn accessed(place: &'static Location<'static>) {
        if !tracing::level_enabled!(Level::TRACE) {
            return;
        }
        if with_state(|state| std::mem::replace(&mut state.is_reported, true)) {
            return;
        }
        event!(
            target: "shuttle_engine::runtime::execution",
            Level::TRACE,
            "ExecutionState::try_with called from {place:?}"
        );
        with_state(|state| state.is_reported = false);
    }

    /// Reports the end of a test after this many executions.
    pub(crate) fn finished(executions: usize) {
        event!(
            target: "shuttle_engine::scheduler::metrics",
            Level::INFO,
            iterations = executions,
            "run finished"
        );
    }
}

#[cfg(not(feature = "tracing"))]
mod silent {
    use std::panic::Location;

    use super::super::TaskId;

    pub(crate) fn created(_task: TaskId, _place: &'static Location<'static>) {}

    pub(crate) fn accessed(_place: &'static Location<'static>) {}

    pub(crate) fn finished(_executions: usize) {}
}

#[cfg(not(feature = "tracing"))]
pub(crate) use silent::{accessed, created, finished};
