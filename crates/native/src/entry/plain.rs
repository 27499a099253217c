//! Plain accesses of memory: they are not operations, but must be ordered by happens-before.
//!
//! Accesses of different bytes of a word do not conflict. Accesses of a signal handler that
//! interrupts this code are not recorded.
//!
//! These functions stay in guest mode, which is cheap: no other thread may run meanwhile. The state
//! of memory is in `memory/shadow.rs`.

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::trampoline::on_alternate_stack;
use crate::execution::shadow_stack;
use crate::host::mode::is_guest;
use crate::memory::blocks::Bad;
use crate::memory::{plain_choices, shadow, unwritten};
use crate::rust::sync;
use crate::threads::heap_use::{self, Use};
use crate::threads::{failure, unwritten_reads};

/// Records an access of `size` bytes by the running thread.
#[inline]
pub(crate) fn access_range(address: usize, size: usize, writes: bool, code: usize) {
    if size == 0
        || !is_guest()
        // Code of the user's may be inlined in std's.
        || shadow_stack::region().is_inside() && sync::region(code).is_inside()
        || plain_choices::need_more() && access_with_more(address, size, writes, code)
    {
        return;
    }
    if let Some(bad) = shadow::access(address, size, writes, code) {
        fail(bad, address, verb(writes), shadow_stack::users(code));
    }
}

fn verb(writes: bool) -> &'static str {
    if writes { "writes" } else { "reads" }
}

/// In guest mode: the running thread accesses `size` bytes, in a check that asks for more than races. Returns true
/// if the access was made an operation.
#[cold]
fn access_with_more(address: usize, size: usize, writes: bool, code: usize) -> bool {
    let is_operation =
        plain_choices::are_explored() && access_explored(address, size, writes, code);
    if unwritten::is_on() {
        unwritten_reads::access(address, size, writes, code);
    }
    is_operation
}

/// In guest mode: handles an access of `size` bytes by the running thread, where plain accesses are
/// explored. Returns true if it was an operation.
fn access_explored(address: usize, size: usize, writes: bool, code: usize) -> bool {
    let used = Use {
        address,
        size,
        what: verb(writes),
        site: shadow_stack::users(code),
    };
    let is_operation = plain_choices::is_operation(address, size);
    if is_operation {
        used.begin_as_guest();
        plain_choices::perform(address, size, writes, code);
        used.end_as_guest();
    }
    is_operation
}

/// In guest mode: records that the running thread frees a block. All plain accesses of it must
/// happen before that.
pub(crate) fn access_to_free(address: usize, size: usize, code: usize) {
    let is_inside = || shadow_stack::region().is_inside() && sync::region(code).is_inside();
    if size > 0 && !is_inside() {
        shadow::access_to_free(address, size, code);
    }
}

/// In guest mode: ends the running thread after an invalid use of memory.
#[cold]
pub(crate) fn fail(bad: Bad, address: usize, what: &'static str, site: usize) -> ! {
    failure::diverge(|| {
        heap_use::fail(
            bad,
            Use {
                address,
                size: 0,
                what,
                site,
            },
        )
    })
}

/// Defines the functions for accesses of each size.
macro_rules! accesses {
    ($($($name:ident)*, $inner:ident: $writes:literal, $size:literal;)*) => {
        $(
            extern "C" fn $inner(address: usize, code: usize) {
                access_range(address, $size, $writes, code);
            }
            on_alternate_stack! {
                $(fn $name(address: usize) -> () as $inner("rsi");)*
            }
        )*
    };
}

accesses! {
    __tsan_read1 __tsan_volatile_read1 __tsan_unaligned_volatile_read1, read1: false, 1;
    __tsan_read2 __tsan_unaligned_read2 __tsan_volatile_read2 __tsan_unaligned_volatile_read2,
        read2: false, 2;
    __tsan_read4 __tsan_unaligned_read4 __tsan_volatile_read4 __tsan_unaligned_volatile_read4,
        read4: false, 4;
    __tsan_read8 __tsan_unaligned_read8 __tsan_volatile_read8 __tsan_unaligned_volatile_read8
        __tsan_vptr_read, read8: false, 8;
    __tsan_read16 __tsan_unaligned_read16 __tsan_volatile_read16 __tsan_unaligned_volatile_read16,
        read16: false, 16;
    __tsan_write1 __tsan_volatile_write1 __tsan_unaligned_volatile_write1
        __tsan_read_write1, write1: true, 1;
    __tsan_write2 __tsan_unaligned_write2 __tsan_volatile_write2 __tsan_unaligned_volatile_write2
        __tsan_read_write2 __tsan_unaligned_read_write2, write2: true, 2;
    __tsan_write4 __tsan_unaligned_write4 __tsan_volatile_write4 __tsan_unaligned_volatile_write4
        __tsan_read_write4 __tsan_unaligned_read_write4, write4: true, 4;
    __tsan_write8 __tsan_unaligned_write8 __tsan_volatile_write8 __tsan_unaligned_volatile_write8
        __tsan_read_write8 __tsan_unaligned_read_write8, write8: true, 8;
    __tsan_write16 __tsan_unaligned_write16 __tsan_volatile_write16 __tsan_unaligned_volatile_write16
        __tsan_read_write16 __tsan_unaligned_read_write16, write16: true, 16;
}

on_alternate_stack! {
    fn __tsan_read_range(address: usize, size: usize) -> () as read_range("rdx");
    fn __tsan_write_range(address: usize, size: usize) -> () as write_range("rdx");
    fn __tsan_vptr_update(address: GuestPtr<usize>, new: usize) -> () as update_vptr("rdx");
}

extern "C" fn read_range(address: usize, size: usize, code: usize) {
    access_range(address, size, false, code);
}

extern "C" fn write_range(address: usize, size: usize, code: usize) {
    access_range(address, size, true, code);
}

/// Records the store of an object's class by a constructor or destructor. A store of the same value
/// is not a write.
extern "C" fn update_vptr(address: GuestPtr<usize>, new: usize, code: usize) {
    let is_write = address.read() != new;
    access_range(address.address(), size_of::<usize>(), is_write, code);
}

/// Defines accesses with their address of code as an argument.
macro_rules! placed {
    ($($name:ident: $writes:literal, $size:literal;)*) => {
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            extern "C" fn $name(address: usize, code: usize) {
                access_range(address, $size, $writes, code);
            }
        )*
    };
}

placed! {
    __tsan_read1_pc: false, 1;
    __tsan_read2_pc: false, 2;
    __tsan_read4_pc: false, 4;
    __tsan_read8_pc: false, 8;
    __tsan_read16_pc: false, 16;
    __tsan_write1_pc: true, 1;
    __tsan_write2_pc: true, 2;
    __tsan_write4_pc: true, 4;
    __tsan_write8_pc: true, 8;
    __tsan_write16_pc: true, 16;
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_read_range_pc(address: usize, size: usize, code: usize) {
    access_range(address, size, false, code);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_write_range_pc(address: usize, size: usize, code: usize) {
    access_range(address, size, true, code);
}

/// Records a call that reads state of a library, which the address represents.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_external_read(address: usize, code: usize, _tag: usize) {
    access_range(address, 1, false, code);
}

/// Records a call that writes state of a library, which the address represents.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_external_write(address: usize, code: usize, _tag: usize) {
    access_range(address, 1, true, code);
}
