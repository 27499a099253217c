//! Random numbers of the system, which are the same in every execution. Each thread has a sequence of its
//! own, so that they do not depend on the schedule.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::guest_ptr::GuestPtr;
use crate::abi::real::forward;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::mode;
use crate::threads::interpose::interpose;

/// State of the generator, by the number of the thread.
#[derive(Default)]
pub(crate) struct RandomNumbers(Vec<u64>);

impl Part for RandomNumbers {
    fn renew(&mut self) {
        let RandomNumbers(states) = self;
        states.clear();
    }
}

pub(crate) static RANDOM_NUMBERS: PartCell<RandomNumbers> = PartCell::new();

/// True if the execution has used no random number.
pub(crate) fn are_unused() -> bool {
    RANDOM_NUMBERS.get().0.is_empty()
}

/// Returns the next number of the running thread.
fn next() -> u64 {
    let thread = running().thread().index();
    let states = &mut RANDOM_NUMBERS.get().0;
    while states.len() <= thread {
        // First states are far from each other, so that sequences do not overlap.
        let first = (states.len() as u64) << 48;
        states.push(first);
    }
    split_mix(&mut states[thread])
}

/// Returns the next number by SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Fills a buffer of the program's.
pub(crate) fn fill(to: GuestPtr<u8>, size: usize) {
    for index in 0..size {
        to.add(index).write(next() as u8);
    }
}

/// Maximum bytes of one request of `getentropy`, by its specification.
const MOST: usize = 256;

interpose! {
    fn getrandom(to: GuestPtr<u8>, size: usize, _flags: c_uint) -> isize as get("rcx") _code {
        fill(to, size);
        size as isize
    }

    fn arc4random() -> u32 as number("rdi") _code {
        next() as u32
    }

    fn arc4random_buf(to: GuestPtr<u8>, size: usize) -> () as bytes("rdx") _code {
        fill(to, size);
    }

    fn arc4random_uniform(limit: u32) -> u32 as below("rsi") _code {
        // The bias of the remainder is irrelevant here.
        (next() as u32).checked_rem(limit).unwrap_or(0)
    }
}

crate::abi::trampoline::watched! {
    fn getentropy(to: GuestPtr<u8>, size: usize) -> c_int as entropy("rdx");
    fn _ZNSt13random_device9_M_getvalEv(device: *mut c_void) -> c_uint as of_device("rsi");
}

extern "C" fn entropy(to: GuestPtr<u8>, size: usize, _code: usize) -> c_int {
    if !mode::is_guest() {
        return forward!(fn getentropy(to: GuestPtr<u8>, size: usize) -> c_int);
    }
    if size > MOST {
        mode::set_errno(libc::EIO);
        return -1;
    }
    mode::host(|| fill(to, size));
    0
}

/// Replaces C++'s `std::random_device`, which queries the processor.
extern "C" fn of_device(device: *mut c_void, _code: usize) -> c_uint {
    if !mode::is_guest() {
        type Device = *mut c_void;
        return forward!(fn _ZNSt13random_device9_M_getvalEv(device: Device) -> c_uint);
    }
    mode::host(|| next() as c_uint)
}

#[cfg(test)]
mod tests {
    use super::split_mix;

    /// The first numbers of the reference implementation for seed 1234567.
    #[test]
    fn numbers_are_those_of_split_mix_64() {
        let mut state = 1_234_567;
        let numbers = [(); 5].map(|()| split_mix(&mut state));
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }
}
