//! Compares the output of a command with that of `runs show`.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn unjank(store: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjank"));
    let options = arguments.iter().position(|it| it.starts_with('-')).unwrap_or(arguments.len());
    let (names, options) = arguments.split_at(options);
    command.args(names).arg("--store").arg(store).args(options).env("COLUMNS", "100");
    command.output().expect("unjank runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Tables that no page shows as such.
const DATA: [&str; 3] = ["ipc/throughput/turns", "why/clock", "why/requests"];

/// Asserts that the store shows what `arguments` print, and that the page has the same tables;
/// returns what was printed.
pub(crate) fn check(arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    let printed = unjank(&store, arguments);
    let (stdout, stderr) = (text(&printed.stdout), text(&printed.stderr));
    assert!(!stdout.is_empty(), "{arguments:?}: {stderr}");
    let shown = unjank(&store, &["runs", "show", "last"]);
    assert_eq!(text(&shown.stdout), stdout, "{arguments:?}: {}", text(&shown.stderr));
    let page = directory.path().join("run.html");
    let html = ["runs", "show", "last", "--html", page.to_str().unwrap()];
    assert!(unjank(&store, &html).status.success());
    let (html, record) = (
        fs::read_to_string(page).unwrap(),
        text(&unjank(&store, &["runs", "show", "last", "--json"]).stdout),
    );
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    for table in record["tables"].as_array().unwrap() {
        let drawn = !table["rows"].as_array().unwrap().is_empty();
        let shown = !DATA.iter().any(|data| table["name"] == *data);
        if drawn && shown && record["command"] != "schd-dbg" {
            let title = table["title"].as_str().unwrap();
            let first = title.split(['&', '<', '>', '"']).next().unwrap();
            assert!(html.contains(first), "{arguments:?}: the page lacks {title}");
        }
    }
    stdout
}
