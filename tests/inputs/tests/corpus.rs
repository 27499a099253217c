//! The inputs that fuzzing has kept, and those that were a bug once, each read again.

use std::path::Path;

use raddle_inputs::{READERS, Reader};

/// Reads every file of a folder; how many there are.
fn read_all(folder: &Path, read: Reader) -> usize {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in &files {
        println!("{}", file.display());
        read(&std::fs::read(file).unwrap());
    }
    files.len()
}

#[test]
fn every_input_that_was_kept_is_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, read) in READERS {
        assert!(read_all(&corpus.join(name), read) >= 3, "{name} has none");
    }
    let folders = std::fs::read_dir(&corpus).unwrap().count();
    assert_eq!(folders, READERS.len(), "a folder that nobody reads");
}
