//! Encrypted connections to real servers, with certificates of authorities that are made here.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::Machine;
use crate::postgres;
use crate::server::{Kind, Server, left_out};

/// A directory with two authorities, and a key whose certificate by the first is for the host `localhost` only.
struct Certificates(PathBuf);

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes certificates; `None` if there is no openssl on this machine.
fn certificates() -> Option<Certificates> {
    let version = Command::new("openssl").arg("version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        let is_required = std::env::var_os("RADDLE_REDIS_REQUIRED").is_some();
        assert!(
            !is_required,
            "RADDLE_REDIS_REQUIRED is set, and there is no openssl"
        );
        left_out("there is no openssl (apt-get install openssl)");
        return None;
    }
    let directory = postgres::directory_for_files("certificates");
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(&directory);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
    };
    const NEW: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for name in ["ca", "other"] {
        let files = format!("-keyout {name}.key -out {name}.crt -days 2 -subj /CN={name}");
        openssl(&format!("req -x509 {NEW} {files}"));
    }
    fs::write(directory.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
    openssl(&format!(
        "req -new {NEW} -keyout server.key -out server.csr -subj /CN=localhost"
    ));
    openssl(
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt",
    );
    let key = directory.join("server.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    postgres::give(&key);
    Some(Certificates(directory))
}

/// A server with TLS, and its port for that.
fn start(kind: Kind, directory: &Path) -> Option<(Server, u16)> {
    let file = |name: &str| directory.join(name).display().to_string();
    // The settings of a server are as long-lived as the tests.
    let setting = |text: String| -> &'static str { text.leak() };
    match kind {
        Kind::Redis => {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let settings = [
                ("--tls-port", port.to_string()),
                ("--tls-cert-file", file("server.crt")),
                ("--tls-key-file", file("server.key")),
                ("--tls-ca-cert-file", file("ca.crt")),
                ("--tls-auth-clients", "no".to_owned()),
            ];
            let settings: Vec<_> = (settings.into_iter())
                .flat_map(|(name, value)| [name, setting(value)])
                .collect();
            Some((Server::start_with(kind, &settings)?, port))
        }
        Kind::Postgres => {
            let settings = [
                "ssl=on",
                setting(format!("ssl_cert_file={}", file("server.crt"))),
                setting(format!("ssl_key_file={}", file("server.key"))),
            ];
            let server = Server::start_with(kind, &settings)?;
            let port = server.port();
            Some((server, port))
        }
    }
}

/// Connects, and makes one call; returns the error.
fn problem(address: &str) -> Option<String> {
    let status = raddle_queue::connect(&address.parse().unwrap());
    let status = status.and_then(|mut queue| queue.status());
    status.err().map(|error| error.to_string())
}

#[track_caller]
fn assert_refused(address: &str, reason: &str) {
    let problem = problem(address).expect("it is refused");
    assert!(problem.contains(reason), "{problem}");
}

const UNKNOWN: &str = "invalid peer certificate: UnknownIssuer";
const WRONG_HOST: &str = "invalid peer certificate: certificate not valid for name";

#[test]
fn redis_is_verified_with_its_host() {
    let Some(Certificates(directory)) = &certificates() else {
        return;
    };
    let Some((server, port)) = start(Kind::Redis, directory) else {
        return;
    };
    let file = |name: &str| {
        directory
            .join(name)
            .display()
            .to_string()
            .replace('/', "%2F")
    };
    let address =
        |host: &str, port: u16, name: &str| format!("rediss://{host}:{port}?cacert={}", file(name));
    let good = address("localhost", port, "ca.crt");
    assert_eq!(problem(&good), None);
    assert_refused(&address("127.0.0.1", port, "ca.crt"), WRONG_HOST);
    assert_refused(&address("localhost", port, "other.crt"), UNKNOWN);
    // Those of the system.
    assert_refused(&format!("rediss://localhost:{port}"), "TLS: ");
    assert_refused(&address("localhost", port, "none.crt"), "none.crt");
    assert_refused(
        &address("localhost", port, "names"),
        "contains no certificate",
    );
    assert_refused(&address("localhost", server.port(), "ca.crt"), "TLS: ");
    // The command line has it too.
    let status = Machine::new(&good).run(&["queue", "status"]);
    assert_eq!(status.stdout, "no run\n", "{status:?}");
}

#[test]
fn postgresql_is_verified_as_sslmode_says() {
    let Some(Certificates(directory)) = &certificates() else {
        return;
    };
    let Some((_server, port)) = start(Kind::Postgres, directory) else {
        return;
    };
    let Some(plain) = Server::of(Kind::Postgres) else {
        return;
    };
    let file = |name: &str| directory.join(name).display().to_string();
    let address = |host: &str, port: u16, options: &str| {
        format!("postgres://raddle@{host}:{port}/postgres?{options}")
    };
    let with = |mode: &str, name: &str| format!("sslmode={mode}&sslrootcert={}", file(name));
    for (host, options, refused) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), None),
        ("127.0.0.1", "sslmode=require".to_owned(), None),
        ("127.0.0.1", with("require", "ca.crt"), None),
        ("localhost", with("require", "other.crt"), Some(UNKNOWN)),
        ("127.0.0.1", with("verify-ca", "ca.crt"), None),
        ("localhost", with("verify-ca", "other.crt"), Some(UNKNOWN)),
        ("localhost", with("verify-full", "ca.crt"), None),
        ("127.0.0.1", with("verify-full", "ca.crt"), Some(WRONG_HOST)),
        ("localhost", with("verify-full", "other.crt"), Some(UNKNOWN)),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=system".to_owned(),
            Some("TLS: "),
        ),
        (
            "localhost",
            "sslmode=verify-ca&sslrootcert=system".to_owned(),
            Some("needs `sslmode=verify-full`"),
        ),
        (
            "localhost",
            "sslmode=full".to_owned(),
            Some("unknown `sslmode` full"),
        ),
    ] {
        let address = address(host, port, &options);
        match refused {
            None => assert_eq!(problem(&address), None, "{address}"),
            Some(reason) => assert_refused(&address, reason),
        }
    }
    let address = address("127.0.0.1", plain.port(), "sslmode=require");
    assert_refused(&address, "the server does not offer TLS");
}

/// The server's own record of its connections.
#[test]
fn postgresql_has_the_connection_as_an_encrypted_one() {
    let Some(Certificates(directory)) = &certificates() else {
        return;
    };
    let Some((server, port)) = start(Kind::Postgres, directory) else {
        return;
    };
    for (mode, encrypted) in [("require", "t"), ("disable", "f")] {
        let address = format!("postgres://raddle@127.0.0.1:{port}/postgres?sslmode={mode}");
        let mut queue = raddle_queue::connect(&address.parse().unwrap()).unwrap();
        queue.status().unwrap();
        let found = postgres::value(
            server.port(),
            "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'cargo-raddle'",
        );
        assert_eq!(found, encrypted);
        drop(queue);
        // Its connection ends after it.
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
