//! Refuses programs that cannot be checked before they run.

use std::fs;
use std::path::Path;

use crate::toolchain::bytes::contains;
use crate::toolchain::error::{Error, Unsupported};

/// Prefix of the functions that instrumented code calls.
const CALLBACK: &[u8] = b"__tsan_";
/// Prefix of symbols that only a sanitizer's own runtime has.
const RUNTIME: &[u8] = b"__sanitizer_syscall_pre_impl_";
/// Section with the line numbers of the debug information.
const LINES: &[u8] = b".debug_line";

/// Fails for a program that cannot be checked, and warns about missing debug information.
pub fn inspect(program: &Path) -> Result<(), Error> {
    let bytes = fs::read(program).map_err(|cause| Error::NotStarted {
        program: program.into(),
        cause,
    })?;
    let privileged = || is_privileged(program).then_some(Unsupported::Privileged);
    if let Some(why) = unsupported(&bytes).or_else(privileged) {
        let program = program.to_owned();
        return Err(Error::UnsupportedProgram { program, why });
    }
    if !contains(&bytes, LINES) {
        eprintln!(
            "warning: {} has no debug information, so failures will not show its lines\n  \
             help: compile it with `-g`, and do not strip it",
            program.display()
        );
    }
    Ok(())
}

/// Returns the reason why a file with these bytes cannot be checked, if there is one.
fn unsupported(bytes: &[u8]) -> Option<Unsupported> {
    /// Offset of `EI_CLASS`: 1 for 32 bits, 2 for 64.
    const CLASS: usize = 4;
    /// Offset of `e_machine`.
    const MACHINE: usize = 0x12;
    const X86_64: u64 = 0x3e;
    if bytes.starts_with(b"#!") {
        return Some(Unsupported::Script);
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Some(Unsupported::NotElf);
    }
    match (bytes.get(CLASS), little_endian(bytes, MACHINE, 2)) {
        (Some(2), Some(X86_64)) => {}
        (Some(1), _) => return Some(Unsupported::ThirtyTwoBit),
        _ => return Some(Unsupported::OtherProcessor),
    }
    if !has_loader(bytes) {
        return Some(Unsupported::Static);
    }
    if contains(bytes, RUNTIME) {
        return Some(Unsupported::HasRuntime);
    }
    (!contains(bytes, CALLBACK)).then_some(Unsupported::NotInstrumented)
}

/// True when the program runs as another user or group than this process.
#[cfg(unix)]
fn is_privileged(program: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    fs::metadata(program).is_ok_and(|file| {
        let (owner, owning_group) = (file.uid(), file.gid());
        changes_identity(
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

/// True when the mode changes the user, given a foreign owner, or the group, given a foreign group.
#[cfg(unix)]
fn changes_identity(mode: u32, is_foreign_owner: bool, is_foreign_group: bool) -> bool {
    const SET_USER_ID: u32 = 0o4000;
    const SET_GROUP_ID: u32 = 0o2000;
    mode & SET_USER_ID != 0 && is_foreign_owner || mode & SET_GROUP_ID != 0 && is_foreign_group
}

/// True when a program header has the type `PT_INTERP`, which names the dynamic loader.
fn has_loader(bytes: &[u8]) -> bool {
    const PT_INTERP: u64 = 3;
    let header = |offset, size| little_endian(bytes, offset, size).unwrap_or(0) as usize;
    let (start, size, count) = (header(0x20, 8), header(0x36, 2), header(0x38, 2));
    (0..count).any(|index| {
        let at = start.saturating_add(index.saturating_mul(size));
        little_endian(bytes, at, 4) == Some(PT_INTERP)
    })
}

/// Returns the little-endian number of `size` bytes at an offset.
fn little_endian(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
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
        assert_eq!(unsupported(&bytes), Some(Unsupported::ThirtyTwoBit));
        bytes[4] = 2;
        assert_eq!(unsupported(&bytes), Some(Unsupported::OtherProcessor));
        bytes[0x12] = 0x3e;
        (bytes[0x20], bytes[0x36], bytes[0x38]) = (0x40, 0x38, 2);
        assert_eq!(unsupported(&bytes), Some(Unsupported::Static));
        bytes[0x40 + 0x38] = 3;
        assert_eq!(unsupported(&bytes), Some(Unsupported::NotInstrumented));
        bytes[0x38] = 1;
        assert_eq!(unsupported(&bytes), Some(Unsupported::Static));
        // More headers than there are bytes.
        bytes[0x38] = 200;
        bytes[0x40 + 0x38] = 0;
        assert_eq!(unsupported(&bytes), Some(Unsupported::Static));
        bytes[0x40] = 3;
        bytes.extend(b"__tsan_init");
        assert_eq!(unsupported(&bytes), None);
        bytes.extend(b"__sanitizer_syscall_pre_impl_");
        assert_eq!(unsupported(&bytes), Some(Unsupported::HasRuntime));
    }

    #[test]
    fn other_files_are_distinguished() {
        assert_eq!(unsupported(b"#!/bin/sh\n"), Some(Unsupported::Script));
        assert_eq!(unsupported(b"int main(void)"), Some(Unsupported::NotElf));
        assert_eq!(unsupported(b""), Some(Unsupported::NotElf));
        assert_eq!(unsupported(b"\x7fELF"), Some(Unsupported::OtherProcessor));
    }

    #[cfg(unix)]
    #[test]
    fn set_id_bits_count_for_foreign_owners_only() {
        assert!(changes_identity(0o104755, true, false));
        assert!(changes_identity(0o102755, false, true));
        assert!(!changes_identity(0o104755, false, true));
        assert!(!changes_identity(0o100755, true, true));
    }
}
