//! The HTML frame, filled with styles, scripts and data.

use crate::render::json::to_json;

const PAGE: &str = include_str!("assets/page.html");
const STYLES: &[&str] = &[
    include_str!("assets/base.css"),
    include_str!("assets/page.css"),
    include_str!("assets/diagram.css"),
];
const SCRIPTS: &[&str] = &[
    include_str!("assets/base.js"),
    include_str!("assets/model.js"),
    include_str!("assets/compare.js"),
    include_str!("assets/diagram.js"),
    include_str!("assets/drawing.js"),
    include_str!("assets/detail.js"),
    include_str!("assets/cycle.js"),
    include_str!("assets/curves.js"),
    include_str!("assets/branches.js"),
    include_str!("assets/page.js"),
];
const INDEX_STYLES: &[&str] = &[
    include_str!("assets/base.css"),
    include_str!("assets/index.css"),
];
const INDEX_SCRIPTS: &[&str] = &[
    include_str!("assets/base.js"),
    include_str!("assets/index.js"),
];

/// Returns the page of a check, from the JSON of its `Document`.
pub fn page(json: &str) -> String {
    filled(STYLES, SCRIPTS, json)
}

/// Returns the page of a run. Each check has the URL of its page and the JSON of its summary.
pub(super) fn index(checks: &[(String, String)]) -> String {
    let check = |(address, summary): &(String, String)| format!("[{},{summary}]", to_json(address));
    let checks: Vec<String> = checks.iter().map(check).collect();
    let json = format!("[{}]", checks.join(",\n"));
    filled(INDEX_STYLES, INDEX_SCRIPTS, &json)
}

/// Returns the frame with all placeholders replaced.
fn filled(styles: &[&str], scripts: &[&str], json: &str) -> String {
    let scripts = format!("(() => {{\n\"use strict\";\n{}}})();\n", scripts.concat());
    let parts = [
        ("styles", &*styles.concat()),
        ("scripts", &scripts),
        ("data", &as_data(json)),
    ];
    let mut rest = PAGE;
    let mut page = String::with_capacity(PAGE.len() + scripts.len() + json.len());
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("every placeholder is closed");
        let part = parts.iter().find(|(part, _)| *part == name);
        page += before;
        page += part.expect("every placeholder has a value").1;
        rest = after;
    }
    page + rest
}

/// Escapes JSON for a script element, so that no string can end the element. `<` occurs only in
/// strings, where `\u003c` is equivalent.
fn as_data(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_cannot_end_the_script_element() {
        let nasty = r#"{"a":"</script><script>alert(1)</script><!--"}"#;
        let page = page(nasty);
        assert!(!page.contains("alert(1)</"));
        assert!(
            page.contains(r#"{"a":"\u003c/script>\u003cscript>alert(1)\u003c/script>\u003c!--"}"#)
        );
        let ends = page.matches("</script>").count();
        assert_eq!(ends, super::page("{}").matches("</script>").count());
    }

    #[test]
    fn pages_load_nothing() {
        for text in [page("{}"), index(&[])] {
            let used = text.replace("http://www.w3.org/2000/svg", "");
            for outside in [
                " src=",
                "@import",
                "fetch(",
                "XMLHttpRequest",
                "http:",
                "https:",
            ] {
                assert!(!used.contains(outside), "{outside}");
            }
            assert_eq!(used.matches("url(").count(), used.matches("url(#").count());
        }
    }
}
