//! Files that the program was loaded from: their functions of std's, and the functions around an
//! instruction.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};

use super::inlined::{self, Half};
use super::{barrier, inlined_calls, parking_lot, replaced, sites};
use crate::execution::shadow_stack;
use crate::host::loaded;
use crate::host::process_state::ProcessState;
use crate::names::rust_paths;

/// Prefixes of functions that a file has unless they were inlined.
const ATOMIC: &str = "core::sync::atomic::";
const METHODS: &str = "core::sync::atomic::Atomic";
/// Methods of which an unoptimised program has at least one, if it has atomics.
const OFTEN_USED: [&str; 6] = [
    "load",
    "store",
    "swap",
    "fetch_add",
    "fetch_sub",
    "compare_exchange",
];
/// Path that is in every program with std.
const STD: &str = "library/std/src/";
const CANNOT_TELL: &str = "the program was optimised and has no debug information, so locks of Rust's standard \
    library look like other atomics, and false races may be reported. Compile it with `-g`, or \
    without optimising";

/// Functions of std's own code that are local only where std was optimised together with the program, and
/// beginnings of the paths of those whose symbols have a suffix then.
const OF_STD: [&str; 2] = ["std::sys::sync::", "std::thread::id::ThreadId::new"];
const PROMOTED: &str = ".llvm.";

/// A file of the program's.
struct Module {
    base: usize,
    code: Range<usize>,
    file: PathBuf,
}

/// Modules with code of Rust's, and readers of their lines.
static MODULES: ProcessState<Vec<(Module, Option<Loader>)>> = ProcessState::new(Vec::new());

/// Ranges of all functions of these files.
static FUNCTIONS: ProcessState<Vec<Range<usize>>> = ProcessState::new(Vec::new());

/// Why calls of a method of atomics are not seen, or not as what they are.
#[derive(Clone, Copy)]
pub(super) enum Unseen {
    Inlined,
    /// The function does not have the parameters that the source has.
    Changed,
}

/// Methods of atomics that are known by their functions alone, and whose calls are not seen as what they are.
static UNSEEN: ProcessState<BTreeMap<&'static str, Unseen>> = ProcessState::new(BTreeMap::new());

/// Returns the names of these methods.
pub(super) fn unseen() -> Vec<(&'static str, Unseen)> {
    UNSEEN
        .get()
        .iter()
        .map(|(name, why)| (*name, *why))
        .collect()
}

/// Reads all files, and replaces functions; returns true if there is code of Rust's.
pub(super) fn read() -> bool {
    for module in users() {
        if replace_all(&module).unwrap_or(false) {
            let lines = Loader::new(&module.file).ok();
            MODULES.get().push((module, lines));
        }
    }
    FUNCTIONS.get().sort_by_key(|function| function.start);
    !MODULES.get().is_empty()
}

/// Replaces functions of std's in a file; returns true if it has code of Rust's.
fn replace_all(module: &Module) -> Option<bool> {
    let data = std::fs::read(&module.file).ok()?;
    let object = object::File::parse(&*data).ok()?;
    let mut has_rust = false;
    let mut functions = BTreeMap::new();
    let mut is_joined = false;
    for symbol in object.symbols().chain(object.dynamic_symbols()) {
        let Ok(name) = symbol.name() else { continue };
        has_rust |= is_rust(name);
        is_joined |= is_promoted(name);
        if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
            continue;
        }
        let function = module.base + symbol.address() as usize;
        FUNCTIONS
            .get()
            .push(function..function + symbol.size() as usize);
        if !may_be_replaced(name) {
            continue;
        }
        if let Some(path) = path_of(name) {
            is_joined |= symbol.is_local() && replaced::came_compiled(&path);
            functions.insert(function, (path, function, symbol.size() as usize));
        }
    }
    let has_lines = object.section_by_name(".debug_str").is_some();
    if has_lines && !contains(&data, barrier::QUESTION) {
        barrier::expect_no_question();
    }
    let has_calls = functions
        .values()
        .any(|(path, ..)| path.starts_with(ATOMIC));
    if !has_lines && !has_calls && (has_rust || contains(&data, STD)) {
        // A model that misses some accesses of a lock is worse than none.
        eprintln!("raddle: {CANNOT_TELL}");
        return Some(false);
    }
    if is_joined {
        inlined::refuse(Half::Joined);
    }
    if has_rust
        && has_lines
        && let Some(name) = inlined::unknown(&object)
    {
        inlined::refuse(Half::Unnamed(&name));
    }
    if has_rust && has_lines {
        let found = inlined_calls::find(&object);
        if let Some(path) = &found.lost {
            inlined::refuse(Half::NotEntered(path));
        }
        let inlined = found.unseen.into_iter();
        UNSEEN
            .get()
            .extend(inlined.map(|name| (name, Unseen::Inlined)));
    }
    let functions: Vec<_> = functions.into_values().collect();
    let is_method = |path: &str| {
        let method = path
            .strip_prefix(METHODS)
            .and_then(|it| it.split_once("::"));
        method.is_some_and(|(_, name)| OFTEN_USED.contains(&name))
    };
    if has_rust && has_lines && !functions.iter().any(|(path, ..)| is_method(path)) {
        sites::expect_inlined();
    }
    for name in replaced::replace_all(&functions) {
        UNSEEN.get().entry(name).or_insert(Unseen::Changed);
    }
    parking_lot::look(&functions);
    Some(has_rust)
}

