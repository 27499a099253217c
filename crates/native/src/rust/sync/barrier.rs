//! Barriers.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use iced_x86::{Mnemonic, OpKind, Register};
use raddle_engine::Operation;
use raddle_engine::object::{self, Object};

use super::patch;
use crate::execution::running;
use crate::mode::host;
use crate::objects;
use crate::tsan::calls;

const KIND: &str = "barrier";

/// Where a barrier has the number of threads that meet there.
static SIZE_FIELD: AtomicUsize = AtomicUsize::new(0);

/// Finds out where the number is: of the words that `Barrier::wait` uses it is the one that it only reads.
/// Whether that is known now.
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

/// `Barrier::wait`: whether the thread leads those that met.
pub(super) extern "C-unwind" fn wait(barrier: usize, code: usize) -> bool {
    let code = calls::users(code);
    let field = (barrier + SIZE_FIELD.load(Relaxed)) as *const usize;
    // SAFETY: the program has a barrier there.
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
        let member = native.thread();
        let round = reply.to_value() as u32;
        let leads = object.map(|barrier| Operation::Leads {
            barrier,
            member,
            round,
        });
        leads.is_some_and(|leads| native.perform(code, |_| leads).to_answer())
    })
}
