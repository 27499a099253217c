//! Classification of functions: the user's, and the standard library's.
//!
//! The kinds of all functions are computed once, from the symbols of the program's files, and kept
//! for every [`ALIGNMENT`] bytes of code. So entering a function costs one table lookup. A thread
//! has the kind of the last entered function that is not transparent. So a closure of the user's
//! that the standard library calls is the user's code again.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use addr2line::{demangle, gimli};
use object::{Object, ObjectSymbol, SymbolKind};

use super::rust_paths::{self, FunctionKind};
use crate::host::loaded;

/// Bytes to which the starts of functions are aligned.
const ALIGNMENT: usize = 16;

/// The code of one file.
struct Code {
    range: Range<usize>,
    /// Kind of the last function that begins in each aligned piece of code.
    kinds: Vec<u8>,
    /// Ranges of the user's functions, by address.
    users: Vec<Range<usize>>,
    /// Ranges of the functions of atomics with the names of their types, by address.
    atomics: Vec<(Range<usize>, &'static str)>,
}

impl Code {
    /// Returns the index of the piece that an address is in.
    #[inline]
    fn piece(&self, address: usize) -> usize {
        address / ALIGNMENT - self.range.start / ALIGNMENT
    }
}

static CODE: OnceLock<Vec<Code>> = OnceLock::new();

/// Reads the functions of the program, at the beginning of a check.
pub(crate) fn prepare() {
    CODE.get_or_init(|| files().iter().flat_map(read).collect());
}

/// True if the program has code of Rust's.
#[inline]
pub(crate) fn is_rust() -> bool {
    CODE.get().is_some_and(|code| !code.is_empty())
}

/// Returns the kind of the function with this return address of a call.
#[inline]
pub(crate) fn kind(code: usize) -> FunctionKind {
    kind_in_rust(code).unwrap_or(FunctionKind::User)
}

/// As [`kind`], or nothing for files without code of Rust's.
#[inline]
pub(crate) fn kind_in_rust(code: usize) -> Option<FunctionKind> {
    let mut files = CODE.get()?.iter();
    let file = files.find(|file| file.range.contains(&(code - 1)))?;
    Some(FunctionKind::of_number(file.kinds[file.piece(code - 1)]))
}

/// Returns the range of the user's function, in Rust, that contains the address.
pub(crate) fn users_function(code: usize) -> Option<Range<usize>> {
    let mut files = CODE.get()?.iter();
    let users = &files.find(|file| file.range.contains(&code))?.users;
    let after = users.partition_point(|function| function.start <= code);
    let function = users[after.checked_sub(1)?].clone();
    function.contains(&code).then_some(function)
}

/// Returns the atomic type whose method contains the address, if there is one.
pub(crate) fn atomic(code: usize) -> Option<&'static str> {
    let mut files = CODE.get()?.iter();
    let atomics = &files.find(|file| file.range.contains(&code))?.atomics;
    let after = atomics.partition_point(|(function, _)| function.start <= code);
    let (function, name) = &atomics[after.checked_sub(1)?];
    function.contains(&code).then_some(*name)
}

/// True if the program has a function that polls a channel.
pub(crate) fn has_looks() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let wanted = [
        FunctionKind::ChannelTryReceive as u8,
        FunctionKind::Deadline as u8,
    ];
    let is_wanted = |file: &Code| file.kinds.iter().any(|kind| wanted.contains(kind));
    *HAS.get_or_init(|| CODE.get().is_some_and(|code| code.iter().any(is_wanted)))
}

/// A file of the program's, and the address at which it was loaded.
struct File {
    base: usize,
    path: PathBuf,
    /// Ranges of its code in memory.
    code: Vec<Range<usize>>,
}

/// Returns the kinds of a file's functions; empty if none is of Rust's standard library.
fn read(file: &File) -> Vec<Code> {
    let Ok(data) = std::fs::read(&file.path) else {
        return Vec::new();
    };
    let Ok(object) = object::File::parse(&*data) else {
        return Vec::new();
    };
    let mut is_rust = false;
    let mut all: Vec<Code> = file
        .code
        .iter()
        .map(|range| Code {
            range: range.clone(),
            kinds: vec![FunctionKind::User as u8; range.len() / ALIGNMENT + 2],
            users: Vec::new(),
            atomics: Vec::new(),
        })
        .collect();
    for symbol in object.symbols() {
        if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
            continue;
        }
        let Some(name) = symbol.name().ok().and_then(plain_name) else {
            continue;
        };
        let kind = rust_paths::kind(&name);
        is_rust |= kind != FunctionKind::User;
        let start = file.base + symbol.address() as usize;
        let Some(code) = all.iter_mut().find(|code| code.range.contains(&start)) else {
            continue;
        };
        let last = start + symbol.size() as usize - 1;
        let pieces = code.piece(start)..=code.piece(last);
        if let Some(kinds) = code.kinds.get_mut(pieces) {
            kinds.fill(kind as u8);
        }
        if kind == FunctionKind::User {
            code.users.push(start..last + 1);
        }
        let atomic = rust_paths::atomic(&name).map(|name| (start..last + 1, name));
        code.atomics.extend(atomic);
    }
    for code in &mut all {
        code.users.sort_by_key(|function| function.start);
        code.atomics.sort_by_key(|(function, _)| function.start);
    }
    if is_rust { all } else { Vec::new() }
}

/// Demangles the name of a function, if it is one of Rust's.
fn plain_name(name: &str) -> Option<String> {
    if name.starts_with("__rust_try") || name == "rust_eh_personality" {
        return Some(name.to_owned());
    }
    let is_rust = name.starts_with("_R") || name.starts_with("_ZN") && name.contains("17h");
    is_rust.then(|| demangle(name, gimli::DW_LANG_Rust))?
}

/// Returns the program and its own libraries.
fn files() -> Vec<File> {
    let mut list = Vec::new();
    loaded::each(|module| {
        if module.is_users() {
            list.push(File {
                base: module.base(),
                path: module.file(),
                code: module.code().collect(),
            });
        }
    });
    list
}
