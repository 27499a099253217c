//! Every event of every execution, as lines of text, so that two runs can be compared.
//!
//! The file that `RADDLE_TRACE` names gets a line for each event: thread and index, operation,
//! reply, source and instruction. The instruction is an offset in its file, which is independent of
//! the load address.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};

use raddle_engine::{Event, Execution, SiteId};

use crate::execution::{running, shadow_stack};
use crate::memory::{plain_choices, relevance};
use crate::names::symbols;

/// The file, and the names of instructions in it.
pub(crate) struct Trace {
    file: BufWriter<File>,
    codes: HashMap<SiteId, String>,
    executions: u64,
}

impl Trace {
    /// Opens the file, if the environment names one.
    pub(crate) fn open() -> Option<Self> {
        let path = std::env::var_os("RADDLE_TRACE")?;
        let file = File::options().append(true).create(true).open(&path);
        let file = file.inspect_err(|error| {
            let path = path.display();
            eprintln!("raddle: RADDLE_TRACE: {path} cannot be written: {error}");
        });
        Some(Trace {
            file: BufWriter::new(file.ok()?),
            codes: HashMap::new(),
            executions: 0,
        })
    }

    /// Writes the events of an execution that has just stopped.
    pub(crate) fn write(&mut self, execution: &Execution) {
        self.executions += 1;
        // A failing write does not affect the check.
        let _ = writeln!(self.file, "execution {}", self.executions);
        // Searches that began anew have other operations, or leave others out.
        let searches = plain_choices::rounds() + relevance::searches();
        if searches > 0 {
            let _ = writeln!(self.file, "search {searches}");
        }
        for event in &execution.events {
            let code = self.codes.entry(event.site).or_insert_with(|| code(event));
            let (thread, index) = (event.id.thread.index(), event.id.index);
            let Event {
                operation,
                reply,
                source,
                outcome,
                ..
            } = event;
            let source = source.map(|source| (source.thread.index(), source.index));
            let _ = writeln!(
                self.file,
                "{thread}.{index} {operation:?} {reply:?} from {source:?} outcome {} at {code}",
                outcome.number()
            );
        }
    }
}

/// Returns the instruction of an event, if it is the program's, and the calls of its chain.
fn code(event: &Event) -> String {
    let site = running().code(event.site);
    let codes = site.map(shadow_stack::unfold).unwrap_or_default();
    let codes: Vec<_> = codes.into_iter().filter_map(symbols::offset).collect();
    codes.join(" by ")
}
