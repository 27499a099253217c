//! A server of Redis or PostgreSQL for one test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::postgres;

/// Maximum time for a server to answer.
const START: Duration = Duration::from_secs(20);

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Postgres,
}

/// A server that logs every change, with a directory of its own.
pub struct Server {
    kind: Kind,
    process: Child,
    directory: PathBuf,
    port: u16,
    settings: Vec<&'static str>,
}

/// Runs tests on servers of both kinds: each is a function of the kind.
macro_rules! on_both_kinds {
    ($($name:ident)*) => {
        mod on_redis {
            $(#[test] fn $name() { super::$name(crate::server::Kind::Redis); })*
        }
        mod on_postgres {
            $(#[test] fn $name() { super::$name(crate::server::Kind::Postgres); })*
        }
    };
}
pub(crate) use on_both_kinds;

/// True when a server of this kind can be started. Says so otherwise.
pub fn exists(kind: Kind) -> bool {
    let (required, problem) = match kind {
        Kind::Redis => {
            let version = Command::new("redis-server").arg("--version").output();
            let is_there = version.is_ok_and(|output| output.status.success());
            let missing = "there is no redis-server (apt-get install redis-server)";
            (
                "RADDLE_REDIS_REQUIRED",
                (!is_there).then(|| missing.to_owned()),
            )
        }
        Kind::Postgres => ("RADDLE_POSTGRES_REQUIRED", postgres::problem()),
    };
    if let Some(problem) = &problem {
        let is_required = std::env::var_os(required).is_some();
        assert!(!is_required, "{required} is set, and {problem}");
        eprintln!("left out: {problem}");
    }
    problem.is_none()
}

/// A new directory for temporary files.
pub fn directory(name: &str) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("queue-{name}-{process}-{number}"));
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

impl Server {
    /// Starts a server of Redis; `None` if there is none on this machine.
    pub fn start() -> Option<Self> {
        Self::start_with(Kind::Redis, &[])
    }

    /// Starts a server of this kind.
    pub fn of(kind: Kind) -> Option<Self> {
        Self::start_with(kind, &[])
    }

    /// The same with more settings.
    pub fn start_with(kind: Kind, settings: &[&'static str]) -> Option<Self> {
        if !exists(kind) {
            return None;
        }
        let directory = match kind {
            Kind::Redis => directory("server"),
            Kind::Postgres => postgres::new_directory(),
        };
        // Another process may take the port before the server does.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            let process = run(kind, &directory, port, settings);
            let mut server = Server {
                kind,
                process,
                directory: directory.clone(),
                port,
                settings: settings.to_vec(),
            };
            if server.answers() {
                return Some(server);
            }
            std::mem::forget(server);
        }
        panic!("no server could be started in {}", directory.display());
    }

    /// Starts a server of PostgreSQL with a user who needs a password.
    pub fn with_password(user: &str, password: &str) -> Option<Self> {
        let server = Self::of(Kind::Postgres)?;
        postgres::add_user(server.port, &server.directory, user, password);
        Some(server)
    }

    /// True once the server answers; false if it has ended.
    fn answers(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < START {
            if let Ok(Some(_)) = self.process.try_wait() {
                return false;
            }
            let is_ready = match self.kind {
                Kind::Redis => TcpStream::connect(("127.0.0.1", self.port)).is_ok(),
                Kind::Postgres => postgres::is_ready(self.port),
            };
            if is_ready {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not answer");
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn address(&self) -> String {
        address(self.kind, self.port)
    }

    /// Kills the server after this time and starts it again in a state before it.
    pub fn forget(&mut self, time: Duration) {
        match self.kind {
            Kind::Redis => {
                let copy = directory("log");
                let log = self.directory.join("appendonlydir");
                for entry in fs::read_dir(log).unwrap() {
                    let path = entry.unwrap().path();
                    fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
                }
                thread::sleep(time);
                self.restart(Some(&copy));
            }
            // Its log is written every ten seconds, so that it always forgets some commits.
            Kind::Postgres => {
                thread::sleep(time);
                self.restart(None);
            }
        }
    }

    /// Kills the server and starts it again with nothing.
    pub fn forget_everything(&mut self) {
        let empty = match self.kind {
            Kind::Redis => directory("log"),
            Kind::Postgres => postgres::new_directory(),
        };
        self.restart(Some(&empty));
    }

    /// Kills the server and starts it again with these data, or with its own.
    fn restart(&mut self, data: Option<&Path>) {
        self.stop();
        if let Some(data) = data {
            let own = match self.kind {
                Kind::Redis => self.directory.join("appendonlydir"),
                Kind::Postgres => self.directory.clone(),
            };
            fs::remove_dir_all(&own).unwrap();
            fs::rename(data, &own).unwrap();
        }
        self.process = run(self.kind, &self.directory, self.port, &self.settings);
        assert!(self.answers(), "the server does not start again");
    }

    fn stop(&mut self) {
        match self.kind {
            Kind::Redis => self.process.kill().unwrap(),
            // Its processes end at once, and write nothing.
            Kind::Postgres => {
                let id = self.process.id().to_string();
                let _ = Command::new("kill").args(["-QUIT", &id]).status();
            }
        }
        let _ = self.process.wait();
    }
}

/// The address of a server on this machine.
pub fn address(kind: Kind, port: u16) -> String {
    match kind {
        Kind::Redis => format!("redis://127.0.0.1:{port}"),
        Kind::Postgres => format!("postgres://raddle@127.0.0.1:{port}/postgres"),
    }
}

fn run(kind: Kind, directory: &Path, port: u16, settings: &[&str]) -> Child {
    if kind == Kind::Postgres {
        return postgres::run(directory, port, settings);
    }
    let log = fs::File::options()
        .append(true)
        .create(true)
        .open(directory.join("output"));
    let mut command = Command::new("redis-server");
    command
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ])
        .args(["--appendonly", "yes", "--appendfsync", "everysec", "--dir"])
        .arg(directory)
        .args(settings)
        .stdout(log.unwrap())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
