//! Functions with the attribute `destructor`, and others that the loader calls when it unloads a module.
//!
//! The C library calls them last of all when a program ends: those of the program itself, and then those of its
//! libraries, each before the libraries that it needs. After those of a library come the handlers that its
//! constructors have registered. Only functions of the program and its own libraries are run.

use std::ops::Range;

use super::exit_handlers::Handler;
use crate::host::loaded;
use crate::host::lock::Lock;

/// A module with functions to call.
#[derive(Clone)]
pub(super) struct Module {
    name: String,
    needs: Vec<String>,
    base: usize,
    extent: Range<usize>,
    functions: Vec<usize>,
}

/// Modules that were found last, and the number of loaded modules by then.
static FOUND: Lock<(u64, Vec<Module>)> = Lock::new((0, Vec::new()));

/// In host mode: uses the modules of the program, in the order in which they are unloaded.
pub(super) fn with<R>(use_them: impl FnOnce(&[Module]) -> R) -> R {
    let count = loaded::count_loaded();
    FOUND.with(|found| {
        if found.0 != count {
            *found = (count, in_order(find()));
        }
        use_them(&found.1)
    })
}

fn find() -> Vec<Module> {
    let mut modules = Vec::new();
    loaded::each(|module| {
        if module.is_users() {
            modules.push(Module {
                name: module.library_name(),
                needs: module.needs().map(|name| file_name(&name)).collect(),
                base: module.base(),
                extent: module.extent(),
                functions: functions(module.destructors(), module.last_destructor()),
            });
        }
    });
    modules
}

/// Returns a name without its directory.
fn file_name(name: &str) -> String {
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Selects the functions that must be called, of those in the array and the one after them. Each module has one
/// of the C runtime in the array, which calls the handlers of the module, and one that does nothing after it. A
/// module that has no others is left alone, because its handlers are called anyway.
fn functions(mut array: Vec<usize>, last: Option<usize>) -> Vec<usize> {
    /// `cmp byte ptr [rip + ..], 0`: whether it was called before.
    const IS_DONE: [Option<u8>; 7] = [Some(0x80), Some(0x3d), None, None, None, None, Some(0)];
    /// `sub rsp, 8`, `add rsp, 8` and `ret`.
    const NOTHING: [Option<u8>; 9] = [
        Some(0x48),
        Some(0x83),
        Some(0xec),
        Some(8),
        Some(0x48),
        Some(0x83),
        Some(0xc4),
        Some(8),
        Some(0xc3),
    ];
    if let [only] = array[..]
        && begins_with(only, &IS_DONE)
    {
        array.clear();
    }
    array.extend(last.filter(|&last| !begins_with(last, &NOTHING)));
    array
}

/// True if a function begins with these bytes, of which some may be any, perhaps after `endbr64`.
fn begins_with(function: usize, bytes: &[Option<u8>]) -> bool {
    const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    // SAFETY: the function is in the code of a module that is loaded, and not at the end of its last page: the
    // bytes are compared one after the other, and a difference ends that before the end of the function.
    let at = |offset: usize| unsafe { ((function + offset) as *const u8).read() };
    let is_marked = (0..ENDBR64.len()).all(|offset| at(offset) == ENDBR64[offset]);
    let start = if is_marked { ENDBR64.len() } else { 0 };
    let mut bytes = bytes.iter().enumerate();
    bytes.all(|(offset, byte)| byte.is_none_or(|byte| at(start + offset) == byte))
}

/// Sorts modules so that each comes before those that it needs, and otherwise as they were loaded.
fn in_order(mut modules: Vec<Module>) -> Vec<Module> {
    let mut sorted = Vec::new();
    while !modules.is_empty() {
        let is_needed = |name: &String| modules.iter().any(|other| other.needs.contains(name));
        // Libraries that need each other are unloaded as they were loaded.
        let next = modules.iter().position(|module| !is_needed(&module.name));
        sorted.push(modules.remove(next.unwrap_or(0)));
    }
    sorted
}

impl Module {
    /// True if this is the module that was loaded there.
    pub(super) fn is_at(&self, base: usize) -> bool {
        self.base == base
    }

    /// Where it was loaded.
    pub(super) fn base(&self) -> usize {
        self.base
    }

    /// True if an address is in it.
    pub(super) fn contains(&self, address: usize) -> bool {
        self.extent.contains(&address)
    }

    /// Its functions, as handlers, in the order of their calls.
    pub(super) fn handlers(&self) -> impl DoubleEndedIterator<Item = Handler> {
        let functions = self.functions.iter();
        functions.map(|&function| Handler::destructor(function, self.base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    fn module(name: &str, needs: &[&str]) -> Module {
        Module {
            name: name.to_owned(),
            needs: needs.iter().map(|&name| name.to_owned()).collect(),
            base: 0,
            extent: 0..0,
            functions: Vec::new(),
        }
    }

    fn names(modules: Vec<Module>) -> Vec<String> {
        in_order(modules).into_iter().map(|it| it.name).collect()
    }

    fn code(bytes: &[u8]) -> usize {
        Box::leak(bytes.to_vec().into_boxed_slice()).as_ptr() as usize
    }

    #[test]
    fn functions_of_the_runtime_are_not_called_without_need() {
        let runtimes = code(&[0xf3, 0x0f, 0x1e, 0xfa, 0x80, 0x3d, 1, 2, 3, 4, 0, 0x75]);
        let empty = code(&[0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0xc3]);
        let users = code(&[0x53, 0x48, 0x89, 0xfb, 0xe8, 1, 2, 3, 4]);
        assert!(functions(vec![runtimes], Some(empty)).is_empty());
        assert_eq!(
            functions(vec![users, runtimes], Some(empty)),
            [users, runtimes]
        );
        assert_eq!(functions(vec![users], None), [users]);
        assert_eq!(functions(vec![runtimes], Some(users)), [users]);
    }

    #[test]
    fn a_library_comes_after_those_that_need_it() {
        let program = module("program", &["a", "b", "libc"]);
        let modules = vec![program, module("a", &[]), module("b", &["a", "libc"])];
        assert_eq!(names(modules), ["program", "b", "a"]);
    }

    #[test]
    fn libraries_that_need_each_other_are_all_there() {
        let modules = vec![
            module("a", &["b"]),
            module("b", &["a"]),
            module("c", &["a"]),
        ];
        assert_eq!(names(modules), ["c", "a", "b"]);
    }

    #[test]
    fn every_order_of_loading_gives_an_order_of_unloading() {
        let mut inputs = Inputs::new(3);
        for _ in 0..200 {
            let count = 1 + inputs.below(6);
            let all: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            // A library needs only such with a larger number.
            let mut left: Vec<Module> = (0..all.len())
                .map(|number| {
                    let later = all[number + 1..].iter().map(String::as_str);
                    let needs: Vec<&str> = later.filter(|_| inputs.below(2) == 0).collect();
                    module(&all[number], &needs)
                })
                .collect();
            let mut loaded = Vec::new();
            while !left.is_empty() {
                loaded.push(left.remove(inputs.below(left.len() as u64) as usize));
            }
            let sorted = in_order(loaded);
            assert_eq!(sorted.len(), all.len());
            for (index, module) in sorted.iter().enumerate() {
                let earlier = &sorted[..index];
                assert!(earlier.iter().all(|it| !module.needs.contains(&it.name)));
            }
        }
    }
}
