//! Settings as text in a server.

use crate::Settings;

/// Settings as text: each name and value in a line.
pub fn to_text(settings: &[(String, String)]) -> String {
    let line = |(name, value): &(String, String)| format!("{}\t{}\n", escape(name), escape(value));
    settings.iter().map(line).collect()
}

/// Reads settings from such a text.
pub fn of_text(text: &str) -> Settings {
    let pair = |line: &str| {
        let (name, value) = line.split_once('\t')?;
        Some((unescape(name), unescape(value)))
    };
    text.lines().filter_map(pair).collect()
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t")
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => match rest.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written() {
        let settings = vec![
            ("a".to_owned(), "tab\tline\nback\\slash\r".to_owned()),
            ("b c".to_owned(), String::new()),
        ];
        assert_eq!(of_text(&to_text(&settings)), settings);
    }
}
