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
    /// Number of instructions.
    pub instructions: u64,
    /// Number of times its first instruction was reached.
    pub calls: u64,
    /// The functions from which that was, and how often, the most frequent first.
    pub callers: Vec<(String, u64)>,
}

/// Instructions of the counted part of a program.
pub struct Profile {
    /// Those of each function.
    pub functions: Vec<Row>,
    /// Those from where the program's file calls a function of another file to the return, by that function. With
    /// the threads that the function switches to, up to their own code.
    pub entries: Vec<Row>,
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

    /// Counts these instructions, which are in the order in which they ran.
    pub(crate) fn profile(&self, addresses: &[u64]) -> Profile {
        let mut files: HashMap<&Path, BTreeMap<u64, String>> = HashMap::new();
        let mut places: HashMap<u64, (Name, bool)> = HashMap::new();
        let mut by_function = Counts::default();
        let mut entries = Counts::default();
        let mut entered: Option<Name> = None;
        let mut before = Name::default();
        let program = self.0.first().map(|mapped| mapped.file.as_path());
        for &address in addresses {
            let mapped = self.0.iter().find(|it| it.addresses.contains(&address));
            let (name, is_first) = places.entry(address).or_insert_with(|| match mapped {
                None => (("code made at run time".into(), String::new()), false),
                Some(mapped) => {
                    let known = files.entry(&mapped.file);
                    let known = known.or_insert_with(|| functions(&mapped.file));
                    let place = address - mapped.base;
                    let file = mapped.file.file_name().unwrap_or_default();
                    let file = file.to_string_lossy().into_owned();
                    match known.range(..=place).next_back() {
                        Some((start, name)) => ((name.clone(), file), *start == place),
                        None => (("no symbol".into(), file), false),
                    }
                }
            });
            by_function.add(name, is_first.then_some(&*before.0));
            // Calls of other files go through jumps behind the last function of the file.
            let caller = match name.0 == "_fini" {
                true => String::new(),
                false => std::mem::replace(&mut before, name.clone()).0,
            };
            let is_programs = mapped.is_some_and(|mapped| Some(&*mapped.file) == program);
            match (is_programs, &entered) {
                (true, _) => entered = None,
                (false, None) => {
                    entries.add(name, Some(&caller));
                    entered = Some(name.clone());
                }
                (false, Some(entry)) => entries.add(entry, None),
            }
        }
        Profile {
            functions: by_function.rows(),
            entries: entries.rows(),
        }
    }
}

/// A function and its file.
type Name = (String, String);

#[derive(Default)]
struct Counts(HashMap<Name, Count>);

#[derive(Default)]
struct Count {
    instructions: u64,
    /// Calls by each caller.
    calls: BTreeMap<String, u64>,
}

impl Counts {
    fn add(&mut self, name: &Name, caller: Option<&str>) {
        if !self.0.contains_key(name) {
            self.0.insert(name.clone(), Count::default());
        }
        let count = self.0.get_mut(name).expect("it was inserted");
        count.instructions += 1;
        if let Some(caller) = caller {
            *count.calls.entry(caller.to_owned()).or_default() += 1;
        }
    }

    /// Returns a row for each function, those with the most instructions first.
    fn rows(self) -> Vec<Row> {
        let row = |((function, file), count): (Name, Count)| {
            let calls = count.calls.values().sum();
            let mut callers: Vec<_> = count.calls.into_iter().collect();
            callers.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
            Row {
                function,
                file,
                instructions: count.instructions,
                calls,
                callers,
            }
        };
        let mut rows: Vec<Row> = self.0.into_iter().map(row).collect();
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
