//! Messages for uses by threads that the check does not control.

use raddle_engine::check::foreign::ForeignUse;

use crate::words::finding::context::FindingContext;

impl FindingContext<'_> {
    /// Names the thread that the check does not control.
    pub(crate) fn foreigner(&self, used: &ForeignUse) -> String {
        match &used.thread {
            Some(name) => format!("thread `{name}`"),
            None => "a thread without a name".to_owned(),
        }
    }

    /// Names the value that it used.
    pub(crate) fn foreign_value(&self, used: &ForeignUse) -> String {
        let object = used.object.map(|it| self.things.title(it.index()));
        let location = used.location.map(|it| self.things.location(it.index()));
        match (object.or(location), used.handle_of) {
            (Some(name), _) => name.to_owned(),
            (None, Some(thread)) => format!("the {} of {}", used.kind, self.trace.title(thread)),
            (None, None) => format!("the {}", used.kind),
        }
    }

    pub(crate) fn foreign_thread(&self, used: &ForeignUse) -> String {
        let (who, what) = (self.foreigner(used), self.foreign_value(used));
        let at = used.site.map_or(String::new(), |site| self.at(site));
        let made = used.made.map(|site| self.at(site));
        let made = made.map_or(String::new(), |at| format!(" (made{at})"));
        let other = used.used.map_or(String::new(), |(thread, site)| {
            format!("\n{} uses it{}", self.trace.title(thread), self.at(site))
        });
        format!(
            "{who}, which the check does not control, uses {what}{at}{made}{other}\n\
             the order of these uses is not explored, so nothing is known about the program\n\
             help: start the thread inside the check, with `raddle::thread::spawn`; threads of std and of \
             runtimes are not controlled"
        )
    }
}
