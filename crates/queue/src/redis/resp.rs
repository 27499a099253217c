//! The protocol of Redis (RESP2), as far as the queue needs it.
//!
//! The client is written here because the usual crates bring dozens of others along, and the queue sends a dozen
//! commands.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use crate::Address;
use crate::stream::Stream;

/// Maximum length of one text; the limit of the server.
const MAX_TEXT: i64 = 512 << 20;
/// Maximum number of elements of a list, and of lists in lists; far beyond the replies of the queue.
const MAX_LIST: i64 = 1 << 24;
const MAX_DEPTH: u32 = 8;
/// Maximum length of a line: of an error message.
const MAX_LINE: u64 = 64 << 10;

/// A reply of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Nothing,
    Number(i64),
    Text(String),
    List(Vec<Reply>),
    Error(String),
}

impl Reply {
    pub fn text(self) -> Option<String> {
        match self {
            Reply::Text(text) => Some(text),
            Reply::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    pub fn number(self) -> Option<u64> {
        match self {
            Reply::Number(number) => u64::try_from(number).ok(),
            Reply::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn list(self) -> Option<Vec<Reply>> {
        match self {
            Reply::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns a list of texts.
    pub fn texts(self) -> Option<Vec<String>> {
        self.list()?.into_iter().map(Reply::text).collect()
    }

    /// Returns a list of names, each followed by its value.
    pub fn pairs(self) -> Option<Vec<(String, String)>> {
        let mut texts = self.texts()?.into_iter();
        let mut pairs = Vec::new();
        while let Some(name) = texts.next() {
            pairs.push((name, texts.next()?));
        }
        Some(pairs)
    }
}

/// A connection to a server.
pub struct Connection(BufReader<Stream>);

impl Connection {
    /// Connects within this time, which then holds for every wait.
    pub fn open(address: &Address, time: Duration) -> io::Result<Self> {
        let mut stream = Stream::connect(&address.host, address.port, time)?;
        if let Some(encryption) = &address.encryption {
            stream = stream.encrypt(&address.host, encryption)?;
        }
        Ok(Connection(BufReader::new(stream)))
    }

    /// Sends a command and returns the reply.
    pub fn call(&mut self, words: &[&str]) -> io::Result<Reply> {
        let stream = self.0.get_mut();
        stream.write_all(&command(words))?;
        stream.flush()?;
        read(&mut self.0)
    }
}

/// Returns the bytes of a command.
fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend(word.as_bytes());
        bytes.extend(b"\r\n");
    }
    bytes
}

/// Reads a reply.
pub fn read(from: &mut impl BufRead) -> io::Result<Reply> {
    read_nested(from, 0)
}

fn read_nested(from: &mut impl BufRead, depth: u32) -> io::Result<Reply> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = String::from_utf8(line).map_err(|_| bad("bytes that are no text"))?;
    let line = line
        .strip_suffix("\r\n")
        .ok_or_else(|| bad(line.trim_end()))?;
    let kind = line.chars().next().unwrap_or(' ');
    let rest = line.get(kind.len_utf8()..).unwrap_or_default();
    let number = |most: i64| match rest.parse::<i64>() {
        Ok(number) if (-1..=most).contains(&number) => Ok(number),
        _ => Err(bad(line)),
    };
    match kind {
        '+' => Ok(Reply::Text(rest.to_owned())),
        '-' => Ok(Reply::Error(rest.to_owned())),
        ':' => rest.parse().map(Reply::Number).map_err(|_| bad(line)),
        '$' => match number(MAX_TEXT)? {
            -1 => Ok(Reply::Nothing),
            length => {
                let mut bytes = Vec::new();
                from.take(length as u64).read_to_end(&mut bytes)?;
                let mut end = [0; 2];
                from.read_exact(&mut end)?;
                if bytes.len() as i64 != length || end != *b"\r\n" {
                    return Err(bad("a text of another length"));
                }
                let text = String::from_utf8(bytes);
                text.map(Reply::Text)
                    .map_err(|_| bad("bytes that are no text"))
            }
        },
        '*' if depth < MAX_DEPTH => match number(MAX_LIST)? {
            -1 => Ok(Reply::Nothing),
            length => {
                let elements = (0..length).map(|_| read_nested(from, depth + 1));
                elements.collect::<io::Result<_>>().map(Reply::List)
            }
        },
        _ => Err(bad(line)),
    }
}

fn bad(line: &str) -> io::Error {
    let line: String = line.chars().take(80).collect();
    let text = format!("the server does not speak the protocol of Redis: `{line}`");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: &[u8] = b"*4\r\n$3\r\na\r\n\r\n:-7\r\n*2\r\n$-1\r\n+OK\r\n-ERR no\r\n";

    #[test]
    fn replies_are_read() {
        let expected = Reply::List(vec![
            Reply::Text("a\r\n".to_owned()),
            Reply::Number(-7),
            Reply::List(vec![Reply::Nothing, Reply::Text("OK".to_owned())]),
            Reply::Error("ERR no".to_owned()),
        ]);
        // A text of three bytes may contain the end of a line.
        assert_eq!(read(&mut &REPLY[..]).unwrap(), expected);
        for length in 0..REPLY.len() {
            assert!(read(&mut &REPLY[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn other_protocols_are_refused() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"$9999999999\r\n",
            b"$-2\r\n",
            b"*99999999999\r\n",
            b"$1\r\nab\r\n",
            b"\xff\r\n",
            b"\r\n",
        ] {
            assert!(read(&mut &bytes[..]).is_err());
        }
        let deep = b"*1\r\n".repeat(1000);
        assert!(read(&mut &deep[..]).is_err());
    }

    #[test]
    fn commands_have_the_lengths_of_their_words() {
        assert_eq!(
            command(&["GET", "ä"]),
            "*2\r\n$3\r\nGET\r\n$2\r\nä\r\n".as_bytes()
        );
    }
}
