//! Effects of steps, for programs that read traces.

use raddle_engine::object::effect::{self, Mode};
use raddle_engine::{Event, Operation};
use serde::{Deserialize, Serialize};

/// Effect of a step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Effect {
    /// Creates a thread, given as an index into the threads of the trace.
    Fork(usize),
    /// Joins a thread, given as an index into the threads of the trace.
    Join(usize),
    /// Acquires a lock exclusively.
    Acquire,
    /// Acquires a lock shared with other readers.
    AcquireShared,
    /// Releases a lock.
    Release,
    /// Turns exclusive ownership of a lock into shared ownership.
    Downgrade,
    /// Reads an atomic.
    Read,
    /// Writes an atomic.
    Write,
    /// Reads a cell.
    ReadCell,
    /// Writes a cell.
    WriteCell,
    /// Reads and writes an atomic in one step.
    Update,
    /// Uses another object that orders threads, such as a channel.
    Use,
    /// Has no effect that another thread can observe.
    Other,
}

impl Effect {
    pub(crate) fn of(event: &Event) -> Self {
        if let Some((_, effect)) = event.lock_effect() {
            return match effect {
                effect::Effect::Take {
                    mode: Mode::Read, ..
                } => Effect::AcquireShared,
                effect::Effect::Take { .. } => Effect::Acquire,
                effect::Effect::Release => Effect::Release,
                effect::Effect::Downgrade => Effect::Downgrade,
            };
        }
        match event.operation {
            Operation::Spawn => Effect::Fork(event.reply.to_thread().index()),
            Operation::Join { target } => Effect::Join(target.index()),
            Operation::Load { .. } => Effect::Read,
            Operation::Store { .. } => Effect::Write,
            Operation::Update { .. } if event.writes() => Effect::Update,
            Operation::Update { .. } => Effect::Read,
            operation if operation.object().is_some() => Effect::Use,
            _ => Effect::Other,
        }
    }
}
