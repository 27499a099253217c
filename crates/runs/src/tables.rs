//! The tables of the database.
//!
//! Classes are stored in chunks, one for each batch, so that the cost of adding a batch does not
//! depend on the number of classes. When there are many chunks, they are merged into one.

use std::collections::BTreeMap;

use redb::{
    Database, Error, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    TableDefinition, TableError, WriteTransaction,
};

use crate::record::{EXCLUDED, News, Remembered, Run};

/// Format of the file; other formats are not read.
pub(crate) const FORMAT: u64 = 1;
/// Maximum number of chunks of a check; more are merged into one.
const MAX_CHUNKS: usize = 32;

const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");
const SHAPES: TableDefinition<&str, u64> = TableDefinition::new("shapes");
const RUNS: TableDefinition<(&str, u64), (u64, u64, u64, u64)> = TableDefinition::new("runs");
const CLASSES: TableDefinition<(&str, u64), &[u8]> = TableDefinition::new("classes");
const COVERED: TableDefinition<(&str, &str), ()> = TableDefinition::new("covered");
const STALE: TableDefinition<(&str, &str), u64> = TableDefinition::new("stale");
const IMPOSSIBLE: TableDefinition<(&str, &str), &str> = TableDefinition::new("impossible");
const FAILURES: TableDefinition<(&str, &str), ()> = TableDefinition::new("failures");

/// When versions of the program were recorded, in milliseconds since 1970.
const VERSIONS: TableDefinition<&str, u64> = TableDefinition::new("versions");
/// What is known of each test, by version and test.
const TESTS: TableDefinition<(&str, &str), &str> = TableDefinition::new("tests");
/// Maximum number of versions; the oldest are removed. The record of a test has some kilobytes.
const MAX_VERSIONS: usize = 32;

/// Content of a database.
pub(crate) enum Content {
    Empty,
    Format(u64),
    /// Tables of another program.
    Foreign,
}

pub(crate) fn content(database: &Database) -> Result<Content, Error> {
    let transaction = database.begin_read()?;
    if transaction.list_tables()?.next().is_none() {
        return Ok(Content::Empty);
    }
    match transaction.open_table(ABOUT) {
        Ok(about) => Ok(match about.get("format")? {
            Some(format) => Content::Format(format.value()),
            None => Content::Foreign,
        }),
        Err(TableError::Storage(error)) => Err(error.into()),
        Err(_) => Ok(Content::Foreign),
    }
}

/// Returns the names of all checks, sorted.
pub(crate) fn checks(database: &Database) -> Result<Vec<String>, Error> {
    let transaction = database.begin_read()?;
    let mut names = Vec::new();
    if let Some(shapes) = if_exists(transaction.open_table(SHAPES))? {
        for entry in shapes.iter()? {
            names.push(entry?.0.value().to_owned());
        }
    }
    Ok(names)
}

/// Reads the record of a check.
pub(crate) fn read(database: &Database, check: &str) -> Result<Remembered, Error> {
    read_in(&database.begin_read()?, check)
}

