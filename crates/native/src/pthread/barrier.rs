//! Barriers.

use std::ffi::{c_int, c_uint, c_void};

use raddle_engine::Operation;
use raddle_engine::object::{self, Object};

use super::object_life::PosixObject;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::execution::running;
use crate::memory::objects;
use crate::threads::interpose::interpose;

type Barrier = GuestPtr<libc::pthread_barrier_t>;

const KIND: &str = "barrier";

/// Offset of the number of threads in a barrier.
const SIZE_FIELD: usize = 8;

fn size(barrier: Barrier) -> usize {
    barrier.cast::<u8>().add(SIZE_FIELD).cast::<u32>().read() as usize
}

fn posix_object(barrier: Barrier) -> PosixObject {
    PosixObject {
        address: barrier.address(),
        size: size_of::<libc::pthread_barrier_t>(),
        what: "uses a barrier",
    }
}

interpose! {
    fn pthread_barrier_init(
        barrier: Barrier, attributes: *const c_void, size: c_uint
    ) -> c_int as init("rcx") code {
        posix_object(barrier).initialise(code);
        objects::forget(barrier.address()..barrier.address() + 1);
        forward!(fn pthread_barrier_init(barrier: Barrier, attributes: *const c_void, size: c_uint) -> c_int)
    }

    fn pthread_barrier_destroy(barrier: Barrier) -> c_int as destroy("rsi") code {
        posix_object(barrier).destroy(code);
        objects::forget(barrier.address()..barrier.address() + 1);
        0
    }

    fn pthread_barrier_wait(barrier: Barrier) -> c_int as wait("rsi") code {
        let address = barrier.address();
        let native = running();
        let mut object = None;
        posix_object(barrier).begin(code);
        let reply = native.perform(code, |world| {
            let initial = || Object::Barrier(object::barrier::Barrier::new(size(barrier)));
            let barrier = objects::object(world, address, KIND, initial);
            object = Some(barrier);
            Operation::Meet { barrier }
        });
        // Threads of the group that have left may have destroyed the barrier by now.
        posix_object(barrier).end_without_it(code);
        let member = native.thread();
        let leads = object.map(|barrier| native.perform(code, |_| Operation::Leads {
            barrier,
            member,
            round: reply.to_value() as u32,
        }));
        match leads.is_some_and(|leads| leads.to_answer()) {
            true => libc::PTHREAD_BARRIER_SERIAL_THREAD,
            false => 0,
        }
    }
}
