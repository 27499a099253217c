//! Words of a command line.

/// Returns the text as a word of a shell command, in quotes if necessary.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn values_are_quoted_if_a_shell_would_read_them_otherwise() {
        assert_eq!(shell_word("r1.Ab-_9"), "r1.Ab-_9");
        assert_eq!(shell_word("/a/b c"), "'/a/b c'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
