//! Pages in a folder: `PROGRAM/TEST/report.json` and `index.html` for each check, and one
//! `index.html` that lists them all.
//!
//! Several processes may write into one folder at the same time. Files are replaced atomically, by
//! writing a temporary file and renaming it. After a process has written the list, it reads the
//! checks again: if another one was added meanwhile, it repeats the write.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::render::html::document;
use crate::render::html::frame;

const DATA: &str = "report.json";
const PAGE: &str = "index.html";

/// Result of [`rebuild`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Rebuilt {
    /// Path of the run's page.
    pub index: PathBuf,
    /// Number of pages of checks.
    pub checks: usize,
    /// Files with the name of a check's data that are malformed.
    pub unreadable: Vec<PathBuf>,
}

/// Writes the page and the data of a check into its folder. Returns the path of the page.
pub fn write(folder: &Path, json: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    replace(&folder.join(DATA), json)?;
    let page = folder.join(PAGE);
    replace(&page, &frame::page(json))?;
    Ok(page)
}

/// Removes the page and the data of a check, and their folder if it is empty then.
pub fn remove(folder: &Path) -> io::Result<()> {
    std::fs::remove_file(folder.join(PAGE))?;
    std::fs::remove_file(folder.join(DATA))?;
    std::fs::remove_dir(folder)
}

/// Writes the page of a check into the folder of a run, and updates the list. Returns the path of
/// the page.
pub fn add(run: &Path, program: &str, test: &str, json: &str) -> io::Result<PathBuf> {
    let page = write(&run.join(program).join(test), json)?;
    list(run)?;
    Ok(page)
}

/// Regenerates all pages of a run from their data.
pub fn rebuild(run: &Path) -> io::Result<Rebuilt> {
    let mut unreadable = Vec::new();
    for data in documents(run)? {
        match summary(&data) {
            Some(_) => {
                let json = std::fs::read_to_string(&data)?;
                replace(&data.with_file_name(PAGE), &frame::page(&json))?;
            }
            None => unreadable.push(data),
        }
    }
    Ok(Rebuilt {
        checks: list(run)?,
        index: run.join(PAGE),
        unreadable,
    })
}

/// Writes the list of a run's checks. Returns their number.
fn list(run: &Path) -> io::Result<usize> {
    let mut checks = summaries(run)?;
    loop {
        replace(&run.join(PAGE), &frame::index(&checks))?;
        let now = summaries(run)?;
        if now == checks {
            return Ok(now.len());
        }
        checks = now;
    }
}

/// Returns the URL of the page and the JSON of the summary, for every check of a run.
fn summaries(run: &Path) -> io::Result<Vec<(String, String)>> {
    let mut summaries = Vec::new();
    for data in documents(run)? {
        if let Some(summary) = summary(&data) {
            let page = data.with_file_name(PAGE);
            let page = page.strip_prefix(run).unwrap_or(&page);
            let parts = page.iter().map(|part| part.to_string_lossy());
            let parts: Vec<String> = parts.map(|part| escaped(&part)).collect();
            summaries.push((parts.join("/"), summary));
        }
    }
    Ok(summaries)
}

/// Reads the JSON of a summary, which takes the first line only.
fn summary(data: &Path) -> Option<String> {
    let mut first = String::new();
    let mut file = BufReader::new(std::fs::File::open(data).ok()?);
    file.read_line(&mut first).ok()?;
    document::summary(&first).map(str::to_owned)
}

/// Returns the data files of all checks of a run, sorted.
fn documents(run: &Path) -> io::Result<Vec<PathBuf>> {
    let mut documents = Vec::new();
    for program in folders(run)? {
        for test in folders(&program)? {
            documents.push(test.join(DATA));
        }
    }
    documents.retain(|document| document.is_file());
    documents.sort();
    Ok(documents)
}

fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    Ok(folders)
}

/// Percent-encodes a component of a path for a URL.
fn escaped(part: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escape = |byte: u8| match plain(byte) {
        true => (byte as char).to_string(),
        false => format!("%{byte:02X}"),
    };
    part.bytes().map(escape).collect()
}

/// Replaces a file atomically, because other processes may read or write it at the same time.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("{}-{number}.new", std::process::id()));
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        // The temporary file is incomplete.
        let _ = std::fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder, removed on drop.
    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new(name: &str) -> Self {
            let name = format!("raddle-pages-{name}-{}", std::process::id());
            TempFolder(std::env::temp_dir().join(name))
        }

        fn names(&self) -> Vec<String> {
            let all = summaries(&self.0).unwrap().into_iter();
            all.map(|(address, _)| address).collect()
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn document(test: &str) -> String {
        format!("{{\"summary\":{{\"test\":\"{test}\"}},\n\"report\":{{}}}}\n")
    }

    #[test]
    fn a_run_lists_its_checks_with_the_addresses_of_their_pages() {
        let folder = TempFolder::new("lists");
        add(&folder.0, "queue", "tests.b c#", &document("tests::b c#")).unwrap();
        add(&folder.0, "queue", "a", &document("a")).unwrap();
        let addresses = ["queue/a/index.html", "queue/tests.b%20c%23/index.html"];
        assert_eq!(folder.names(), addresses);
        let index = std::fs::read_to_string(folder.0.join(PAGE)).unwrap();
        assert!(addresses.iter().all(|address| index.contains(address)));
    }

    #[test]
    fn pages_are_rebuilt_from_their_data() {
        let folder = TempFolder::new("rebuild");
        let page = add(&folder.0, "queue", "a", &document("a")).unwrap();
        let (before, index) = (std::fs::read(&page).unwrap(), folder.0.join(PAGE));
        std::fs::remove_file(&page).unwrap();
        std::fs::remove_file(&index).unwrap();
        let broken = folder.0.join("queue/b");
        std::fs::create_dir_all(&broken).unwrap();
        std::fs::write(broken.join(DATA), "oops").unwrap();
        let rebuilt = rebuild(&folder.0).unwrap();
        assert_eq!((rebuilt.checks, &rebuilt.index), (1, &index));
        assert_eq!(rebuilt.unreadable, [broken.join(DATA)]);
        assert_eq!(std::fs::read(&page).unwrap(), before);
        assert!(index.is_file());
    }

    #[test]
    fn concurrent_writers_lose_no_check() {
        let folder = TempFolder::new("many");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let run = &folder.0;
                scope.spawn(move || {
                    for number in 0..8 {
                        let test = format!("test_{thread}_{number}");
                        add(run, "queue", &test, &document(&test)).unwrap();
                    }
                });
            }
        });
        let index = std::fs::read_to_string(folder.0.join(PAGE)).unwrap();
        assert_eq!(index.matches("\"test\":\"test_").count(), 64);
        let left = std::fs::read_dir(&folder.0).unwrap().count();
        assert_eq!(left, 2, "the index and the folder of the program");
    }
}
