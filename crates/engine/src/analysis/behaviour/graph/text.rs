//! Text forms of a graph: Aldebaran, Graphviz and JSON.

use std::fmt::{self, Write};
use std::str::FromStr;

use super::{BehaviourGraph, BehaviourState, BehaviourTransition};

/// The label of internal steps in Aldebaran files.
const INTERNAL: &str = "i";
/// Maximum states, and maximum transitions, of an Aldebaran file that is read.
pub const MAX_AUT: usize = 1_000_000;

/// A text is no labelled transition system in Aldebaran's format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AutError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for AutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for AutError {}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            control if control < ' ' => _ = write!(quoted, "\\u{:04x}", u32::from(control)),
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

impl BehaviourGraph {
    /// Returns the graph in Aldebaran's format (`.aut`), which CADP, mCRL2 and LTSmin read. Internal steps have the label
    /// `i`; the format has no place for values and endings.
    #[must_use]
    pub fn to_aut(&self) -> String {
        let (transitions, states) = (self.transitions.len(), self.states.len());
        let mut text = format!("des (0, {transitions}, {states})\n");
        for BehaviourTransition { from, label, to } in &self.transitions {
            let label = label.as_deref().unwrap_or(INTERNAL);
            _ = writeln!(text, "({from}, {}, {to})", quoted(label));
        }
        text
    }

    /// Returns the graph in the language of Graphviz.
    #[must_use]
    pub fn to_graphviz(&self) -> String {
        let mut text =
            String::from("digraph behaviour {\n  rankdir=LR;\n  node [shape=ellipse];\n");
        for (number, state) in self.states.iter().enumerate() {
            let mut lines: Vec<String> = state
                .values
                .iter()
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            lines.extend(state.ending.map(|ending| ending.name().to_owned()));
            if lines.is_empty() {
                lines.push(number.to_string());
            }
            let shape = match state.ending {
                Some(_) => ", peripheries=2",
                None => "",
            };
            _ = writeln!(
                text,
                "  {number} [label={}{shape}];",
                quoted(&lines.join("\n"))
            );
        }
        for BehaviourTransition { from, label, to } in &self.transitions {
            _ = match label {
                Some(label) => writeln!(text, "  {from} -> {to} [label={}];", quoted(label)),
                None => writeln!(text, "  {from} -> {to} [style=dashed];"),
            };
        }
        text.push_str("}\n");
        text
    }

    /// Returns the graph as JSON: `states`, each with `values` and `ending`, and `transitions`, each with `from`, `label`
    /// (null for an internal step) and `to`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let state = |BehaviourState { values, ending }: &BehaviourState| {
            let values = values
                .iter()
                .map(|(name, value)| format!("{}: {value}", quoted(name)));
            let values: Vec<_> = values.collect();
            let ending = ending.map_or("null".to_owned(), |ending| quoted(ending.name()));
            format!(
                "{{\"values\": {{{}}}, \"ending\": {ending}}}",
                values.join(", ")
            )
        };
        let transition = |BehaviourTransition { from, label, to }: &BehaviourTransition| {
            let label = label.as_deref().map_or("null".to_owned(), quoted);
            format!("{{\"from\": {from}, \"label\": {label}, \"to\": {to}}}")
        };
        let states: Vec<_> = self.states.iter().map(state).collect();
        let transitions: Vec<_> = self.transitions.iter().map(transition).collect();
        format!(
            "{{\n\"states\": [\n{}\n],\n\"transitions\": [\n{}\n]\n}}\n",
            states.join(",\n"),
            transitions.join(",\n")
        )
    }
}

impl FromStr for BehaviourGraph {
    type Err = AutError;

    /// Reads Aldebaran's format. The label `i`, and `tau`, is an internal step; the initial state gets the number 0, so
    /// that it changes places with the state that has it in the text.
    fn from_str(text: &str) -> Result<Self, AutError> {
        let mut lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty());
        let error = |line: usize, problem: &str| AutError {
            line: line + 1,
            problem: problem.to_owned(),
        };
        let (line, head) = lines.next().ok_or_else(|| error(0, "the text is empty"))?;
        let numbers = head.trim().strip_prefix("des").map(str::trim_start);
        let numbers = numbers.and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
        let numbers: Vec<usize> = numbers
            .into_iter()
            .flat_map(|numbers| numbers.split(','))
            .filter_map(|number| number.trim().parse().ok())
            .collect();
        let [initial, count, states] = numbers[..] else {
            return Err(error(line, "expected `des (FIRST, TRANSITIONS, STATES)`"));
        };
        if count > MAX_AUT || states > MAX_AUT {
            return Err(error(
                line,
                &format!("more than {MAX_AUT} states or transitions"),
            ));
        }
        if initial >= states {
            return Err(error(line, "the initial state is none of the states"));
        }
        let renumber = |state: usize| match state {
            state if state == initial => 0,
            0 => initial,
            state => state,
        };
        let mut transitions = Vec::new();
        for (line, text) in lines {
            let (from, label, to) = transition(text.trim())
                .ok_or_else(|| error(line, "expected `(FROM, \"LABEL\", TO)`"))?;
            if from >= states || to >= states {
                return Err(error(line, &format!("there are only {states} states")));
            }
            if transitions.len() >= count {
                return Err(error(line, &format!("more than {count} transitions")));
            }
            transitions.push(BehaviourTransition {
                from: renumber(from),
                label: (label != INTERNAL && label != "tau").then_some(label),
                to: renumber(to),
            });
        }
        if transitions.len() < count {
            let problem = format!(
                "{count} transitions are announced, and {} follow",
                transitions.len()
            );
            return Err(error(line, &problem));
        }
        transitions.sort();
        transitions.dedup();
        Ok(BehaviourGraph {
            states: vec![BehaviourState::default(); states],
            transitions,
        })
    }
}

/// Reads `(FROM, "LABEL", TO)`; the label may stand without quotes.
fn transition(line: &str) -> Option<(usize, String, usize)> {
    let inside = line.strip_prefix('(')?.strip_suffix(')')?;
    let (from, rest) = inside.split_once(',')?;
    let (label, to) = rest.rsplit_once(',')?;
    let label = label.trim();
    let label = match label.strip_prefix('"') {
        Some(quoted) => unquoted(quoted.strip_suffix('"')?)?,
        None => label.to_owned(),
    };
    Some((from.trim().parse().ok()?, label, to.trim().parse().ok()?))
}

fn unquoted(text: &str) -> Option<String> {
    let mut label = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next()? {
                'n' => label.push('\n'),
                'u' => {
                    let digits: String = characters.by_ref().take(4).collect();
                    label.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                escaped => label.push(escaped),
            },
            '"' => return None,
            character => label.push(character),
        }
    }
    Some(label)
}
