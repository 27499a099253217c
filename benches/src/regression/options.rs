//! The options of `regression`.

use super::{Size, WAYS, Way, pairs};
use crate::bugs::{BadOption, QUICK_SEEDS, story};

/// Number of seeds for each pair and way.
const SEEDS: u64 = 50;

/// The measurement to run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) seeds: u64,
    /// The first seed.
    pub(crate) from: u64,
    /// The stories, by name.
    pub(crate) programs: Vec<&'static str>,
    pub(super) sizes: Vec<Size>,
    pub(super) ways: Vec<Way>,
}

/// Parses the words after `regression`.
pub(crate) fn options(words: &[&str]) -> Result<Options, BadOption> {
    let stories = raddle_stories::all();
    let mut options = Options {
        seeds: SEEDS,
        from: 0,
        programs: stories.iter().map(|story| story.name).collect(),
        sizes: vec![Size::Small, Size::Large],
        ways: WAYS.to_vec(),
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || {
            let value = words.next().copied();
            value.ok_or_else(|| BadOption::NoValue(word.into()))
        };
        match word {
            "--quick" => options.seeds = QUICK_SEEDS,
            "--seeds" => {
                let text = value()?;
                let seeds = text.parse().ok().filter(|&seeds| seeds > 0);
                options.seeds = seeds.ok_or_else(|| BadOption::BadSeeds(text.into()))?;
            }
            "--from" => {
                let text = value()?;
                let from = text.parse().ok();
                options.from =
                    from.ok_or_else(|| BadOption::BadNumber(word.into(), text.into()))?;
            }
            "--programs" => {
                let names = value()?.split(',').map(|name| story(name.trim()));
                options.programs = names.collect::<Result<_, _>>()?;
            }
            "--large" => options.sizes = vec![Size::Large],
            "--pairs" => {
                let text = value()?;
                let half = pairs::half(text);
                let half = half.ok_or_else(|| BadOption::UnknownPairs(text.into()))?;
                options.programs = half;
                options.sizes = vec![Size::Large];
            }
            "--ways" => {
                let way = |name: &str| {
                    let way = WAYS.into_iter().find(|way| way.name() == name);
                    way.ok_or_else(|| BadOption::UnknownWay(name.into()))
                };
                let ways = value()?.split(',').map(str::trim).map(way);
                options.ways = ways.collect::<Result<_, _>>()?;
            }
            word => return Err(BadOption::Unknown(word.into())),
        }
    }
    Ok(options)
}
