//! The figures in the repository: instructions per unit, by compiler and profile.
//!
//! A line is `COMPILER PROFILE WORKLOAD INSTRUCTIONS`. Another compiler generates other code, so its
//! counts say nothing about a change of the sources.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Greatest accepted excess over a figure, as a factor.
pub const TOLERANCE: f64 = 1.03;

/// Compiler and profile.
pub type Build = (String, String);

/// Figures by build and workload.
#[derive(Debug, Default, PartialEq)]
pub struct Figures(BTreeMap<Build, BTreeMap<String, u64>>);

impl Figures {
    /// Parses the file.
    ///
    /// # Errors
    ///
    /// The first line that is none of the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut figures = Figures::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [compiler, profile, workload, count] = words[..] else {
                return Err(line.to_owned());
            };
            let count = count.parse().map_err(|_| line.to_owned())?;
            let build = (compiler.to_owned(), profile.to_owned());
            figures.of(build).insert(workload.to_owned(), count);
        }
        Ok(figures)
    }

    /// Returns the figures of a build, to be changed.
    pub fn of(&mut self, build: Build) -> &mut BTreeMap<String, u64> {
        self.0.entry(build).or_default()
    }

    /// Returns the figures of a build, if there are any.
    pub fn get(&self, build: &Build) -> Option<&BTreeMap<String, u64>> {
        self.0.get(build)
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        let mut text = String::from(
            "# Instructions per unit: compiler, profile, workload, count. `raddle-gate --update` writes this\n\
             # file. A figure that rises needs a line in CHANGELOG.md.\n",
        );
        for ((compiler, profile), counts) in &self.0 {
            for (workload, count) in counts {
                let _ = writeln!(text, "{compiler} {profile} {workload} {count}");
            }
        }
        text
    }
}

/// The comparison of a count with its figure.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// At most the tolerance above the figure.
    Holds,
    /// Below the figure by more than the tolerance: the figure can be lowered.
    Lower,
    /// Above the figure by more than the tolerance.
    Higher,
}

/// Compares a count with its figure.
pub fn judge(count: f64, figure: u64) -> Verdict {
    let ratio = count / figure as f64;
    if ratio > TOLERANCE {
        Verdict::Higher
    } else if ratio < 1.0 / TOLERANCE {
        Verdict::Lower
    } else {
        Verdict::Holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_and_read() {
        let mut figures = Figures::default();
        let build = |profile: &str| ("1.95.0".to_owned(), profile.to_owned());
        figures.of(build("dev")).insert("dp4".to_owned(), 12);
        figures.of(build("release")).insert("dp4".to_owned(), 7);
        assert_eq!(Figures::parse(&figures.to_text()), Ok(figures));
        assert_eq!(
            Figures::parse("1.95.0 dev dp4"),
            Err("1.95.0 dev dp4".into())
        );
        assert_eq!(
            Figures::parse("1 dev dp4 many"),
            Err("1 dev dp4 many".into())
        );
    }

    #[test]
    fn three_percent_are_the_limit() {
        assert_eq!(judge(1_029.0, 1_000), Verdict::Holds);
        assert_eq!(judge(1_031.0, 1_000), Verdict::Higher);
        assert_eq!(judge(975.0, 1_000), Verdict::Holds);
        assert_eq!(judge(960.0, 1_000), Verdict::Lower);
    }
}
