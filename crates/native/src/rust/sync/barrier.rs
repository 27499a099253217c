//! Barriers.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use iced_x86::{FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use raddle_engine::object::{self, Object};
use raddle_engine::{ObjectId, Operation};

use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::host::patch;
use crate::memory::objects;

const KIND: &str = "Barrier";

/// Offset of the number of threads in a barrier.
static SIZE_FIELD: AtomicUsize = AtomicUsize::new(0);

/// Name of `is_leader` in debug information.
pub(super) const QUESTION: &str = "BarrierWaitResult9is_leader";

/// Time at which the leader is determined.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Answer {
    /// At each release of the barrier: `is_leader` was inlined somewhere.
    AtOnce,
    /// When `is_leader` is called.
    WhenAsked,
    Never,
}

static ANSWER: AtomicU8 = AtomicU8::new(Answer::AtOnce as u8);

/// Records that the program never queries the leader.
pub(super) fn expect_no_question() {
    ANSWER.store(Answer::Never as u8, Relaxed);
}

/// Records that the program queries the leader by the replaced function.
pub(super) fn wait_for_question() {
    ANSWER.store(Answer::WhenAsked as u8, Relaxed);
}

/// A release of a barrier: the barrier, and the number of releases before.
#[derive(Clone, Copy)]
struct BarrierWait {
    barrier: ObjectId,
    round: u32,
}

/// Last release of each thread, by its number.
#[derive(Default)]
pub(crate) struct LastWaits(Vec<Option<BarrierWait>>);

impl Part for LastWaits {
    fn renew(&mut self) {
        let LastWaits(waits) = self;
        waits.clear();
    }
}

pub(crate) static LAST: PartCell<LastWaits> = PartCell::new();

/// Performs the query of the running thread: true if it is the leader of a release.
fn leads(wait: BarrierWait, code: usize) -> bool {
    let native = running();
    let member = native.thread();
    let BarrierWait { barrier, round } = wait;
    let ask = |_: &mut _| Operation::Leads {
        barrier,
        member,
        round,
    };
    native.perform(code, ask).to_answer()
}

/// Finds the offset of the number of threads: of the words that `Barrier::wait` uses it is the one
/// that it only reads. Returns true if it was found.
pub(super) fn understand(function: usize, size: usize) -> bool {
    let mut written = Vec::new();
    let mut read = Vec::new();
    for instruction in patch::instructions(function, size) {
        let own = [Register::RSP, Register::RBP, Register::RIP, Register::None];
        let is_word = instruction.memory_size().size() == size_of::<usize>();
        if own.contains(&instruction.memory_base()) || !is_word {
            continue;
        }
        let field = instruction.memory_displacement64() as usize;
        let compares = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
        match instruction.op0_kind() == OpKind::Memory && !compares {
            true => written.push(field),
            false => read.push(field),
        }
    }
    read.retain(|field| !written.contains(field));
    read.dedup();
    if let [field] = read[..] {
        SIZE_FIELD.store(field, Relaxed);
        return true;
    }
    false
}

/// Stand-in of `Barrier::wait`: returns true if the thread is the leader, if that is determined
/// now.
pub(super) extern "C-unwind" fn wait(barrier: usize, called: usize) -> bool {
    let code = shadow_stack::users(called);
    let made = super::use_of(barrier, "uses a barrier", code);
    made.inspect(|made| made.begin_as_guest());
    let field = (barrier + SIZE_FIELD.load(Relaxed)) as *const usize;
    // SAFETY: the address is that of a live barrier, because `Barrier::wait` is running; the field was found
    // in its debugging information.
    let size = unsafe { field.read() };
    host(|| {
        let native = running();
        let mut object = None;
        let reply = native.perform(code, |world| {
            let initial = || Object::Barrier(object::barrier::Barrier::new(size));
            let barrier = objects::object(world, barrier, KIND, initial);
            object = Some(barrier);
            Operation::Meet { barrier }
        });
        // Threads of the group that have left may have freed it by now.
        made.inspect(|made| made.record());
        let round = reply.to_value() as u32;
        let wait = object.map(|barrier| BarrierWait { barrier, round });
        let member = native.thread().index();
        let mut last = LAST.get();
        if last.0.len() <= member {
            last.0.resize(member + 1, None);
        }
        last.0[member] = wait;
        drop(last);
        let is_wanted = ANSWER.load(Relaxed) == Answer::AtOnce as u8 && is_used(called);
        is_wanted && wait.is_some_and(|wait| leads(wait, code))
    })
}

/// Number of instructions after a call that are inspected.
const LOOK_AT: usize = 16;
/// Maximum size of an instruction, in bytes.
const LONGEST: usize = 15;

/// True if the caller may use the result of the call with this return address.
fn is_used(code: usize) -> bool {
    let mut info = InstructionInfoFactory::new();
    for instruction in patch::instructions(code, LOOK_AT * LONGEST) {
        let used = info.info(&instruction).used_registers();
        let mut results = used
            .iter()
            .filter(|it| it.register().full_register() == Register::RAX);
        let is_lost = instruction.flow_control() == FlowControl::Call
            || instruction.flow_control() == FlowControl::IndirectCall;
        match results.next() {
            Some(result) if result.access() == OpAccess::Write => return false,
            Some(_) => return true,
            None if is_lost => return false,
            None if instruction.flow_control() != FlowControl::Next => return true,
            None => {}
        }
    }
    true
}

/// Stand-in of `BarrierWaitResult::is_leader`, for the last release of the thread, if there was
/// one.
pub(super) extern "C-unwind" fn is_leader(result: *const bool, code: usize) -> bool {
    let code = shadow_stack::users(code);
    host(|| {
        let member = running().thread().index();
        let last = LAST.get().0.get(member).copied().flatten();
        match last {
            Some(wait) => leads(wait, code),
            // SAFETY: the caller of `is_leader` has a reference to the result of a wait, which is a `bool`.
            None => unsafe { result.read() },
        }
    })
}
