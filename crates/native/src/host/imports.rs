//! Functions that the program's own files import. A program that imports no function that sends a signal or
//! cancels a thread need not pay for either.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use object::{Object, ObjectSymbol};

use super::loaded;

static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();

/// In host mode: true if the program calls one of these.
pub(crate) fn any(names: &[&str]) -> bool {
    let imported = imported();
    names.iter().any(|&name| imported.contains(name))
}

/// In host mode: true if all functions that the program calls satisfy the predicate.
pub(crate) fn all(is_it: impl Fn(&str) -> bool) -> bool {
    imported().iter().all(|name| is_it(name))
}

fn imported() -> &'static BTreeSet<String> {
    NAMES.get_or_init(|| {
        let mut files = Vec::new();
        loaded::each(|module| files.extend(module.is_users().then(|| module.file())));
        files.iter().flat_map(|file| undefined(file)).collect()
    })
}

/// Names that a file imports.
fn undefined(file: &Path) -> Vec<String> {
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
