//! A server of Redis for one test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const REQUIRED: &str = "RADDLE_REDIS_REQUIRED";
/// Maximum time for a server to answer.
const START: Duration = Duration::from_secs(20);

/// A server that logs every change, with a directory of its own.
pub struct Server {
    process: Child,
    directory: PathBuf,
    port: u16,
    settings: Vec<&'static str>,
}

/// True when a server can be started. Says so otherwise.
pub fn exists() -> bool {
    let version = Command::new("redis-server").arg("--version").output();
    let is_there = version.is_ok_and(|output| output.status.success());
    if !is_there {
        let is_required = std::env::var_os(REQUIRED).is_some();
        assert!(
            !is_required,
            "{REQUIRED} is set, and there is no redis-server"
        );
        eprintln!("left out: there is no redis-server (apt-get install redis-server)");
    }
    is_there
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
    /// Starts a server; `None` if there is none on this machine.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with more settings.
    pub fn start_with(settings: &[&'static str]) -> Option<Self> {
        if !exists() {
            return None;
        }
        let directory = directory("server");
        // Another process may take the port before the server does.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            let process = run(&directory, port, settings);
            let mut server = Server {
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
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
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
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Copies the log of the server, which goes on.
    pub fn copy_log(&self) -> PathBuf {
        let copy = directory("log");
        let log = self.directory.join("appendonlydir");
        for entry in fs::read_dir(log).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
        }
        copy
    }

    /// Kills the server and starts it again with this log, or with its own.
    pub fn restart(&mut self, log: Option<&Path>) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        if let Some(log) = log {
            let own = self.directory.join("appendonlydir");
            fs::remove_dir_all(&own).unwrap();
            fs::rename(log, &own).unwrap();
        }
        self.process = run(&self.directory, self.port, &self.settings);
        assert!(self.answers(), "the server does not start again");
    }
}

fn run(directory: &Path, port: u16, settings: &[&str]) -> Child {
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
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}
