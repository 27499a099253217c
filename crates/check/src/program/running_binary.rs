//! The program that runs the check, as cargo has built it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The program that runs the check.
pub struct RunningBinary {
    /// Its name without the hash that cargo adds.
    pub name: String,
    /// True when `cargo test` runs it.
    pub is_test: bool,
    /// The folder for its schedules; `None` if cargo did not build it.
    pub(crate) folder: Option<PathBuf>,
}

/// Returns cargo's target folder, if cargo has built this binary. Cargo marks a folder that it has
/// made with a tag; a folder that existed before, as in a container, is recognised by cargo's other
/// files.
fn target(binary: &Path) -> Option<&Path> {
    let has = |file: &'static str| move |folder: &&Path| folder.join(file).is_file();
    let folders = || binary.ancestors().skip(1);
    let tagged = folders().find(has("CACHEDIR.TAG"));
    tagged.or_else(|| folders().find(has(".rustc_info.json")))
}

/// Returns the path of this binary and cargo's target folder. Looked up once: a small check takes less
/// time than to look for a tag in every folder above.
fn built() -> &'static (PathBuf, Option<PathBuf>) {
    static BUILT: OnceLock<(PathBuf, Option<PathBuf>)> = OnceLock::new();
    BUILT.get_or_init(|| {
        let binary = std::env::current_exe().unwrap_or_default();
        let target = target(&binary).map(Path::to_owned);
        (binary, target)
    })
}

impl RunningBinary {
    pub(crate) fn find() -> Self {
        let (binary, target) = built();
        let stem = binary
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("program");
        // Cargo builds tests below `deps`, under their name and a hash.
        let is_test = binary
            .parent()
            .is_some_and(|folder| folder.ends_with("deps"));
        let name = match stem.rsplit_once('-') {
            Some((name, _)) if is_test => name,
            _ => stem,
        };
        let target = || Some(target.as_ref()?.join("raddle"));
        let given = std::env::var_os("RADDLE_DIR").filter(|given| !given.is_empty());
        let folder = given.map(PathBuf::from).or_else(target);
        RunningBinary {
            folder: folder.map(|folder| folder.join(name)),
            name: name.to_owned(),
            is_test,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_folder_is_known_by_its_tag_or_by_what_cargo_keeps_there() {
        let root = std::env::temp_dir().join(format!("raddle-target-{}", std::process::id()));
        let binary = root.join("target/debug/deps/it-0123");
        std::fs::create_dir_all(binary.parent().unwrap()).unwrap();
        let mark = |file: &str| std::fs::write(root.join(file), "").unwrap();
        // A folder further up may have a tag, which is not this test's.
        let is_here = target(&binary).is_some_and(|it| it.starts_with(&root));
        assert!(!is_here, "no tag, no target folder");
        mark("target/.rustc_info.json");
        assert_eq!(target(&binary), Some(&*root.join("target")));
        mark("CACHEDIR.TAG");
        assert_eq!(target(&binary), Some(&*root), "a tag is surer");
        std::fs::remove_dir_all(root).unwrap();
    }
}
