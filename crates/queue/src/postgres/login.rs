//! User, password and database of a connection, as PostgreSQL's own clients find them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::stream::{Encryption, Verification};
use crate::{Address, Error};

/// User, password and database, and the encryption of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    pub encryption: Option<Encryption>,
}

impl Login {
    /// Takes what the address leaves out from the environment: `PGUSER`, `PGDATABASE`, `PGPASSWORD`, and the
    /// password file.
    pub fn of(address: &Address) -> Result<Self, Error> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Self::with(address, &variable, &|path| fs::read_to_string(path).ok())
    }

    fn with(
        address: &Address,
        variable: &dyn Fn(&str) -> Option<String>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<Self, Error> {
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let user = given(&address.user)
            .or_else(|| variable("PGUSER"))
            .or_else(|| variable("USER"))
            .unwrap_or_else(|| "postgres".to_owned());
        let database = given(&address.database)
            .or_else(|| variable("PGDATABASE"))
            .unwrap_or_else(|| user.clone());
        let from_file = || {
            let home = || Some(PathBuf::from(variable("HOME")?).join(".pgpass"));
            let file = variable("PGPASSFILE").map(PathBuf::from).or_else(home)?;
            let place = [&address.host, &address.port.to_string(), &database, &user];
            find(&read(&file)?, place.map(String::as_str))
        };
        let password = given(&address.password)
            .or_else(|| variable("PGPASSWORD"))
            .or_else(from_file);
        Ok(Login {
            user,
            password,
            database,
            encryption: encryption(address, variable)?,
        })
    }
}

/// Returns the encryption that `sslmode` asks for, as PostgreSQL's own clients understand it: that of the address, or
/// of `PGSSLMODE`. The modes that do without encryption if need be do without it always.
fn encryption(
    address: &Address,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Encryption>, Error> {
    let bad = |problem: String| Error::Address(format!("the address of the queue {problem}"));
    let mode = address.ssl_mode.clone().or_else(|| variable("PGSSLMODE"));
    let file = (address.authorities.clone()).or_else(|| variable("PGSSLROOTCERT"));
    let verification = match mode.as_deref() {
        None | Some("disable" | "allow" | "prefer") => return Ok(None),
        // As in those clients: an authority that is named is asked.
        Some("require") if file.is_none() => Verification::None,
        Some("require" | "verify-ca") => Verification::Authority,
        Some("verify-full") => Verification::Host,
        Some(other) => return Err(bad(format!("has the unknown `sslmode` {other}"))),
    };
    let authorities = match file {
        Some(file) if file == SYSTEM && verification != Verification::Host => {
            return Err(bad(format!(
                "has `sslrootcert={SYSTEM}`, which needs `sslmode=verify-full`: everyone gets a certificate of those \
                 authorities for some host"
            )));
        }
        Some(file) if file == SYSTEM => None,
        Some(file) => Some(file),
        None if verification == Verification::None => None,
        None => {
            let home = variable("HOME").unwrap_or_default();
            Some(format!("{home}/.postgresql/root.crt"))
        }
    };
    Ok(Some(Encryption {
        verification,
        authorities,
    }))
}

/// The value of `sslrootcert` for the authorities of the system.
const SYSTEM: &str = "system";

/// Returns the password of the first line of a password file that fits the place: host, port, database and user.
fn find(file: &str, place: [&str; 4]) -> Option<String> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let mut fitting = lines.filter_map(|line| {
        let mut fields = fields(line).into_iter();
        let fits = place.iter().all(|wanted| {
            fields
                .next()
                .is_some_and(|field| field == "*" || field == *wanted)
        });
        fields.next().filter(|_| fits)
    });
    fitting.next()
}

/// Splits a line at its colons; a backslash makes the next character plain.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().expect("there is one").extend(rest.next()),
            c => fields.last_mut().expect("there is one").push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(address: &str, variables: &[(&str, &str)], file: &str) -> (String, String, String) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let login = Login::with(&address.parse().unwrap(), &variable, &|path| {
            (path == Path::new("/home/me/.pgpass")).then(|| file.to_owned())
        });
        let login = login.unwrap();
        let password = login.password.unwrap_or_default();
        (login.user, password, login.database)
    }

    #[test]
    fn the_address_is_before_the_environment_and_that_before_the_file() {
        let texts = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        let file = "# one\nother:*:*:*:no\n*:5432:db:me:a\\:b:c\n";
        let home = ("HOME", "/home/me");
        let all = [
            home,
            ("PGUSER", "you"),
            ("PGDATABASE", "d"),
            ("PGPASSWORD", "p"),
        ];
        assert_eq!(
            login("postgres://u:x@h/y", &all, file),
            texts("u", "x", "y")
        );
        assert_eq!(login("postgres://h", &all, file), texts("you", "p", "d"));
        assert_eq!(
            login("postgres://me@h/db", &[home], file),
            texts("me", "a:b:c", "db")
        );
        assert_eq!(
            login("postgres://me@h/db2", &[home], file),
            texts("me", "", "db2")
        );
        assert_eq!(
            login("postgres://me@h:1/db", &[home], file),
            texts("me", "", "db")
        );
        assert_eq!(
            login("postgres://h", &[("USER", "os")], file),
            texts("os", "", "os")
        );
    }

    #[test]
    fn sslmode_means_what_it_means_to_psql() {
        let encryption = |address: &str, mode: &str, file: &str| {
            let variable = |name: &str| match name {
                "PGSSLMODE" => Some(mode.to_owned()).filter(|mode| !mode.is_empty()),
                "PGSSLROOTCERT" => Some(file.to_owned()).filter(|file| !file.is_empty()),
                "HOME" => Some("/home/me".to_owned()),
                _ => None,
            };
            let login = Login::with(&address.parse().unwrap(), &variable, &|_| None);
            login.map(|login| login.encryption.map(|it| (it.verification, it.authorities)))
        };
        let ok = |address, mode, file| encryption(address, mode, file).unwrap();
        let file = |name: &str| Some(name.to_owned());
        assert_eq!(ok("postgres://h", "", ""), None);
        assert_eq!(ok("postgres://h", "prefer", ""), None);
        assert_eq!(ok("postgres://h?sslmode=disable", "require", ""), None);
        let none = Some((Verification::None, None));
        assert_eq!(ok("postgres://h", "require", ""), none);
        let authority = |name| Some((Verification::Authority, file(name)));
        assert_eq!(ok("postgres://h", "require", "/ca"), authority("/ca"));
        assert_eq!(
            ok("postgres://h?sslmode=verify-ca", "", ""),
            authority("/home/me/.postgresql/root.crt")
        );
        assert_eq!(
            ok(
                "postgres://h?sslmode=verify-full&sslrootcert=system",
                "",
                "/ca"
            ),
            Some((Verification::Host, None))
        );
        assert!(encryption("postgres://h?sslmode=require", "", "system").is_err());
        assert!(encryption("postgres://h", "full", "").is_err());
    }
}
