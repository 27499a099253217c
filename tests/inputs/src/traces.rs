//! Traces and pages as JSON, which the command line reads to export them.

use raddle_report::{Trace, html};

/// Reads a trace and writes it in every form there is; makes a page of whatever it is.
pub fn trace(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(trace) = serde_json::from_str::<Trace>(text) {
        let json = raddle_report::to_json(&trace);
        assert_eq!(serde_json::from_str(&json).ok().as_ref(), Some(&trace));
        assert!(trace.graphviz().ends_with("}\n"));
        let exported = trace.std_trace();
        assert!(exported.events.is_empty() || exported.events.ends_with('\n'));
    }
    let _ = html::page(text);
}
