//! Messages for ignored values that decide something.

use raddle_engine::check::ignored::IgnoredValue;

use crate::words::finding::context::FindingContext;

impl FindingContext<'_> {
    pub(crate) fn ignored_value(&self, value: &IgnoredValue) -> String {
        let who = self.trace.title(value.thread);
        let then = format!("{}{}", value.then, self.at(value.then_at));
        let now_at = value.now_at.map_or(String::new(), |site| self.at(site));
        let read = value.read.map_or(String::new(), |(location, site)| {
            let name = self.things.location(location.index());
            format!("it depends on {name}, read{}\n", self.at(site))
        });
        let (those, help) = match self.names.is_native() {
            // The analysis of the program's code is wrong.
            true => (
                "locations that seemed to decide nothing",
                "the mistake is raddle's: please report it; leave out `--reduce paths`",
            ),
            false => (
                "ignored locations",
                "use the atomic without `raddle::Ignored`, or leave out `reduce`",
            ),
        };
        format!(
            "{who} performs another operation if {those} have other values\n\
             {read}\
             then: {then}\n\
             with other values: {}{now_at}\n\
             `reduce = \"paths\"` explores no values of these locations, so nothing is known about the program\n\
             help: {help}",
            value.now
        )
    }
}
