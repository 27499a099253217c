//! Servers of Redis and PostgreSQL: one of each kind that tests share, and those that a test has for itself.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
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

/// A place on a server that logs every change.
pub struct Server {
    kind: Kind,
    port: u16,
    /// The prefix or schema on a server that tests share.
    prefix: Option<String>,
    /// The server, if it is one for this test only.
    own: Option<Process>,
}

/// The process of a server, with its directory.
struct Process {
    kind: Kind,
    process: Child,
    directory: PathBuf,
    port: u16,
    settings: Vec<&'static str>,
}

/// The ports of the servers that tests share; `None` if there is no server of this kind on this machine.
static SHARED: LazyLock<[Option<u16>; 2]> =
    LazyLock::new(|| [Kind::Redis, Kind::Postgres].map(start_shared));

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
        left_out(problem);
    }
    problem.is_none()
}

/// Says that a test does nothing, where the output of passing tests is not shown.
pub fn left_out(problem: &str) {
    let line = format!("left out: {problem}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
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
    /// Returns a place on the shared server of Redis; `None` if there is none on this machine.
    pub fn start() -> Option<Self> {
        Self::of(Kind::Redis)
    }

    /// Returns a place on the shared server of this kind.
    pub fn of(kind: Kind) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let port = SHARED[kind as usize]?;
        Some(Server {
            kind,
            port,
            prefix: Some(format!("test-{}", NUMBER.fetch_add(1, Relaxed))),
            own: None,
        })
    }

    /// Starts a server for one test.
    pub fn own(kind: Kind) -> Option<Self> {
        Self::start_with(kind, &[])
    }

    /// The same with more settings.
    pub fn start_with(kind: Kind, settings: &[&'static str]) -> Option<Self> {
        let process = Process::start(kind, settings, |command, _| command)?;
        Some(Server {
            kind,
            port: process.port,
            prefix: None,
            own: Some(process),
        })
    }

    /// Starts a server of PostgreSQL with a user who needs a password.
    pub fn with_password(user: &str, password: &str) -> Option<Self> {
        let server = Self::own(Kind::Postgres)?;
        let directory = &server.own.as_ref().unwrap().directory;
        postgres::add_user(server.port, directory, user, password);
        Some(server)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process of a server for one test, and its directory.
    pub fn id(&self) -> u32 {
        self.own.as_ref().expect("a server of its own").process.id()
    }

    pub fn directory(&self) -> &Path {
        &self.own.as_ref().expect("a server of its own").directory
    }

    pub fn address(&self) -> String {
        self.address_by(self.port)
    }

    /// The address of the same place by another port.
    pub fn address_by(&self, port: u16) -> String {
        let prefix = self.prefix.as_deref();
        match self.kind {
            Kind::Redis => {
                let prefix = prefix.map(|name| format!("?prefix={name}"));
                format!("redis://127.0.0.1:{port}{}", prefix.unwrap_or_default())
            }
            Kind::Postgres => {
                let schema = prefix.map(|name| format!("?schema={name}"));
                let schema = schema.unwrap_or_default();
                format!("postgres://raddle@127.0.0.1:{port}/postgres{schema}")
            }
        }
    }

    /// Kills the server after this time and starts it again in a state before it. `last` runs just before.
    pub fn forget(&mut self, time: Duration, last: impl FnOnce()) {
        let state = self.process().state();
        thread::sleep(time);
        last();
        self.process().restart(state.as_deref());
    }

    /// Kills the server and starts it again with nothing.
    pub fn forget_everything(&mut self) {
        let empty = match self.kind {
            Kind::Redis => directory("log"),
            Kind::Postgres => postgres::new_directory(),
        };
        self.process().restart(Some(&empty));
    }

    /// Runs an action, then kills the server and starts it again in the state before the action.
    pub fn undo<T>(&mut self, action: impl FnOnce() -> T) -> T {
        match self.kind {
            Kind::Redis => wait_for_log(self.port),
            Kind::Postgres => postgres::write_log(self.port),
        }
        let state = self.process().state();
        let result = action();
        self.process().restart(state.as_deref());
        result
    }

    fn process(&mut self) -> &mut Process {
        self.own.as_mut().expect("a server of its own")
    }
}

/// Waits until the log of a server of Redis has all changes so far: while the disk is busy, writes are put off.
fn wait_for_log(port: u16) {
    let start = Instant::now();
    while start.elapsed() < START {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
        connection
            .write_all(b"INFO persistence\r\nQUIT\r\n")
            .unwrap();
        let mut state = String::new();
        connection.read_to_string(&mut state).unwrap();
        if state.contains("aof_buffer_length:0\r\n") {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("the server does not write its log");
}

/// Starts a server that ends with this process, and returns its port.
fn start_shared(kind: Kind) -> Option<u16> {
    // The shell waits for the end of its input, which is that of this process.
    let script = "directory=$1; shift; \"$@\" & server=$!; read _; kill -$SIGNAL $server; wait; rm -rf \"$directory\"";
    let with_shell = |command: Command, directory: &Path| {
        let mut shell = Command::new("sh");
        let signal = match kind {
            Kind::Redis => "KILL",
            Kind::Postgres => "QUIT",
        };
        shell
            .env("SIGNAL", signal)
            .args(["-c", script, "sh"])
            .arg(directory);
        shell.arg(command.get_program()).args(command.get_args());
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        shell.current_dir("/");
        shell
    };
    let server = Process::start(kind, &[], with_shell)?;
    let port = server.port;
    std::mem::forget(server);
    Some(port)
}

impl Process {
    /// Starts a server by a command that `wrapped` makes of the usual one.
    fn start(
        kind: Kind,
        settings: &[&'static str],
        wrapped: impl Fn(Command, &Path) -> Command,
    ) -> Option<Self> {
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
            let command = command(kind, &directory, port, settings);
            let process = wrapped(command, &directory).spawn().unwrap();
            let mut server = Process {
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

    /// A copy of the state on disk; `None` if a crash leaves it as it is now.
    fn state(&self) -> Option<PathBuf> {
        match self.kind {
            Kind::Redis => {
                let copy = directory("log");
                for entry in fs::read_dir(self.directory.join("appendonlydir")).unwrap() {
                    let path = entry.unwrap().path();
                    fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
                }
                Some(copy)
            }
            // Its log is written every ten seconds, so that it always forgets some commits.
            Kind::Postgres => None,
        }
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
        let mut command = command(self.kind, &self.directory, self.port, &self.settings);
        self.process = command.spawn().unwrap();
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

fn command(kind: Kind, directory: &Path, port: u16, settings: &[&str]) -> Command {
    if kind == Kind::Postgres {
        return postgres::command(directory, port, settings);
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
    command
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
