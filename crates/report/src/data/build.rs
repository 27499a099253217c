//! The builds of the running program and of other files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::OnceLock;

/// Returns a text that differs between builds of the running program.
pub fn fingerprint() -> &'static str {
    static FINGERPRINT: OnceLock<String> = OnceLock::new();
    FINGERPRINT.get_or_init(|| {
        let file = std::env::current_exe();
        file.map_or_else(|_| UNKNOWN.to_owned(), |file| fingerprint_of(&file))
    })
}

/// Returns a text that differs between builds of an executable or a library: its build ID, or a hash of the file.
pub fn fingerprint_of(file: &Path) -> String {
    let text = File::open(file).and_then(|mut file| match build_id(&mut file) {
        Some(id) => Ok(id),
        None => hash(&mut file),
    });
    text.unwrap_or_else(|_| UNKNOWN.to_owned())
}

/// The fingerprint of a file that cannot be read.
const UNKNOWN: &str = "unknown";

/// Maximum size of the tables that are read in the search for a build ID.
const LARGEST: u64 = 1 << 20;
const NOTES: u32 = 4;
const BUILD_ID: u32 = 3;

/// Returns the hash that the linker has made of the output, from an ELF file of 64 bits in the byte order of this
/// machine. Many times faster than a hash of the file: executables with debug information have tens of megabytes.
fn build_id(file: &mut (impl Read + Seek)) -> Option<String> {
    let header = bytes(file, 0, 64)?;
    if !header.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let (size, count) = (short(&header, 0x36)?, short(&header, 0x38)?);
    let segments = bytes(file, long(&header, 0x20)?, size.checked_mul(count)?)?;
    let mut notes = segments
        .chunks_exact(usize::try_from(size).ok()?.max(1))
        .filter(|segment| int(segment, 0) == Some(NOTES))
        .filter_map(|segment| bytes(file, long(segment, 8)?, long(segment, 0x20)?));
    notes.find_map(|notes| id_in(&notes))
}

/// Returns the build ID among these notes.
fn id_in(mut notes: &[u8]) -> Option<String> {
    loop {
        let padded = |at| Some(int(notes, at)?.checked_next_multiple_of(4)? as usize);
        let (name, length, kind) = (padded(0)?, padded(4)?, int(notes, 8)?);
        let rest = notes.get(12..)?;
        let (owner, rest) = rest.split_at_checked(name)?;
        let (id, rest) = rest.split_at_checked(length)?;
        if owner == b"GNU\0" && kind == BUILD_ID && !id.is_empty() {
            let id = id.get(..int(notes, 4)? as usize)?;
            return Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest;
    }
}

fn bytes(file: &mut (impl Read + Seek), offset: u64, length: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length.min(LARGEST)).ok()?];
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn short(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_ne_bytes(bytes).into())
}

fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Returns a hash of a whole file.
fn hash(file: &mut (impl Read + Seek)) -> io::Result<String> {
    let mut hash = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let mut length = 0;
        while length < buffer.len() {
            match file.read(&mut buffer[length..])? {
                0 => break,
                read => length += read,
            }
        }
        for word in buffer[..length].chunks(8) {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            hash = (hash ^ u64::from_le_bytes(padded))
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29);
        }
        if length < buffer.len() {
            return Ok(format!("{hash:016x}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A file with one segment of notes: one of another owner, and a build ID of three bytes.
    fn file(id: [u8; 3]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..5].copy_from_slice(b"\x7fELF\x02");
        file[0x20..0x28].copy_from_slice(&64_u64.to_ne_bytes());
        file[0x36..0x38].copy_from_slice(&56_u16.to_ne_bytes());
        file[0x38..0x3a].copy_from_slice(&1_u16.to_ne_bytes());
        let mut notes = Vec::new();
        for (owner, kind, text) in [
            (b"abcd", 3_u32, [9; 3]),
            (b"GNU\0", 1, [9; 3]),
            (b"GNU\0", 3, id),
        ] {
            for number in [4, 3, kind] {
                notes.extend(number.to_ne_bytes());
            }
            notes.extend(owner);
            notes.extend(text);
            notes.push(0);
        }
        file[64..68].copy_from_slice(&NOTES.to_ne_bytes());
        file[72..80].copy_from_slice(&120_u64.to_ne_bytes());
        file[96..104].copy_from_slice(&(notes.len() as u64).to_ne_bytes());
        file.extend(notes);
        file
    }

    #[test]
    fn the_build_id_is_that_of_the_linker() {
        let whole = file([1, 2, 0xff]);
        assert_eq!(
            build_id(&mut Cursor::new(&whole)).as_deref(),
            Some("0102ff")
        );
        for length in 0..whole.len() {
            assert_eq!(
                build_id(&mut Cursor::new(&whole[..length])),
                None,
                "{length} bytes"
            );
        }
    }

    #[test]
    fn without_a_build_id_every_byte_counts() {
        let hash = |bytes: &[u8]| hash(&mut Cursor::new(bytes)).unwrap();
        let mut bytes = vec![7; 200_001];
        let before = hash(&bytes);
        for at in [0, 65_535, 65_536, 200_000] {
            bytes[at] ^= 1;
            assert_ne!(hash(&bytes), before, "byte {at}");
            bytes[at] ^= 1;
        }
        assert_ne!(hash(&bytes[..200_000]), before);
        assert_eq!(hash(&bytes), before);
    }

    #[test]
    fn this_program_has_a_fingerprint() {
        assert_ne!(fingerprint(), "unknown");
    }
}
