//! Running tests: processes that were told to use the folder of the soak.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The processes that have this folder in their environment and are no command, by their numbers.
pub fn of(folder: &Path) -> Vec<u32> {
    let variable = format!("RADDLE_DIR={}\0", folder.display());
    let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_test = |number: &u32| {
        let read = |file: &str| std::fs::read(format!("/proc/{number}/{file}")).unwrap_or_default();
        let name = read("comm");
        name.starts_with(b"bugs-") && contains(&read("environ"), variable.as_bytes())
    };
    numbers.filter(is_test).collect()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Ends a process at once; whether it was there.
pub fn kill(process: u32) -> bool {
    let killed = Command::new("kill")
        .args(["-9", &process.to_string()])
        .status();
    killed.is_ok_and(|status| status.success())
}

/// Waits until no test runs any more.
pub fn wait_for_none(folder: &Path, patience: Duration) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match of(folder) {
            left if left.is_empty() => return Ok(()),
            left if start.elapsed() > patience => {
                return Err(format!("still running without anybody: {left:?}"));
            }
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}
