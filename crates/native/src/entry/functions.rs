//! Entries and exits of the program's functions.

use crate::abi::trampoline::on_alternate_stack;
use crate::execution::shadow_stack;
use crate::memory::unwritten;
use crate::rust;

on_alternate_stack! {
    fn __tsan_func_entry(caller: usize) -> () as enter("rsi");
    fn __tsan_func_exit() -> () as leave("rdi");
}

extern "C" fn enter(caller: usize, code: usize) {
    if let Some(entered) = shadow_stack::push(caller, code) {
        if unwritten::is_on() {
            unwritten::fill_stack();
        }
        rust::enter(entered);
    }
}

extern "C" fn leave(_code: usize) {
    shadow_stack::pop();
}
