//! Search in binary files.

/// True when `part` occurs in `bytes`.
pub fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
