//! The analysis of the loaded files: which reads are not relevant by themselves, and what code reads without a callback.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use raddle_relevance::{Analysis, Relevance, analyse};

use super::flow::Site;
use crate::engine::build_fingerprint_of;
use crate::host::imports;
use crate::host::loaded;
use crate::names::regions;

/// Functions of other files that read no variable of the program but the objects that they are for. Others may read what
/// the program has stored, such as a text.
const READ_NOTHING: &[&str] = &[
    "__assert_fail",
    "__cxa_atexit",
    "__cxa_finalize",
    "__errno_location",
    "__gmon_start__",
    "__libc_start_main",
    "__stack_chk_fail",
    "_exit",
    "abort",
    "aligned_alloc",
    "atexit",
    "calloc",
    "exit",
    "free",
    "malloc",
    "posix_memalign",
    "sched_yield",
    "sleep",
    "usleep",
];
const READ_NOTHING_PREFIXES: &[&str] = &[
    "__tsan_", "_ITM_", "_Zna", "_Znw", "_Zda", "_Zdl", "pthread_", "raddle_", "sem_",
];

/// The sites of all files.
#[derive(Default)]
pub(crate) struct Sites {
    /// Reads that are not relevant by themselves, with the writes that store their value.
    pub(crate) stores: BTreeMap<Site, Vec<Site>>,
    /// Memory that is loaded without a callback, by code for which it matters.
    unseen: Vec<Range<usize>>,
    /// True if code that is not followed may read any plain variable.
    pub(crate) hides_reads: bool,
}

impl Sites {
    /// Analyses the files of the program that are loaded now.
    pub(crate) fn find() -> Self {
        let mut files = Vec::new();
        loaded::each(|module| {
            if module.is_users() {
                files.push((module.base(), module.file()));
            }
        });
        let reads_nothing = |name: &str| {
            READ_NOTHING.contains(&name)
                || READ_NOTHING_PREFIXES
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
        };
        let mut sites = Sites {
            hides_reads: regions::is_rust() || !imports::all(reads_nothing),
            ..Sites::default()
        };
        for (base, file) in files {
            sites.add(base, &file);
        }
        sites
    }

    fn add(&mut self, base: usize, file: &Path) {
        let text = match std::fs::read(file) {
            Ok(contents) => text_of(&contents, file),
            Err(_) => None,
        };
        match text {
            Some(text) => self.add_lines(base, &text),
            // Nothing is known about what it reads.
            None => self.hides_reads = true,
        }
    }

    /// Adds the lines of [`to_text`]. Without one of them a read is relevant, and so is a line that is not understood.
    fn add_lines(&mut self, base: usize, text: &str) {
        let number = |word: &str| usize::from_str_radix(word, 16).ok().map(|it| base + it);
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
            let mut words = rest.split(' ').filter(|word| !word.is_empty());
            match (kind, words.next()) {
                ("read", Some(read)) => {
                    let writes: Option<Vec<Site>> = words.map(number).collect();
                    if let (Some(read), Some(writes)) = (number(read), writes) {
                        self.stores.insert(read, writes);
                    }
                }
                ("load", Some("?")) | ("hides", _) => self.hides_reads = true,
                ("load", Some(address)) => {
                    let size = words.next().and_then(|size| size.parse::<usize>().ok());
                    if let (Some(address), Some(size)) = (number(address), size) {
                        self.unseen.push(address..address + size);
                    }
                }
                _ => {}
            }
        }
    }

    /// True if code reads some of these bytes without a callback.
    pub(crate) fn are_loaded_unseen(&self, bytes: &Range<usize>) -> bool {
        let mut unseen = self.unseen.iter();
        unseen.any(|own| own.start < bytes.end && bytes.start < own.end)
    }
}

/// Returns the lines of a file, from the cache if it has them.
fn text_of(contents: &[u8], file: &Path) -> Option<String> {
    let cached = cache_file(file);
    let known = cached
        .as_ref()
        .and_then(|path| std::fs::read_to_string(path).ok());
    if let Some(known) = known.and_then(|text| Some(text.strip_suffix(END)?.to_owned())) {
        return Some(known);
    }
    let text = to_text(&analyse(contents).ok()?);
    if let Some(path) = cached {
        // Without a cache the next check analyses the file again.
        let folder = path.parent().unwrap_or(Path::new("."));
        let new = path.with_extension(std::process::id().to_string());
        let written = std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&new, format!("{text}{END}")))
            .and_then(|()| std::fs::rename(&new, &path));
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
    }
    Some(text)
}

/// The last line of a file in the cache.
const END: &str = "end\n";

/// Returns the file of the cache for a file of the program, which the builds of both determine.
fn cache_file(file: &Path) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = variable("RADDLE_DIR").map(PathBuf::from);
    let folder = folder
        .or_else(|| Some(PathBuf::from(variable("XDG_CACHE_HOME")?).join("raddle")))
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache/raddle")))?;
    let mut ours = None;
    loaded::each(|module| {
        if module.is_ours() {
            ours = Some(module.file());
        }
    });
    let (ours, of) = (build_fingerprint_of(&ours?), build_fingerprint_of(file));
    let name = |text: &str| text.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
    Some(
        folder
            .join("relevance")
            .join(format!("{}.{}", name(&of), name(&ours))),
    )
}

/// Returns what a search needs of an analysis: `read SITE STORES...` for each read that is not relevant by itself, and
/// `load ADDRESS SIZE` for each load without a callback whose value matters. Numbers are addresses in the file.
fn to_text(analysis: &Analysis) -> String {
    let mut text = String::new();
    for read in &analysis.reads {
        if matches!(
            read.verdict.relevance(),
            Relevance::None | Relevance::Stored
        ) {
            let _ = write!(text, "read {:x}", read.code);
            for store in &read.verdict.stores {
                let _ = write!(text, " {store:x}");
            }
            text.push('\n');
        }
    }
    for load in &analysis.unseen_loads {
        if load.verdict.relevance() != Relevance::None {
            match load.address {
                Some(address) => _ = writeln!(text, "load {address:x} {}", load.size),
                None => text += "load ?\n",
            }
        }
    }
    if analysis.unknown_functions + analysis.hidden_functions > 0 {
        text += "hides\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_not_understood_make_reads_relevant() {
        let mut sites = Sites::default();
        sites.add_lines(0x1000, "read 10 20 x\nread 11\nwhat 12\nread\nload 40 4\n");
        assert_eq!(sites.stores.keys().copied().collect::<Vec<_>>(), [0x1011]);
        assert!(sites.are_loaded_unseen(&(0x1043..0x1044)));
        assert!(!sites.are_loaded_unseen(&(0x1044..0x1048)));
        assert!(!sites.hides_reads);
        sites.add_lines(0x1000, "load ?");
        assert!(sites.hides_reads);
    }
}
