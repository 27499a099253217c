//! Lines are collected by each thread and written when it ends, or when it has enough of them.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

/// What was written.
pub type Sink = Arc<Mutex<Vec<String>>>;

struct Buffer {
    lines: Vec<String>,
    sink: Sink,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.sink.lock().unwrap().append(&mut self.lines);
    }
}

thread_local! {
    static BUFFER: RefCell<Option<Buffer>> = const { RefCell::new(None) };
}

/// Begins to collect lines in this thread.
pub fn begin(sink: &Sink) {
    let buffer = Buffer {
        lines: Vec::new(),
        sink: Arc::clone(sink),
    };
    BUFFER.with_borrow_mut(|slot| *slot = Some(buffer));
}

pub fn log(line: &str) {
    BUFFER.with_borrow_mut(|slot| {
        let buffer = slot.as_mut().expect("it has begun");
        buffer.lines.push(line.to_owned());
    });
}

/// Writes lines that belong together.
pub fn write_block(sink: &Sink, lines: &[&str]) {
    let mut sink = sink.lock().unwrap();
    sink.extend(lines.iter().map(|&line| line.to_owned()));
}

/// Others may come in between.
pub fn write_lines(sink: &Sink, lines: &[&str]) {
    for &line in lines {
        sink.lock().unwrap().push(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn lines_are_written_when_threads_end() {
        let sink = Sink::default();
        let threads = ["one", "other"].map(|name| {
            let sink = Arc::clone(&sink);
            let lines = move || {
                begin(&sink);
                log(name);
                log(name);
            };
            thread::spawn(lines)
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let written = sink.lock().unwrap();
        let in_order = [
            ["one", "one", "other", "other"],
            ["other", "other", "one", "one"],
        ];
        assert!(in_order.contains(&[0, 1, 2, 3].map(|line| &*written[line])));
    }

    fn blocks(write: fn(&Sink, &[&str])) {
        let sink = Sink::default();
        thread::scope(|scope| {
            scope.spawn(|| write(&sink, &["begin", "end"]));
            scope.spawn(|| write(&sink, &["begin", "end"]));
        });
        assert_eq!(*sink.lock().unwrap(), ["begin", "end", "begin", "end"]);
    }

    #[test]
    fn blocks_stay_together() {
        blocks(write_block);
    }

    #[test]
    fn blocks_stay_together_line_by_line() {
        blocks(write_lines);
    }
}
