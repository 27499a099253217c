//! Counts as text.

/// Formats a count with its noun: `1 test`, `2 tests`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}