/// Turns a missing table into `None`.
fn if_exists<T>(table: Result<T, TableError>) -> Result<Option<T>, Error> {
    match table {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn read_in(transaction: &ReadTransaction, check: &str) -> Result<Remembered, Error> {
    let mut all = Remembered::default();
    if let Some(shapes) = if_exists(transaction.open_table(SHAPES))? {
        all.shape = shapes.get(check)?.map_or(0, |shape| shape.value());
    }
    if let Some(runs) = if_exists(transaction.open_table(RUNS))? {
        for entry in runs.range((check, 0)..=(check, u64::MAX))? {
            let (key, value) = entry?;
            all.runs.insert(key.value().1, run(value.value()));
        }
    }
    if let Some(classes) = if_exists(transaction.open_table(CLASSES))? {
        all.classes = chunks(&classes, check)?.1;
    }
    if let Some(covered) = if_exists(transaction.open_table(COVERED))? {
        all.covered.extend(texts(&covered, check)?);
    }
    if let Some(stale) = if_exists(transaction.open_table(STALE))? {
        for entry in stale.range((check, "")..)? {
            let (key, value) = entry?;
            let (name, text) = key.value();
            if name != check {
                break;
            }
            all.stale.insert(text.to_owned(), value.value());
        }
    }
    if let Some(impossible) = if_exists(transaction.open_table(IMPOSSIBLE))? {
        for entry in impossible.range((check, "")..)? {
            let (key, value) = entry?;
            let (name, text) = key.value();
            if name != check {
                break;
            }
            let reason = value.value().to_owned();
            all.impossible.insert(text.to_owned(), reason);
        }
    }
    if let Some(failures) = if_exists(transaction.open_table(FAILURES))? {
        all.failures.extend(texts(&failures, check)?);
    }
    Ok(all)
}

/// Returns the recorded versions, and when they were recorded.
pub(crate) fn versions(database: &Database) -> Result<Vec<(String, u64)>, Error> {
    let transaction = database.begin_read()?;
    let mut all = Vec::new();
    if let Some(versions) = if_exists(transaction.open_table(VERSIONS))? {
        for entry in versions.iter()? {
            let (version, recorded) = entry?;
            all.push((version.value().to_owned(), recorded.value()));
        }
    }
    Ok(all)
}

/// Returns what is known of the tests of a version, by their names.
pub(crate) fn tests(database: &Database, version: &str) -> Result<BTreeMap<String, String>, Error> {
    let transaction = database.begin_read()?;
    let mut all = BTreeMap::new();
    if let Some(tests) = if_exists(transaction.open_table(TESTS))? {
        for entry in tests.range((version, "")..)? {
            let (key, record) = entry?;
            let (other, test) = key.value();
            if other != version {
                break;
            }
            all.insert(test.to_owned(), record.value().to_owned());
        }
    }
    Ok(all)
}

fn run((started, executions, classes, requirements): (u64, u64, u64, u64)) -> Run {
    Run {
        started,
        executions,
        classes,
        requirements,
    }
}

/// Returns the second parts of all keys of a check.
fn texts(
    table: &impl ReadableTable<(&'static str, &'static str), ()>,
    check: &str,
) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    for entry in table.range((check, "")..)? {
        let (key, _) = entry?;
        let (name, text) = key.value();
        if name != check {
            break;
        }
        texts.push(text.to_owned());
    }
    Ok(texts)
}

/// Returns the numbers of a check's chunks, and the classes in them, sorted and without duplicates.
fn chunks(
    table: &impl ReadableTable<(&'static str, u64), &'static [u8]>,
    check: &str,
) -> Result<(Vec<u64>, Vec<u64>), Error> {
    let (mut numbers, mut classes) = (Vec::new(), Vec::new());
    for entry in table.range((check, 0)..=(check, u64::MAX))? {
        let (key, value) = entry?;
        numbers.push(key.value().1);
        let (words, _) = value.value().as_chunks::<8>();
        classes.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
    }
    classes.sort_unstable();
    classes.dedup();
    Ok((numbers, classes))
}

fn chunk(classes: &[u64]) -> Vec<u8> {
    classes
        .iter()
        .flat_map(|class| class.to_le_bytes())
        .collect()
}

/// A write transaction; nothing is written before [`Change::commit`].
pub(crate) struct Change(WriteTransaction);

impl Change {
    pub(crate) fn begin(database: &Database) -> Result<Self, Error> {
        let transaction = database.begin_write()?;
        transaction.open_table(ABOUT)?.insert("format", FORMAT)?;
        Ok(Change(transaction))
    }

    pub(crate) fn commit(self) -> Result<(), Error> {
        Ok(self.0.commit()?)
    }

    /// Adds the results of a run.
    pub(crate) fn add(&self, check: &str, news: &News) -> Result<(), Error> {
        let News { run, so_far, .. } = news;
        self.set_shape(check, news.shape)?;
        self.add_run(check, *run, *so_far)?;
        self.add_classes(check, &news.classes)?;
        for schedule in &news.failures {
            self.add_failure(check, schedule)?;
        }
        self.cover(check, &news.covered)?;
        self.add_stale(check, &news.stale, u64::saturating_add)?;
        self.rule_out(check, &news.impossible)?;
        self.exclude(check, &news.excluded)
    }

    /// Adds covered requirements, which are then neither stale nor infeasible.
    fn cover<'a>(
        &self,
        check: &str,
        keys: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), Error> {
        let mut covered = self.0.open_table(COVERED)?;
        let mut stale = self.0.open_table(STALE)?;
        let mut impossible = self.0.open_table(IMPOSSIBLE)?;
        for key in keys {
            let key = (check, key.as_str());
            covered.insert(key, ())?;
            stale.remove(key)?;
            impossible.remove(key)?;
        }
        Ok(())
    }

    /// Adds uncovered requirements that may be feasible, which are then not called infeasible: the
    /// program may have changed since a search has excluded them. `combine` merges the stored number
    /// of executions with the new one.
    fn add_stale<'a>(
        &self,
        check: &str,
        keys: impl IntoIterator<Item = &'a (String, u64)>,
        combine: impl Fn(u64, u64) -> u64,
    ) -> Result<(), Error> {
        let covered = self.0.open_table(COVERED)?;
        let mut stale = self.0.open_table(STALE)?;
        let mut impossible = self.0.open_table(IMPOSSIBLE)?;
        for (key, executions) in keys {
            let key = (check, key.as_str());
            if covered.get(key)?.is_none() {
                let before = stale.get(key)?.map_or(0, |count| count.value());
                stale.insert(key, combine(before, *executions))?;
                impossible.remove(key)?;
            }
        }
        Ok(())
    }

    /// Adds infeasible requirements, unless they are known to be covered or feasible.
    fn rule_out<'a>(
        &self,
        check: &str,
        keys: impl IntoIterator<Item = &'a (String, String)>,
    ) -> Result<(), Error> {
        let covered = self.0.open_table(COVERED)?;
        let stale = self.0.open_table(STALE)?;
        let mut impossible = self.0.open_table(IMPOSSIBLE)?;
        for (key, reason) in keys {
            let key = (check, key.as_str());
            if covered.get(key)?.is_none() && stale.get(key)?.is_none() {
                impossible.insert(key, reason.as_str())?;
            }
        }
        Ok(())
    }

    /// Adds requirements that a search of every class has excluded.
    fn exclude<'a>(
        &self,
        check: &str,
        keys: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), Error> {
        let covered = self.0.open_table(COVERED)?;
        let mut stale = self.0.open_table(STALE)?;
        let mut impossible = self.0.open_table(IMPOSSIBLE)?;
        for key in keys {
            let key = (check, key.as_str());
            if covered.get(key)?.is_none() {
                stale.remove(key)?;
                impossible.insert(key, EXCLUDED)?;
            }
        }
        Ok(())
    }

    /// Sets the shape of the program, and removes the data of another shape.
    fn set_shape(&self, check: &str, shape: u64) -> Result<(), Error> {
        let mut shapes = self.0.open_table(SHAPES)?;
        let before = shapes.insert(check, shape)?.map(|before| before.value());
        if before.is_none_or(|before| before == shape) {
            return Ok(());
        }
        let all = (check, 0)..=(check, u64::MAX);
        self.0
            .open_table(RUNS)?
            .retain_in(all.clone(), |_, _| false)?;
        self.0.open_table(CLASSES)?.retain_in(all, |_, _| false)?;
        let mut covered = self.0.open_table(COVERED)?;
        covered.retain_in((check, "").., |(name, _), ()| name != check)?;
        let mut stale = self.0.open_table(STALE)?;
        stale.retain_in((check, "").., |(name, _), _| name != check)?;
        let mut impossible = self.0.open_table(IMPOSSIBLE)?;
        impossible.retain_in((check, "").., |(name, _), _| name != check)?;
        Ok(())
    }

    fn add_run(&self, check: &str, number: u64, run: Run) -> Result<(), Error> {
        let Run {
            started,
            executions,
            classes,
            requirements,
        } = run;
        let values = (started, executions, classes, requirements);
        self.0.open_table(RUNS)?.insert((check, number), values)?;
        Ok(())
    }

    fn add_classes(&self, check: &str, classes: &[u64]) -> Result<(), Error> {
        if classes.is_empty() {
            return Ok(());
        }
        let mut table = self.0.open_table(CLASSES)?;
        let mut range = table.range((check, 0)..=(check, u64::MAX))?;
        let last = range.next_back().transpose()?;
        let next = last.map_or(0, |(key, _)| key.value().1.saturating_add(1));
        drop(range);
        table.insert((check, next), chunk(classes).as_slice())?;
        if table.len()? as usize > MAX_CHUNKS {
            let (numbers, classes) = chunks(&table, check)?;
            if numbers.len() > MAX_CHUNKS {
                for number in numbers {
                    table.remove((check, number))?;
                }
                table.insert((check, 0), chunk(&classes).as_slice())?;
            }
        }
        Ok(())
    }

    /// Adds what is known of tests of a version, and removes the oldest versions if there are too many.
    pub(crate) fn add_version(
        &self,
        version: &str,
        recorded: u64,
        records: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let mut versions = self.0.open_table(VERSIONS)?;
        versions.insert(version, recorded)?;
        let mut tests = self.0.open_table(TESTS)?;
        for (test, record) in records {
            tests.insert((version, test.as_str()), record.as_str())?;
        }
        let mut all = Vec::new();
        for entry in versions.iter()? {
            let (version, recorded) = entry?;
            all.push((recorded.value(), version.value().to_owned()));
        }
        all.sort();
        for (_, oldest) in &all[..all.len().saturating_sub(MAX_VERSIONS)] {
            versions.remove(oldest.as_str())?;
            tests.retain_in((oldest.as_str(), "").., |(other, _), _| other != oldest)?;
        }
        Ok(())
    }

    /// Adds a version of another file. Of two records of a test, that of the later one is kept.
    pub(crate) fn merge_version(
        &self,
        version: &str,
        recorded: u64,
        records: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let here = self
            .0
            .open_table(VERSIONS)?
            .get(version)?
            .map(|here| here.value());
        let mut records = records.clone();
        if here.is_some_and(|here| here >= recorded) {
            let tests = self.0.open_table(TESTS)?;
            let mut known = Vec::new();
            for test in records.keys() {
                if tests.get((version, test.as_str()))?.is_some() {
                    known.push(test.clone());
                }
            }
            known.iter().for_each(|test| {
                records.remove(test);
            });
        }
        self.add_version(version, here.unwrap_or(0).max(recorded), &records)
    }

    pub(crate) fn add_failure(&self, check: &str, schedule: &str) -> Result<(), Error> {
        let mut shapes = self.0.open_table(SHAPES)?;
        if shapes.get(check)?.is_none() {
            shapes.insert(check, 0)?;
        }
        self.0.open_table(FAILURES)?.insert((check, schedule), ())?;
        Ok(())
    }

    pub(crate) fn remove_failure(&self, check: &str, schedule: &str) -> Result<(), Error> {
        self.0.open_table(FAILURES)?.remove((check, schedule))?;
        Ok(())
    }

    /// Adds the record of a check from another file. Returns false if only failing schedules were
    /// added, because the shapes differ.
    pub(crate) fn merge(&self, check: &str, other: &Remembered) -> Result<bool, Error> {
        for schedule in &other.failures {
            self.add_failure(check, schedule)?;
        }
        let mut shapes = self.0.open_table(SHAPES)?;
        let here = shapes.get(check)?.map_or(0, |shape| shape.value());
        if here != other.shape && here != 0 {
            return Ok(other.shape == 0);
        }
        shapes.insert(check, other.shape)?;
        drop(shapes);
        for (&number, &run) in &other.runs {
            let table = self.0.open_table(RUNS)?;
            let known = table.get((check, number))?.map(|known| known.value());
            drop(table);
            // Of two copies of the same run, the later one has the larger counts.
            let known = known.map(self::run).unwrap_or_default();
            self.add_run(check, number, run.max(known))?;
        }
        let known = chunks(&self.0.open_table(CLASSES)?, check)?.1;
        let is_new = |class: &u64| known.binary_search(class).is_err();
        let classes: Vec<u64> = other.classes.iter().copied().filter(is_new).collect();
        self.add_classes(check, &classes)?;
        self.cover(check, &other.covered)?;
        let stale: Vec<_> = other.stale.clone().into_iter().collect();
        self.add_stale(check, &stale, u64::max)?;
        let impossible: Vec<_> = other.impossible.clone().into_iter().collect();
        self.rule_out(check, &impossible)?;
        Ok(true)
    }
}
