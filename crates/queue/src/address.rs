//! The address of a queue.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::stream::{Encryption, Verification};

/// Prefix of keys, or schema of tables, unless the address has another.
const PREFIX: &str = "raddle";
/// Maximum length of the name of a schema: the name of its channel is longer, and the server cuts names at 63 bytes.
const MAX_SCHEMA: usize = 48;

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis,
    Postgres,
}

impl Kind {
    fn port(self) -> u16 {
        match self {
            Kind::Redis => 6379,
            Kind::Postgres => 5432,
        }
    }
}

/// The address of a queue: `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME]` or
/// `postgres://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?schema=NAME]`. It is printed without user and password.
/// `rediss://`, and `sslmode` of PostgreSQL, ask for an encrypted connection.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) kind: Kind,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
    /// The number of the database of Redis, or the name of that of PostgreSQL; empty for its default.
    pub(crate) database: String,
    pub(crate) prefix: String,
    /// The encryption that the scheme of Redis asks for.
    pub(crate) encryption: Option<Encryption>,
    /// The `sslmode` of PostgreSQL, and the file with certificates of authorities, if the address has them.
    pub(crate) ssl_mode: Option<String>,
    pub(crate) authorities: Option<String>,
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // No message repeats the text, which may contain a password.
        let bad = |problem: &str| {
            Error::Address(format!(
                "the address of the queue {problem}; an address is \
                 redis[s]://[USER:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME] or \
                 postgres://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?schema=NAME]"
            ))
        };
        let (scheme, rest) = text
            .trim()
            .split_once("://")
            .ok_or_else(|| bad("has no scheme"))?;
        let kind = match scheme {
            "redis" | "valkey" | "rediss" | "valkeys" => Kind::Redis,
            "postgres" | "postgresql" => Kind::Postgres,
            _ => return Err(bad("has an unknown scheme")),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let decoded = |text| decode(text).ok_or_else(|| bad("has a bad escape such as `%2`"));
        let is_encrypted = matches!(scheme, "rediss" | "valkeys");
        let mut prefix = PREFIX.to_owned();
        let (mut ssl_mode, mut authorities) = (None, None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match (option.split_once('='), kind) {
                (Some(("prefix", name)), Kind::Redis)
                | (Some(("schema", name)), Kind::Postgres) => {
                    prefix = name.to_owned();
                }
                (Some(("sslmode", mode)), Kind::Postgres) => ssl_mode = Some(mode.to_owned()),
                (Some(("sslrootcert", file)), Kind::Postgres) => authorities = Some(decoded(file)?),
                (Some(("cacert", file)), Kind::Redis) if is_encrypted => {
                    authorities = Some(decoded(file)?);
                }
                _ => return Err(bad("has an unknown option after `?`")),
            }
        }
        if !is_prefix(&prefix) {
            return Err(bad(
                "has a prefix or schema of other characters than letters, digits, `-`, `_` and `.`",
            ));
        }
        if kind == Kind::Postgres && prefix.len() > MAX_SCHEMA {
            return Err(bad("has a schema with a name of more than 48 characters"));
        }
        // A password may contain `/` only as %2F, as in every URL.
        let (rest, database) = rest.split_once('/').unwrap_or((rest, ""));
        let database = match (kind, database) {
            (Kind::Redis, "") => "0".to_owned(),
            (Kind::Redis, number) => match number.parse::<u32>() {
                Ok(number) => number.to_string(),
                Err(_) => return Err(bad("has a database that is no number")),
            },
            (Kind::Postgres, name) => decoded(name)?,
        };
        let (login, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (host, port) = match place.rsplit_once(':') {
            // An IPv6 address without a port.
            Some((_, port)) if port.ends_with(']') => (place, kind.port()),
            Some((host, port)) => (
                host,
                port.parse()
                    .map_err(|_| bad("has a port that is no number"))?,
            ),
            None => (place, kind.port()),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(bad("has no host"));
        }
        Ok(Address {
            kind,
            host: host.to_owned(),
            port,
            user: decoded(user)?,
            password: decoded(password)?,
            database,
            prefix,
            encryption: is_encrypted.then(|| Encryption {
                verification: Verification::Host,
                authorities: authorities.clone(),
            }),
            ssl_mode,
            authorities,
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
            kind,
            host,
            port,
            database,
            prefix,
            encryption,
            ..
        } = self;
        let (scheme, option) = match kind {
            Kind::Redis if encryption.is_some() => ("rediss", "prefix"),
            Kind::Redis => ("redis", "prefix"),
            Kind::Postgres => ("postgres", "schema"),
        };
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}")?,
            false => write!(f, "{scheme}://{host}:{port}")?,
        }
        if !database.is_empty() {
            write!(f, "/{database}")?;
        }
        match prefix == PREFIX {
            true => Ok(()),
            false => write!(f, "?{option}={prefix}"),
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
    fn encryption_is_asked_for_by_the_scheme_or_by_sslmode() {
        let encrypted = parse("rediss://h?cacert=%2Fetc%2Fca.crt&prefix=p").unwrap();
        assert_eq!(encrypted.to_string(), "rediss://h:6379/0?prefix=p");
        let encryption = Encryption {
            verification: Verification::Host,
            authorities: Some("/etc/ca.crt".to_owned()),
        };
        assert_eq!(encrypted.encryption, Some(encryption));
        assert_eq!(parse("redis://h").unwrap().encryption, None);
        // A file of authorities is of no use without encryption.
        assert!(parse("redis://h?cacert=/etc/ca.crt").is_err());
        let postgres = parse("postgres://h?sslmode=require&sslrootcert=/ca").unwrap();
        assert_eq!(postgres.ssl_mode.as_deref(), Some("require"));
        assert_eq!(postgres.authorities.as_deref(), Some("/ca"));
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
    fn an_address_of_postgresql_has_the_parts_of_its_users() {
        let address = parse("postgresql://me@example").unwrap();
        assert_eq!(address.to_string(), "postgres://example:5432");
        assert_eq!(
            (address.user.as_str(), address.database.as_str()),
            ("me", "")
        );
        let address = parse("postgres://me:a%40b@[::1]:7000/my%20db?schema=ci-1&sslmode=prefer");
        let address = address.unwrap();
        assert_eq!(
            address.to_string(),
            "postgres://[::1]:7000/my db?schema=ci-1"
        );
        assert_eq!(address.password, "a@b");
        let long = format!("postgres://host?schema={}", "x".repeat(49));
        assert!(
            parse(&long)
                .unwrap_err()
                .contains("more than 48 characters")
        );
    }

    #[test]
    fn no_text_about_an_address_has_its_password() {
        let address = parse("redis://admin:secret@host").unwrap();
        assert!(!format!("{address} {address:?}").contains("secret"));
        for bad in [
            "http://admin:secret@host",
            "rediss://admin:secret@host?cacert=%2",
            "postgres://admin:secret@host?sslrootcert=%2",
            "postgres://admin:secret@host?schema=a%22b",
            "postgres://admin:secret@host/%2",
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
            ("postgres://host?prefix=a", "has an unknown option"),
            ("redis://host?schema=a", "has an unknown option"),
            ("amqp://host", "has an unknown scheme"),
            ("host:6379", "has no scheme"),
        ] {
            let problem = parse(address).unwrap_err();
            let start = format!("the address of the queue {reason}");
            assert!(problem.starts_with(&start), "{problem}");
        }
    }
}
