//! The address of a queue.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// Port of a Redis server unless the address has another.
const PORT: u16 = 6379;
/// Prefix of keys unless the address has another.
const PREFIX: &str = "raddle";

/// The address of a queue: `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]`. It is printed without
/// user and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: u32,
    pub(crate) prefix: String,
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // No message repeats the text, which may contain a password.
        let bad = |problem: &str| {
            Error::Address(format!(
                "the address of the queue {problem}; an address is \
                 redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]"
            ))
        };
        let (scheme, rest) = text
            .trim()
            .split_once("://")
            .ok_or_else(|| bad("has no scheme"))?;
        match scheme {
            "redis" | "valkey" => {}
            "rediss" | "valkeys" => {
                return Err(bad(
                    "asks for TLS, which is not built in: use a tunnel, such as `ssh -L` or stunnel",
                ));
            }
            "postgres" | "postgresql" => {
                return Err(bad("is of PostgreSQL, which is not supported yet"));
            }
            _ => return Err(bad("has an unknown scheme")),
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut prefix = PREFIX.to_owned();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("prefix", name)) if is_prefix(name) => prefix = name.to_owned(),
                Some(("prefix", _)) => {
                    return Err(bad(
                        "has a prefix of other characters than letters, digits, `-`, `_` and `.`",
                    ));
                }
                _ => return Err(bad("has an unknown option after `?`")),
            }
        }
        // A password may contain `/` only as %2F, as in every URL.
        let (rest, database) = rest.split_once('/').unwrap_or((rest, ""));
        let database = match database {
            "" => 0,
            number => number
                .parse()
                .map_err(|_| bad("has a database that is no number"))?,
        };
        let (login, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let decoded = |text| decode(text).ok_or_else(|| bad("has a bad escape such as `%2`"));
        let (host, port) = match place.rsplit_once(':') {
            // An IPv6 address without a port.
            Some((_, port)) if port.ends_with(']') => (place, PORT),
            Some((host, port)) => (
                host,
                port.parse()
                    .map_err(|_| bad("has a port that is no number"))?,
            ),
            None => (place, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(bad("has no host"));
        }
        Ok(Address {
            host: host.to_owned(),
            port,
            user: decoded(user)?,
            password: decoded(password)?,
            database,
            prefix,
        })
    }
}

fn is_prefix(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().all(is_plain)
}

/// Replaces the escapes of a URL.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address {
            host,
            port,
            database,
            prefix,
            ..
        } = self;
        match host.contains(':') {
            true => write!(f, "redis://[{host}]:{port}/{database}")?,
            false => write!(f, "redis://{host}:{port}/{database}")?,
        }
        match prefix == PREFIX {
            true => Ok(()),
            false => write!(f, "?prefix={prefix}"),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, String> {
        text.parse().map_err(|error: Error| error.to_string())
    }

    #[test]
    fn an_address_has_parts_with_defaults() {
        let address = parse("redis://example").unwrap();
        assert_eq!(address.to_string(), "redis://example:6379/0");
        assert_eq!((address.user.as_str(), address.password.as_str()), ("", ""));
        let address = parse("redis://me:a%2Fb%3Ac@10.0.0.1:7000/3?prefix=ci-1.x").unwrap();
        assert_eq!(address.to_string(), "redis://10.0.0.1:7000/3?prefix=ci-1.x");
        assert_eq!(
            (address.user.as_str(), address.password.as_str()),
            ("me", "a/b:c")
        );
        let address = parse("redis://:secret@[::1]:7000").unwrap();
        assert_eq!((address.host.as_str(), address.port), ("::1", 7000));
        assert_eq!(address.password, "secret");
        assert_eq!(
            parse("redis://[::1]").unwrap().to_string(),
            "redis://[::1]:6379/0"
        );
    }

    #[test]
    fn no_text_about_an_address_has_its_password() {
        let address = parse("redis://admin:secret@host").unwrap();
        assert!(!format!("{address} {address:?}").contains("secret"));
        for bad in [
            "http://admin:secret@host",
            "rediss://admin:secret@host",
            "postgres://admin:secret@host",
            "redis://admin:secret@host:x",
            "redis://admin:secret@host/x",
            "redis://admin:secret@host?prefix=",
            "redis://admin:secret@host?prefix=a%20b",
            "redis://admin:secret@host?tls=1",
            "redis://admin:secret@",
            "redis://admin:secret%2@host",
            "admin:secret@host",
        ] {
            let problem = parse(bad).unwrap_err();
            assert!(!problem.contains("secret"), "{problem}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_with_the_reason() {
        for (address, reason) in [
            ("rediss://host", "asks for TLS, which is not built in"),
            (
                "postgres://host",
                "is of PostgreSQL, which is not supported yet",
            ),
            (
                "postgresql://host",
                "is of PostgreSQL, which is not supported yet",
            ),
            ("amqp://host", "has an unknown scheme"),
            ("host:6379", "has no scheme"),
        ] {
            let problem = parse(address).unwrap_err();
            let start = format!("the address of the queue {reason}");
            assert!(problem.starts_with(&start), "{problem}");
        }
    }
}
