//! Traces and branches in the DOT language of Graphviz. Each thread of a trace is a cluster; edges are program
//! order within a thread and reads-from or synchronization between threads. Boxes of a branch are outcomes, ellipses
//! receives, and edges their sources.

use std::fmt::Write;

use crate::data::branches::{BranchGraph, Branches};
use crate::data::failure::Failure;
use crate::data::trace::Trace;

impl Failure {
    /// Returns the execution as a DOT graph, with the critical pair highlighted; `dot -Tsvg` draws
    /// it.
    pub fn graphviz(&self) -> String {
        let pair = self.critical.iter();
        let steps = pair.flat_map(|pair| [Some(pair.first), pair.second]);
        graph(&self.trace, &steps.flatten().collect::<Vec<_>>())
    }
}

impl Trace {
    /// Returns the execution as a DOT graph; `dot -Tsvg` draws it.
    pub fn graphviz(&self) -> String {
        graph(self, &[])
    }
}

fn graph(trace: &Trace, highlighted: &[usize]) -> String {
    let mut text = String::from(
        "digraph execution {\n  \
         rankdir=TB;\n  \
         node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n  \
         edge [fontname=\"sans-serif\", fontsize=9];\n",
    );
    for (number, thread) in trace.threads.iter().enumerate() {
        let _ = writeln!(
            text,
            "  subgraph cluster_{number} {{\n    label={};\n    color=gray;",
            quoted(thread.title())
        );
        let steps = || {
            let steps = trace.steps.iter().enumerate();
            steps.filter(move |(_, step)| step.thread == number)
        };
        for (index, step) in steps() {
            let place = step.place.as_ref();
            let place = place.map_or(String::new(), |place| format!("\n{place}"));
            let mut style = String::new();
            if step.waits {
                style += ", style=\"rounded,dashed\"";
            }
            if highlighted.contains(&index) {
                style += ", color=red, penwidth=2";
            }
            let label = quoted(&format!("{} {}{place}", index + 1, step.what));
            let _ = writeln!(text, "    s{index} [label={label}{style}];");
        }
        let numbers: Vec<_> = steps().map(|(index, _)| index).collect();
        for pair in numbers.windows(2) {
            let _ = writeln!(text, "    s{} -> s{};", pair[0], pair[1]);
        }
        text.push_str("  }\n");
    }
    for (index, step) in trace.steps.iter().enumerate() {
        let from = step.source.filter(|&source| {
            let source = trace.steps.get(source);
            source.is_some_and(|source| source.thread != step.thread)
        });
        if let Some(from) = from {
            let _ = writeln!(
                text,
                "  s{from} -> s{index} [color=blue, constraint=false];"
            );
        }
    }
    text.push_str("}\n");
    text
}

impl Branches {
    /// Returns the dependency graphs of all branches as one DOT graph; `dot -Tsvg` draws it.
    pub fn graphviz(&self) -> String {
        let mut text = String::from(
            "digraph branches {\n  \
             node [fontname=\"sans-serif\", fontsize=10];\n  \
             edge [fontname=\"sans-serif\", fontsize=9];\n",
        );
        let mut count = 0;
        for (number, branch) in self.branches.iter().enumerate() {
            let label = quoted(&format!("after {}", branch.after));
            let _ = writeln!(
                text,
                "  subgraph cluster_{number} {{\n    label={label};\n    color=gray;"
            );
            for graph in &branch.graphs {
                add_branch(&mut text, graph, &mut count);
            }
            text.push_str("  }\n");
        }
        text.push_str("}\n");
        text
    }
}

/// Adds a graph, whose nodes are numbered from `count` on. Returns the number of its root.
fn add_branch(text: &mut String, graph: &BranchGraph, count: &mut usize) -> usize {
    let own = *count;
    *count += 1;
    match graph {
        BranchGraph::Outcome(step) => {
            let label = quoted(&step.to_string());
            let _ = writeln!(text, "    n{own} [shape=box, label={label}];");
        }
        BranchGraph::Choice(choice) => {
            let label = quoted(&choice.to_string());
            let _ = writeln!(text, "    n{own} [shape=ellipse, label={label}];");
            for (source, rest) in &choice.sources {
                let next = add_branch(text, rest, count);
                let label = quoted(&source.to_string());
                let _ = writeln!(text, "    n{own} -> n{next} [label={label}];");
            }
        }
    }
    own
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
