//! `cargo raddle report`.

use crate::support::Workspace;

const DATA: &str = r#"{"summary":{"program":"queue","test":"dinner","number":1,"ended":0,"failures":[],"warnings":[],"headline":"","guarantee":"Exhaustive","classes":1,"executions":1,"milliseconds":1,"index":null},
"report":{},
"stories":[],
"excerpts":{}}
"#;

#[test]
fn pages_are_rebuilt_from_their_data() {
    let workspace = Workspace::new("pages_are_made");
    workspace.write("pages/queue/dinner/report.json", DATA);
    workspace.write("pages/queue/lunch/report.json", "what?");
    let finished = workspace.run(&["report", "pages"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_eq!(finished.stdout, "pages/index.html (1 check)\n");
    let warning = "warning: pages/queue/lunch/report.json is not the data of a check";
    assert!(finished.stderr.starts_with(warning), "{}", finished.stderr);
    for page in ["pages/index.html", "pages/queue/dinner/index.html"] {
        let text = std::fs::read_to_string(workspace.directory.join(page)).expect("the page");
        assert!(text.contains("dinner"), "{page}");
    }
    assert!(
        !workspace
            .directory
            .join("pages/queue/lunch/index.html")
            .exists()
    );
}

#[test]
fn a_directory_without_pages_is_an_error() {
    let workspace = Workspace::new("a_directory_without_pages");
    workspace.write("empty/a-file", "");
    for directory in ["empty", "nowhere", "empty/a-file"] {
        let finished = workspace.run(&["report", directory]);
        assert_eq!(finished.code, Some(2), "{directory}");
        assert_eq!(
            finished.stderr,
            format!(
                "error: {directory} contains no pages\n  \
                 help: `cargo raddle test --report {directory}` writes them\n"
            )
        );
    }
}
