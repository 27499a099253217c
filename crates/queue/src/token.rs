//! Random tokens.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};

/// A name that no other process draws: 128 random bits in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token(String);

impl Token {
    /// Draws a token.
    pub fn random() -> Self {
        // The keys of every `RandomState` differ, and the first of a thread come from the operating system.
        let word = |salt: u64| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u64(salt);
            hasher.write_u32(std::process::id());
            hasher.finish()
        };
        Token(format!("{:016x}{:016x}", word(1), word(2)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Token;

    #[test]
    fn tokens_differ() {
        let tokens: HashSet<Token> = (0..10_000).map(|_| Token::random()).collect();
        assert_eq!(tokens.len(), 10_000);
    }
}
