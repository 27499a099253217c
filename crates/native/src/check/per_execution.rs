//! All state of one execution, in one value.

use std::cell::RefCell;
use std::sync::OnceLock;

use crate::execution::part::Part;
use crate::io::opened;
use crate::memory::{locations, objects, relevance, shadow, stacks, thread_heaps, unwritten};
use crate::openmp::team;
use crate::process::{children, exit_handlers, output, random, rust_panics};
use crate::pthread::{cancel, keys, mutex, object_life};
use crate::rust::sync::{barrier, mutex as rust_mutex, parker};
use crate::rust::{arc_counts, channels, std_atomics, threads};
use crate::threads::signals::{self, alarms};
use crate::threads::{guests, heap_use, queues, requests, unwind, unwritten_reads};

/// Defines the value: its fields, and the cells through which their modules access them.
macro_rules! per_execution {
    ($($field:ident: $type:ty => $cell:path;)*) => {
        /// State of the running execution.
        #[derive(Default)]
        struct PerExecution {
            $($field: RefCell<$type>,)*
        }

        impl PerExecution {
            fn install(&'static self) {
                $($cell.install(&self.$field);)*
            }

            fn renew(&self) {
                $(self.$field.borrow_mut().renew();)*
            }
        }
    };
}

per_execution! {
    objects: objects::Objects => objects::OBJECTS;
    block_uses: heap_use::BlockUses => heap_use::BLOCK_USES;
    locations: locations::Locations => locations::LOCATIONS;
    shadow: shadow::Shadow => shadow::SHADOW;
    last_writes: relevance::LastWrites => relevance::LAST_WRITES;
    written: unwritten::Written => unwritten::WRITTEN;
    unwritten_reads: unwritten_reads::UnwrittenReads => unwritten_reads::UNWRITTEN_READS;
    thread_heaps: thread_heaps::ThreadHeaps => thread_heaps::THREAD_HEAPS;
    queues: queues::Queues => queues::QUEUES;
    requests: requests::Requests => requests::REQUESTS;
    signals: signals::Signals => signals::SIGNALS;
    alarms: alarms::Alarms => alarms::ALARMS;
    unwinding: unwind::Unwinding => unwind::UNWINDING;
    stacks: stacks::Stacks => stacks::STACKS;
    guests: guests::Guests => guests::GUESTS;
    random_numbers: random::RandomNumbers => random::RANDOM_NUMBERS;
    descriptors: opened::Descriptors => opened::DESCRIPTORS;
    exit_handlers: exit_handlers::ExitHandlers => exit_handlers::EXIT_HANDLERS;
    children: children::Children => children::CHILDREN;
    harness_output: output::HarnessOutput => output::HARNESS_OUTPUT;
    panics: rust_panics::Panics => rust_panics::PANICS;
    object_lives: object_life::ObjectLives => object_life::OBJECT_LIVES;
    robust_mutexes: mutex::RobustMutexes => mutex::ROBUST_MUTEXES;
    keys: keys::Keys => keys::KEYS;
    asynchronous: cancel::Asynchronous => cancel::ASYNCHRONOUS;
    teams: team::Teams => team::TEAMS;
    std_atomics: std_atomics::StdAtomics => std_atomics::STD_ATOMICS;
    arc_counts: arc_counts::ArcCounts => arc_counts::COUNTS;
    channels: channels::Channels => channels::CHANNELS;
    threads: threads::Threads => threads::THREADS;
    last_meetings: barrier::LastWaits => barrier::LAST;
    park_owners: parker::Owners => parker::OWNERS;
    poisons: rust_mutex::Poisons => rust_mutex::POISONS;
}

struct Installed(PerExecution);

// SAFETY: `Send` and `Sync` need exclusion: only the OS thread that runs the check accesses the
// value.
unsafe impl Send for Installed {}
// SAFETY: as for `Send`.
unsafe impl Sync for Installed {}

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// Resets all state at the beginning of an execution.
pub(super) fn begin() {
    match INSTALLED.get() {
        Some(Installed(state)) => state.renew(),
        None => {
            let Installed(state) = INSTALLED.get_or_init(|| Installed(PerExecution::default()));
            state.install();
        }
    }
}

/// Closes and ends all that the program has opened and started, at the end of a check.
pub(super) fn end() {
    if let Some(Installed(state)) = INSTALLED.get() {
        state.descriptors.take();
        state.children.take();
    }
}
