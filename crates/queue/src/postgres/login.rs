//! User, password and database of a connection, as PostgreSQL's own clients find them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Address;

/// User, password and database.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    pub password: Option<String>,
    pub database: String,
}

impl Login {
    /// Takes what the address leaves out from the environment: `PGUSER`, `PGDATABASE`, `PGPASSWORD`, and the
    /// password file.
    pub fn of(address: &Address) -> Self {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        Self::with(address, &variable, &|path| fs::read_to_string(path).ok())
    }

    fn with(
        address: &Address,
        variable: &dyn Fn(&str) -> Option<String>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Self {
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
        Login {
            user,
            password,
            database,
        }
    }
}

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
}
