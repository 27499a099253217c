//! Line charts as SVG, for light and dark pages.

use std::fmt::Write;

/// A line with its name.
pub(super) struct Line {
    pub(super) name: String,
    /// Points in units of the axes.
    pub(super) points: Vec<(f64, f64)>,
    pub(super) is_dashed: bool,
    /// Number of its colour, which may be any.
    pub(super) colour: usize,
}

/// A chart of values between 0 and 1.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) across: String,
    pub(super) up: String,
    /// Marks of the horizontal axis; the first and the last are its ends.
    pub(super) marks: Vec<f64>,
    pub(super) is_logarithmic: bool,
    pub(super) lines: Vec<Line>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 340.0;
/// Left, right, top and bottom edge of the plot; names of lines are right of it.
const LEFT: f64 = 56.0;
const RIGHT: f64 = 520.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 290.0;
/// Height of a name.
const NAME: f64 = 18.0;

/// Colours that differ for most readers with colour blindness (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#808080",
];

impl Chart {
    fn x(&self, value: f64) -> f64 {
        let scale = |value: f64| {
            if self.is_logarithmic {
                value.ln()
            } else {
                value
            }
        };
        let (low, high) = (self.marks[0], self.marks[self.marks.len() - 1]);
        LEFT + (RIGHT - LEFT) * (scale(value) - scale(low)) / (scale(high) - scale(low))
    }

    /// Returns the chart as one element without an empty line, which would end the block in Markdown.
    pub(super) fn svg(&self) -> String {
        let mut text = String::new();
        let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value;
        let _ = writeln!(
            text,
            r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-size="13" fill="currentColor">"#
        );
        let _ = writeln!(text, "<title>{}</title>", escaped(&self.title));
        for tenth in [0, 2, 4, 6, 8, 10] {
            let (at, percent) = (y(f64::from(tenth) / 10.0), 10 * tenth);
            let _ = writeln!(
                text,
                r#"<line x1="{LEFT}" x2="{RIGHT}" y1="{at:.1}" y2="{at:.1}" stroke="currentColor" stroke-opacity="0.2"/><text x="{:.1}" y="{:.1}" text-anchor="end">{percent} %</text>"#,
                LEFT - 6.0,
                at + 4.0
            );
        }
        for &mark in &self.marks {
            let _ = writeln!(
                text,
                r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{mark}</text>"#,
                self.x(mark),
                BOTTOM + 18.0
            );
        }
        let middle = (LEFT + RIGHT) / 2.0;
        let _ = writeln!(
            text,
            r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{}; up: {}</text>"#,
            BOTTOM + 40.0,
            escaped(&self.across),
            escaped(&self.up)
        );
        for (index, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[line.colour % COLOURS.len()];
            let dashes = if line.is_dashed {
                r#" stroke-dasharray="6 4""#
            } else {
                ""
            };
            let points = line
                .points
                .iter()
                .map(|&(across, up)| format!("{:.1},{:.1}", self.x(across), y(up.clamp(0.0, 1.0))));
            let points: Vec<_> = points.collect();
            let _ = writeln!(
                text,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>"#,
                points.join(" ")
            );
            let at = TOP + NAME * (index as f64 + 0.5);
            let (from, to) = (RIGHT + 14.0, RIGHT + 38.0);
            let _ = writeln!(
                text,
                r#"<line x1="{from}" x2="{to}" y1="{at}" y2="{at}" stroke="{colour}" stroke-width="2"{dashes}/><text x="{}" y="{}">{}</text>"#,
                to + 6.0,
                at + 4.0,
                escaped(&line.name)
            );
        }
        text + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_where_their_values_are() {
        let chart = Chart {
            title: "a < b".into(),
            across: "executions".into(),
            up: "coverage".into(),
            marks: vec![1.0, 10.0, 100.0],
            is_logarithmic: true,
            lines: vec![Line {
                name: "pset".into(),
                points: vec![(1.0, 0.0), (10.0, 0.5), (100.0, 1.0)],
                is_dashed: true,
                colour: 9,
            }],
        };
        let svg = chart.svg();
        assert!(
            svg.contains(r#"points="56.0,290.0 288.0,153.0 520.0,16.0""#),
            "{svg}"
        );
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("\n\n"));
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert_eq!(svg.matches(COLOURS[2]).count(), 2, "{svg}");
    }
}
