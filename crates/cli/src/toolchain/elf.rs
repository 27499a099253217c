//! What can be said of a program before it runs.

use std::fs;
use std::path::Path;

use super::error::{Problem, Unfit};

/// What every program has that raddle can check.
const CALLBACK: &[u8] = b"__tsan_";
/// The beginning of names that only a sanitizer's own runtime has.
const RUNTIME: &[u8] = b"__sanitizer_syscall_pre_impl_";
/// The table of lines in the debug information.
const LINES: &[u8] = b".debug_line";

/// Says what is wrong with a program.
pub fn inspect(program: &Path) -> Result<(), Problem> {
    let bytes = fs::read(program).map_err(|cause| Problem::NotStarted {
        program: program.into(),
        cause,
    })?;
    let why = why(&bytes).or_else(|| is_privileged(program).then_some(Unfit::Privileged));
    if let Some(why) = why {
        let program = program.to_owned();
        return Err(Problem::Unfit { program, why });
    }
    if !contains(&bytes, LINES) {
        eprintln!(
            "warning: {} has no debug information, so stories will not name its lines\n  \
             help: compile it with `-g`, and do not strip it",
            program.display()
        );
    }
    Ok(())
}

/// Why a file with these bytes cannot be checked, if it cannot.
fn why(bytes: &[u8]) -> Option<Unfit> {
    const BITS: usize = 4;
    const PROCESSOR: usize = 0x12;
    const X86_64: u64 = 0x3e;
    if bytes.starts_with(b"#!") {
        return Some(Unfit::Script);
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Some(Unfit::NoProgram);
    }
    match (bytes.get(BITS), number(bytes, PROCESSOR, 2)) {
        (Some(2), Some(X86_64)) => {}
        (Some(1), _) => return Some(Unfit::Narrow),
        _ => return Some(Unfit::Foreign),
    }
    if !has_loader(bytes) {
        return Some(Unfit::Static);
    }
    if contains(bytes, RUNTIME) {
        return Some(Unfit::HasRuntime);
    }
    (!contains(bytes, CALLBACK)).then_some(Unfit::NotInstrumented)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether a program has rights of its own.
#[cfg(unix)]
fn is_privileged(program: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    fs::metadata(program).is_ok_and(|file| {
        let (owner, owning_group) = (file.uid(), file.gid());
        gives_rights(
            file.mode(),
            owner != user.as_raw(),
            owning_group != group.as_raw(),
        )
    })
}

#[cfg(not(unix))]
fn is_privileged(_program: &Path) -> bool {
    false
}

/// Whether a mode lets a program run as its owner or group, when these are others.
#[cfg(unix)]
fn gives_rights(mode: u32, is_others: bool, is_other_groups: bool) -> bool {
    const AS_OWNER: u32 = 0o4000;
    const AS_GROUP: u32 = 0o2000;
    mode & AS_OWNER != 0 && is_others || mode & AS_GROUP != 0 && is_other_groups
}

/// Whether one of the program's headers names a loader.
fn has_loader(bytes: &[u8]) -> bool {
    const NAMES_LOADER: u64 = 3;
    let header = |offset, size| number(bytes, offset, size).unwrap_or(0) as usize;
    let (start, size, count) = (header(0x20, 8), header(0x36, 2), header(0x38, 2));
    (0..count).any(|index| {
        let at = start.saturating_add(index.saturating_mul(size));
        number(bytes, at, 4) == Some(NAMES_LOADER)
    })
}

/// A number of so many bytes, the last first.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let mut bytes = vec![0; 0x40 + 2 * 0x38];
        bytes[..6].copy_from_slice(b"\x7fELF\x01\x01");
        assert_eq!(why(&bytes), Some(Unfit::Narrow));
        bytes[4] = 2;
        assert_eq!(why(&bytes), Some(Unfit::Foreign));
        bytes[0x12] = 0x3e;
        (bytes[0x20], bytes[0x36], bytes[0x38]) = (0x40, 0x38, 2);
        assert_eq!(why(&bytes), Some(Unfit::Static));
        bytes[0x40 + 0x38] = 3;
        assert_eq!(why(&bytes), Some(Unfit::NotInstrumented));
        bytes[0x38] = 1;
        assert_eq!(why(&bytes), Some(Unfit::Static));
        // More headers than there are bytes.
        bytes[0x38] = 200;
        bytes[0x40 + 0x38] = 0;
        assert_eq!(why(&bytes), Some(Unfit::Static));
        bytes[0x40] = 3;
        bytes.extend(b"__tsan_init");
        assert_eq!(why(&bytes), None);
        bytes.extend(b"__sanitizer_syscall_pre_impl_");
        assert_eq!(why(&bytes), Some(Unfit::HasRuntime));
    }

    #[test]
    fn what_is_no_program_is_told_apart() {
        assert_eq!(why(b"#!/bin/sh\n"), Some(Unfit::Script));
        assert_eq!(why(b"int main(void)"), Some(Unfit::NoProgram));
        assert_eq!(why(b""), Some(Unfit::NoProgram));
        assert_eq!(why(b"\x7fELF"), Some(Unfit::Foreign));
    }

    #[cfg(unix)]
    #[test]
    fn rights_of_others_count() {
        assert!(gives_rights(0o104755, true, false));
        assert!(gives_rights(0o102755, false, true));
        assert!(!gives_rights(0o104755, false, true));
        assert!(!gives_rights(0o100755, true, true));
    }
}
