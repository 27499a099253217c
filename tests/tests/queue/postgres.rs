//! Servers of PostgreSQL from Debian's package, each with a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::server;

/// The user that runs servers if root runs the tests, which the server refuses. Debian's package creates it.
const USER: &str = "postgres";

/// The directory with the programs of the server, which Debian keeps out of the path.
static PROGRAMS: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let versions = fs::read_dir("/usr/lib/postgresql").ok();
    let versions = versions.into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut all: Vec<PathBuf> = debian.collect();
    all.sort();
    all.extend(std::env::split_paths(&paths));
    all.into_iter()
        .find(|path| path.join("initdb").exists() && path.join("postgres").exists())
});

static IS_ROOT: LazyLock<bool> = LazyLock::new(|| {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.trim_ascii() == b"0"
});

/// An empty cluster, which every server copies. Later runs of the tests use it too.
static TEMPLATE: LazyLock<PathBuf> = LazyLock::new(|| {
    let version = program("postgres").arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout);
    let version: String = version.chars().filter(char::is_ascii_digit).collect();
    let base = base();
    let template = base.join(format!("template-{version}"));
    if !template.exists() {
        let new = base.join(format!("new-{}", std::process::id()));
        let _ = fs::remove_dir_all(&new);
        let mut create = program("initdb");
        create.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        create.args(["--username=raddle", "--pgdata"]).arg(&new);
        let output = create.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        // Another process may have been faster.
        if fs::rename(&new, &template).is_err() {
            let _ = fs::remove_dir_all(&new);
        }
    }
    template
});

/// Returns the reason why no server can be started, if there is one.
pub fn problem() -> Option<String> {
    if PROGRAMS.is_none() {
        return Some("there is no server of PostgreSQL (apt-get install postgresql)".to_owned());
    }
    let as_user = || program("postgres").arg("--version").output();
    let runs = as_user().is_ok_and(|output| output.status.success());
    (!runs).then(|| format!("PostgreSQL cannot be run as the user {USER}, and refuses root"))
}

/// A command of the package, run by a user that the server accepts.
fn program(name: &str) -> Command {
    let program = PROGRAMS.as_ref().expect("it is there").join(name);
    if !*IS_ROOT {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={USER}"), &format!("--regid={USER}")]);
    command.arg("--clear-groups").arg(program).current_dir("/");
    command
}

/// The directory for servers: one that their user can reach.
fn base() -> PathBuf {
    let base = match *IS_ROOT {
        true => std::env::temp_dir().join("raddle-queue-postgres"),
        false => Path::new(env!("CARGO_TARGET_TMPDIR")).join("queue-postgres"),
    };
    fs::create_dir_all(&base).unwrap();
    if *IS_ROOT {
        let owner = Command::new("chown").arg(USER).arg(&base).status();
        assert!(owner.unwrap().success());
    }
    base
}

/// A new directory with an empty cluster.
pub fn new_directory() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let path = base().join(format!("server-{process}-{number}"));
    let _ = fs::remove_dir_all(&path);
    let copied = Command::new("cp")
        .arg("-a")
        .arg(&*TEMPLATE)
        .arg(&path)
        .status();
    assert!(copied.unwrap().success());
    path
}

/// A new directory for files that the user of servers can read.
pub fn directory_for_files(name: &str) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    if problem().is_some() {
        return server::directory(name);
    }
    let number = NUMBER.fetch_add(1, Relaxed);
    let path = base().join(format!("{name}-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Makes a file one of the user of servers.
pub fn give(file: &Path) {
    if *IS_ROOT && problem().is_none() {
        let owner = Command::new("chown").arg(USER).arg(file).status();
        assert!(owner.unwrap().success());
    }
}

/// The command that starts a server.
pub fn command(directory: &Path, port: u16, settings: &[&str]) -> Command {
    let log = fs::File::options()
        .append(true)
        .create(true)
        .open(directory.join("output"));
    // The log of changes is written as late as can be, so that a crash forgets commits.
    let late = [
        "wal_writer_delay=10s",
        "wal_writer_flush_after=1GB",
        "wal_buffers=64MB",
    ];
    let settings = [&late, settings].concat();
    let mut command = program("postgres");
    command
        .arg("-D")
        .arg(directory)
        .args(["-p", &port.to_string()]);
    command.args([
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "unix_socket_directories=",
    ]);
    for setting in settings {
        command.args(["-c", setting]);
    }
    command.stdout(Stdio::null()).stderr(log.unwrap());
    command
}

/// True once the server answers.
pub fn is_ready(port: u16) -> bool {
    let mut command = program("pg_isready");
    command.args(["--quiet", "--host=127.0.0.1", &format!("--port={port}")]);
    command.status().is_ok_and(|status| status.success())
}

/// Adds an administrator who needs a password, unlike the first.
pub fn add_user(port: u16, directory: &Path, user: &str, password: &str) {
    let rules = format!("host all {user} all scram-sha-256\nhost all all all trust\n");
    fs::write(directory.join("pg_hba.conf"), rules).unwrap();
    let statement = format!("CREATE ROLE {user} LOGIN SUPERUSER PASSWORD '{password}'");
    run(port, &[&statement, "SELECT pg_reload_conf()"]);
}

/// Has the server write the log of all changes so far to the disk.
pub fn write_log(port: u16) {
    run(port, &["CHECKPOINT"]);
}

/// Runs a statement and returns the values of its result, line by line.
pub fn value(port: u16, statement: &str) -> String {
    let mut command = program("psql");
    command.args(["--host=127.0.0.1", &format!("--port={port}")]);
    command.args(["--username=raddle", "--dbname=postgres", "--tuples-only"]);
    command.args(["--no-align", "--command", statement]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs statements.
fn run(port: u16, statements: &[&str]) {
    let mut command = program("psql");
    command.args(["--quiet", "--host=127.0.0.1", &format!("--port={port}")]);
    command.args(["--username=raddle", "--dbname=postgres"]);
    for statement in statements {
        command.args(["--command", statement]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
