//! Names of the functions of a running process, as `nm` prints them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a function did in the counted part of a program.
pub struct Row {
    /// Name of the function, or of the file if it has no symbol there.
    pub function: String,
    /// Name of its file, without folders.
    pub file: String,
    /// Instructions, without those of the functions that it calls.
    pub instructions: u64,
    /// Number of times its first instruction was reached.
    pub calls: u64,
}

struct Mapped {
    addresses: Range<u64>,
    /// What is subtracted from an address to get that in the file's symbols.
    base: u64,
    file: PathBuf,
}

/// The executable mappings of a process.
pub(crate) struct Symbols(Vec<Mapped>);

impl Symbols {
    pub(crate) fn of(process: libc::pid_t) -> Result<Self, String> {
        let path = format!("/proc/{process}/maps");
        let maps = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let mut bases = HashMap::new();
        let mut found = Vec::new();
        for line in maps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [range, access, _, _, _, file, ..] = words[..] else {
                continue;
            };
            let Some(range) = parse(range) else { continue };
            let base = *bases.entry(file.to_owned()).or_insert(range.start);
            if access.contains('x') {
                found.push(Mapped {
                    addresses: range,
                    base,
                    file: file.into(),
                });
            }
        }
        Ok(Symbols(found))
    }

    /// Returns a row for each function, those with the most instructions first.
    pub(crate) fn rows(&self, counts: HashMap<u64, u64>) -> Vec<Row> {
        let mut files: HashMap<&Path, BTreeMap<u64, String>> = HashMap::new();
        let mut rows: HashMap<(String, String), (u64, u64)> = HashMap::new();
        for (address, count) in counts {
            let mapped = self.0.iter().find(|it| it.addresses.contains(&address));
            let (function, file, is_first) = match mapped {
                None => ("code made at run time".to_owned(), String::new(), false),
                Some(mapped) => {
                    let functions = files
                        .entry(&mapped.file)
                        .or_insert_with(|| functions(&mapped.file));
                    let place = address - mapped.base;
                    let file = mapped.file.file_name().unwrap_or_default();
                    let file = file.to_string_lossy().into_owned();
                    match functions.range(..=place).next_back() {
                        Some((start, name)) => (name.clone(), file, *start == place),
                        None => ("no symbol".to_owned(), file, false),
                    }
                }
            };
            let (instructions, calls) = rows.entry((function, file)).or_default();
            *instructions += count;
            *calls += if is_first { count } else { 0 };
        }
        let row = |((function, file), (instructions, calls))| Row {
            function,
            file,
            instructions,
            calls,
        };
        let mut rows: Vec<Row> = rows.into_iter().map(row).collect();
        rows.sort_by(|a, b| (b.instructions, &a.function).cmp(&(a.instructions, &b.function)));
        rows
    }
}

fn parse(range: &str) -> Option<Range<u64>> {
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(number(start)?..number(end)?)
}

/// Returns the functions of a file by their addresses; those that it exports if it has no other symbols.
fn functions(file: &Path) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    for kind in [&["-C"][..], &["-C", "-D"]] {
        let output = Command::new("nm").args(kind).arg(file).output();
        let text = output.map(|output| output.stdout).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(address), Some(kind), Some(name)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            if let Ok(address) = u64::from_str_radix(address, 16)
                && matches!(kind, "t" | "T" | "w" | "W" | "i")
            {
                found.insert(address, name.to_owned());
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}
