//! Lines of `key=value` as tables.

/// One line: its subject and its measurements.
struct Row<'a> {
    about: String,
    cells: Vec<(&'a str, String)>,
}

impl<'a> Row<'a> {
    /// Words before the first `key=value` name the subject of the line; words without a key after
    /// that belong to the value before them. The command's own name, with which lines begin, is
    /// left out.
    fn parse(line: &'a str, name: &str) -> Self {
        let line = line.strip_prefix(name).unwrap_or(line);
        let mut row = Row {
            about: String::new(),
            cells: Vec::new(),
        };
        for word in line.split_whitespace() {
            match (word.split_once('='), row.cells.last_mut()) {
                (Some((key, value)), _) => row.cells.push((key, grouped(value))),
                (None, Some((_, value))) => *value += &format!(" {word}"),
                (None, None) if row.about.is_empty() => row.about += word,
                (None, None) => row.about += &format!(" {word}"),
            }
        }
        row
    }

    fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.cells.iter().map(|&(key, _)| key)
    }
}

/// Rows with the same columns.
#[derive(Default)]
struct Table<'a> {
    columns: Vec<&'a str>,
    rows: Vec<Row<'a>>,
}

impl<'a> Table<'a> {
    /// True when a line belongs here: it has no new column, such as a mean, or all of the columns
    /// and more.
    fn takes(&self, row: &Row<'a>) -> bool {
        let is_known = |key| self.columns.contains(&key);
        row.keys().all(is_known)
            || row
                .keys()
                .take(self.columns.len())
                .eq(self.columns.iter().copied())
    }

    fn add(&mut self, row: Row<'a>) {
        for key in row.keys() {
            if !self.columns.contains(&key) {
                self.columns.push(key);
            }
        }
        self.rows.push(row);
    }

    fn print(&self) -> String {
        let about = self.rows.iter().any(|row| !row.about.is_empty());
        let cells = |cells: &mut dyn Iterator<Item = String>| {
            let cells: Vec<String> = cells.collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let first = |text: &str| about.then(|| text.to_owned()).into_iter();
        let columns = self.columns.iter();
        let mut text =
            cells(&mut first(" ").chain(columns.clone().map(|key| key.replace('_', " "))));
        text += &cells(&mut first("---").chain(columns.map(|_| "---:".to_owned())));
        for row in &self.rows {
            let value = |column: &&str| {
                let cell = row.cells.iter().find(|(key, _)| key == column);
                cell.map_or(String::new(), |(_, value)| value.clone())
            };
            let label = match row.about.is_empty() {
                true => String::new(),
                false => format!("`{}`", row.about),
            };
            text += &cells(&mut first(&label).chain(self.columns.iter().map(value)));
        }
        text + "\n"
    }
}

/// Returns the output of a command as tables.
pub(super) fn tables(lines: &[String], name: &str) -> String {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for line in lines {
        let row = Row::parse(line, name);
        match tables.last_mut() {
            Some(table) if table.takes(&row) => table.add(row),
            _ => {
                let mut table = Table::default();
                table.add(row);
                tables.push(table);
            }
        }
    }
    tables.iter().map(Table::print).collect()
}

/// Formats whole numbers of five digits and more with commas; other values are unchanged.
fn grouped(value: &str) -> String {
    let (sign, digits) = match value.strip_prefix('>') {
        Some(digits) => (">", digits),
        None => ("", value),
    };
    let is_number = digits.len() >= 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(number) if is_number => format!("{sign}{}", raddle_report::grouped(number)),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables_of(lines: &[&str], name: &str) -> String {
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        tables(&lines, name)
    }

    #[test]
    fn a_mean_is_a_row_of_its_table() {
        let lines = [
            "speed racy_2x1 raddle=1234567 loom=- x_loom=2.5",
            "speed mean x_loom=2.5",
        ];
        let expected = "|   | raddle | loom | x loom |\n\
                        | --- | ---: | ---: | ---: |\n\
                        | `racy_2x1` | 1,234,567 | - | 2.5 |\n\
                        | `mean` |  |  | 2.5 |\n\n";
        assert_eq!(tables_of(&lines, "speed"), expected);
    }

    #[test]
    fn other_columns_are_another_table() {
        let lines = [
            "scale threads=2 events=10",
            "scale spread=1.5",
            "scale threads=2 spread=1.5",
        ];
        let expected = "| threads | events |\n| ---: | ---: |\n| 2 | 10 |\n\n\
                        | spread |\n| ---: |\n| 1.5 |\n\n\
                        | threads | spread |\n| ---: | ---: |\n| 2 | 1.5 |\n\n";
        assert_eq!(tables_of(&lines, "scale"), expected);
    }

    #[test]
    fn what_was_measured_otherwise_is_another_table() {
        let lines = [
            "exhaust racy classes=4 raddle_s=0.1 shuttle_s=1",
            "exhaust ring classes=5 raddle_s=0.2 loom=ok",
            "exhaust dp6 classes=6 seconds=8 workers=1",
            "exhaust dp6 classes=6 seconds=4 workers=2 speedup=2",
        ];
        let expected = "|   | classes | raddle s | shuttle s |\n| --- | ---: | ---: | ---: |\n\
                        | `racy` | 4 | 0.1 | 1 |\n\n\
                        |   | classes | raddle s | loom |\n| --- | ---: | ---: | ---: |\n\
                        | `ring` | 5 | 0.2 | ok |\n\n\
                        |   | classes | seconds | workers | speedup |\n\
                        | --- | ---: | ---: | ---: | ---: |\n\
                        | `dp6` | 6 | 8 | 1 |  |\n| `dp6` | 6 | 4 | 2 | 2 |\n\n";
        assert_eq!(tables_of(&lines, "exhaust"), expected);
    }

    #[test]
    fn words_after_a_value_belong_to_it() {
        let lines = [
            "bugs piper auto=3 skipped=90",
            "bugs bank auto=>10000",
            "bugs elsewhere worse=2 (clean, hazard)",
        ];
        let expected = "|   | auto | skipped |\n| --- | ---: | ---: |\n\
                        | `piper` | 3 | 90 |\n| `bank` | >10,000 |  |\n\n\
                        |   | worse |\n| --- | ---: |\n\
                        | `elsewhere` | 2 (clean, hazard) |\n\n";
        assert_eq!(tables_of(&lines, "bugs"), expected);
    }
}
