//! Which functions the program's own files call, as far as the loader knows. What nobody can call need
//! not be expected: a program that never sends a signal or cancels a thread pays nothing for them.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use object::{Object, ObjectSymbol};

use crate::snapshot;
use crate::symbols::SYSTEM;

static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();

/// In host mode: whether the program calls one of these.
pub(crate) fn any(names: &[&str]) -> bool {
    let imported = NAMES.get_or_init(|| files().iter().flat_map(undefined).collect());
    names.iter().any(|&name| imported.contains(name))
}

/// What a file leaves to others.
fn undefined(file: &PathBuf) -> Vec<String> {
    let Ok(data) = std::fs::read(file) else {
        return Vec::new();
    };
    let Ok(object) = object::File::parse(&*data) else {
        return Vec::new();
    };
    let symbols = object.dynamic_symbols().filter(ObjectSymbol::is_undefined);
    let names = symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned));
    names.collect()
}

/// The program and its own libraries.
fn files() -> Vec<PathBuf> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> c_int {
        // SAFETY: the loader describes a module and knows its name, and `to` is the list.
        let (info, name, list) = unsafe {
            let info = &*info;
            let name = CStr::from_ptr(info.dlpi_name).to_string_lossy();
            (info, name, &mut *to.cast::<Vec<PathBuf>>())
        };
        let is_own = snapshot::is_inside(info, &raw const NAMES as usize);
        if is_own || name.starts_with(SYSTEM) || name.starts_with("/lib") {
            return 0;
        }
        list.push(match name.is_empty() {
            true => "/proc/self/exe".into(),
            false => name.as_ref().into(),
        });
        0
    }
    let mut list = Vec::new();
    // SAFETY: the function matches, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut list).cast()) };
    list
}
