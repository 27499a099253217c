//! The name of a value in the program's source: the variable, field or static it was made for.
//!
//! The place where a value was made is known to the column, so a failure report reads the tokens
//! around it from the source. If the source is missing or has changed since the program was built,
//! the value has a worse name or none.

use std::collections::BTreeMap;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use raddle_report::Place;

mod binding;
mod tokens;

/// Cache of names by file, line, column and kind.
type NameCache = BTreeMap<(&'static str, u32, u32, &'static str), Option<String>>;

static KNOWN: Mutex<NameCache> = Mutex::new(NameCache::new());

/// Returns the name of a value of this kind that was made there, if the source has one.
pub(crate) fn name(kind: &'static str, place: &'static Location<'static>) -> Option<String> {
    let key = (place.file(), place.line(), place.column(), kind);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .entry(key)
        .or_insert_with(|| look(kind, place))
        .clone()
}

/// The name of a value that a call has made, if it has one, and the path of the called function.
type Made = (Option<String>, String);

/// Cache by file and place. A program may make a hundred thousand values at one place, and the
/// source is not read for each of them.
type MadeCache = BTreeMap<String, BTreeMap<(u32, u32), Option<Made>>>;

static KNOWN_MADE: Mutex<MadeCache> = Mutex::new(MadeCache::new());

/// Returns the name of the value that a call at a place has made, if it has one, and the called
/// function.
pub fn made_at(place: &Place) -> Option<Made> {
    made_by_call(&place.file, (place.line, place.column))
}

fn made_by_call(file: &str, place: (u32, u32)) -> Option<Made> {
    let mut known = KNOWN_MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if !known.contains_key(file) {
        known.insert(file.to_owned(), BTreeMap::new());
    }
    let places = known.get_mut(file)?;
    let made = places.entry(place);
    made.or_insert_with(|| look_at_call(file, place)).clone()
}

fn look_at_call(file: &str, place: (u32, u32)) -> Option<Made> {
    let source = std::fs::read_to_string(file).ok();
    let source = source.or_else(|| self::source(file))?;
    let tokens = tokens::of(&source);
    let at = tokens.iter().position(|token| token.place == place)?;
    let path = tokens[at..].iter();
    let path = path.take_while(|token| token.text == "::" || token.is_name());
    let path: Vec<&str> = path.map(|token| token.text).collect();
    let first = path.first()?;
    let name = binding::name(&tokens, place, first);
    Some((name, path.concat().trim_end_matches("::").to_owned()))
}

// The compiler was started in the root of the workspace.
static FOLDERS: LazyLock<Vec<PathBuf>> = LazyLock::new(folders);

/// Returns the text of a file that the compiler has read, if it exists.
pub(crate) fn source(file: &str) -> Option<String> {
    let read = |folder: &PathBuf| std::fs::read_to_string(folder.join(file)).ok();
    FOLDERS.iter().find_map(read)
}

fn look(kind: &str, place: &Location<'_>) -> Option<String> {
    FOLDERS.iter().find_map(|folder| {
        let source = std::fs::read_to_string(folder.join(place.file())).ok()?;
        let tokens = tokens::of(&source);
        binding::name(&tokens, (place.line(), place.column()), kind)
    })
}

/// Returns the folders that names of files may be relative to: the workspace and the package.
fn folders() -> Vec<PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let Some(start) = package.or_else(|| std::env::current_dir().ok()) else {
        return Vec::new();
    };
    let mut folders = Vec::new();
    for folder in start.ancestors() {
        match std::fs::read_to_string(folder.join("Cargo.toml")) {
            Ok(manifest) if is_workspace(&manifest) => {
                folders.insert(0, folder.to_owned());
                break;
            }
            Ok(_) if folders.is_empty() => folders.push(folder.to_owned()),
            _ => {}
        }
    }
    if folders.is_empty() {
        folders.push(Path::new("").to_owned());
    }
    folders
}

fn is_workspace(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim);
    lines.any(|line| line.starts_with("[workspace]") || line.starts_with("[workspace."))
}

#[cfg(test)]
mod tests {
    use super::made_by_call;

    #[test]
    fn a_source_is_read_once_for_each_place() {
        let file = std::env::temp_dir().join(format!("raddle-made-{}.rs", std::process::id()));
        std::fs::write(
            &file,
            "let first = Box::new(1);\nlet second = Box::new(2);\n",
        )
        .unwrap();
        let path = file.to_str().unwrap();
        let made = Some((Some("first".to_owned()), "Box::new".to_owned()));
        assert_eq!(made_by_call(path, (1, 13)), made);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(made_by_call(path, (1, 13)), made);
        assert_eq!(made_by_call(path, (2, 14)), None);
    }
}
