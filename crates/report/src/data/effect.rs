//! What a step does, for programs that read traces.

use raddle_engine::object::effect::{self, Mode};
use raddle_engine::{Event, Operation};
use serde::{Deserialize, Serialize};

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Effect {
    /// Creates a thread, which is an index into the threads of the trace.
    Fork(usize),
    /// Waits for the end of a thread.
    Join(usize),
    /// Takes a lock alone.
    Acquire,
    /// Takes a lock with others who read.
    AcquireShared,
    /// Gives a lock back.
    Release,
    /// Keeps a lock that it had alone, with others who read.
    Downgrade,
    /// Reads an atomic.
    Read,
    /// Writes one.
    Write,
    /// Reads a cell.
    ReadCell,
    /// Writes one.
    WriteCell,
    /// Reads an atomic and writes it in the same step.
    Update,
    /// Uses something else that orders threads, such as a channel.
    Use,
    /// Does nothing to anything that others see.
    Other,
}

impl Effect {
    pub(crate) fn of(event: &Event) -> Self {
        if let Some((_, effect)) = effect::of(event) {
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