/// True if a symbol is one of std's own that the linker's optimiser has renamed.
fn is_promoted(symbol: &str) -> bool {
    symbol.contains(PROMOTED)
        && is_rust(symbol)
        && path_of(symbol).is_some_and(|path| OF_STD.iter().any(|start| path.starts_with(start)))
}

/// In guest mode: true if the call with this return address is in the function that the running
/// thread entered last. Precompiled functions of std do not report their entry.
pub(super) fn is_seen(code: usize) -> bool {
    let functions = FUNCTIONS.get();
    let find = |address: usize| {
        let after = functions.partition_point(|function| function.start <= address);
        let function = functions.get(after.checked_sub(1)?)?;
        function.contains(&address).then_some(function.start)
    };
    let called = find(code - 1);
    called.is_some() && called == shadow_stack::entered().and_then(|entered| find(entered - 1))
}

/// Returns the path of a function, if its symbol is one of Rust's.
pub(super) fn path_of(symbol: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    Some(rust_paths::path(&format!("{name:#}")))
}

/// True if a name is somewhere in a file.
fn contains(data: &[u8], name: &str) -> bool {
    // SAFETY: `memmem` reads as many bytes as both slices have.
    let found = unsafe {
        libc::memmem(
            data.as_ptr().cast(),
            data.len(),
            name.as_ptr().cast(),
            name.len(),
        )
    };
    !found.is_null()
}

fn is_rust(symbol: &str) -> bool {
    symbol.contains("3std")
}

/// True if the symbol may be that of a replaced function. Most symbols need no demangling.
fn may_be_replaced(symbol: &str) -> bool {
    let is_atomic = symbol.contains("4core4sync6atomic") || symbol.contains("6atomic6Atomic");
    let is_wanted = || {
        let names = ["4sync", "6thread", "futex_wait"];
        names.iter().any(|name| symbol.contains(name))
    };
    is_atomic || parking_lot::may_be(symbol) || is_rust(symbol) && is_wanted()
}

/// Returns the paths of the functions around the call with this return address, the innermost
/// first. A path is empty if it is unknown.
pub(super) fn functions(code: usize) -> Vec<String> {
    let modules = MODULES.get();
    let found = modules
        .iter()
        .find(|(module, _)| module.code.contains(&code));
    let Some((module, Some(lines))) = found else {
        return vec![String::new()];
    };
    let address = (code - 1 - module.base) as u64;
    let mut list = Vec::new();
    if let Ok(mut frames) = lines.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let name = frame
                .function
                .and_then(|name| name.raw_name().ok().map(|it| it.into_owned()));
            list.extend(name.map(|name| path_of(&name).unwrap_or_default()));
        }
    }
    // Debug information of lines only lacks the whole name, which the symbol has.
    if list.last().is_none_or(String::is_empty) {
        let symbol = lines.find_symbol(address).and_then(path_of);
        list.pop();
        list.push(symbol.unwrap_or_default());
    }
    list
}

/// Returns the program and its own libraries.
fn users() -> Vec<Module> {
    let mut list = Vec::new();
    loaded::each(|module| {
        if module.is_users() {
            list.extend(module.code().map(|code| Module {
                base: module.base(),
                code,
                file: module.file(),
            }));
        }
    });
    list
}
