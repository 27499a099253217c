//! The machine and the software of the measurements.

use std::process::Command;

/// The packages that are compared with, in `Cargo.lock`.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// Returns sentences for the top of the page.
pub(super) fn describe() -> String {
    let date = output("date", &["-u", "+%Y-%m-%d"]);
    let compiler = output("rustc", &["--version"]);
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = information
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!(
        "Measured on {date}: {processor}, {cores} cores, {}, {compiler}, loom {}, shuttle {}.",
        output("uname", &["-sm"]),
        version("loom", LOCK),
        version("shuttle", LOCK),
    )
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map_or_else(|_| Vec::new(), |output| output.stdout);
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    match text.is_empty() {
        true => format!("unknown {program}"),
        false => text,
    }
}

/// Returns the version of a package in a lock file.
fn version<'a>(package: &str, lock: &'a str) -> &'a str {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    let version = lines.next().and_then(|line| {
        let version = line.strip_prefix("version = \"")?;
        version.strip_suffix('"')
    });
    version.unwrap_or("of unknown version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = "[[package]]\nname = \"loom-macros\"\nversion = \"9.9.9\"\n\n\
                    [[package]]\nname = \"loom\"\nversion = \"0.7.2\"\n";
        assert_eq!(version("loom", lock), "0.7.2");
        assert_eq!(version("weft", lock), "of unknown version");
    }
}
