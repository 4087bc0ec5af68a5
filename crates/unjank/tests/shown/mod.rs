//! Compares the output of a command with that of `runs show`.

#![expect(clippy::unwrap_used, reason = "what a test does to set itself up may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

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

/// What a page has of tables that are not shown as rows.
const VIEWS: [(&str, &str); 3] = [
    ("lock/doctor/diagnoses", "<dl class=\"card\">"),
    ("swap/analyze/volume", "<svg class=\"bar\""),
    ("why/path", "<figure class=\"timeline\">"),
];

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
    let record: Value = serde_json::from_str(&record).unwrap();
    if record["command"] != "schd-dbg" {
        check_page(&html, &record, arguments);
    }
    stdout
}

/// Asserts that a page has the answers, a chart of the series, and each table in its view.
fn check_page(html: &str, record: &Value, arguments: &[&str]) {
    let list = |name: &str| record[name].as_array().unwrap().as_slice();
    for verdict in list("verdicts") {
        let question = escaped(verdict["question"].as_str().unwrap());
        assert!(!question.is_empty() && html.contains(&question), "{arguments:?}: {question}");
    }
    let cards = html.matches("<div class=\"verdict ").count();
    assert_eq!(cards, list("verdicts").len(), "{arguments:?}: answers on the page");
    if list("series").iter().any(|series| series["n"].as_u64().unwrap() > 1) {
        assert!(html.contains("<svg class=\"chart "), "{arguments:?}: the page has no chart");
    }
    for table in list("tables") {
        let [name, title] = ["name", "title"].map(|field| table[field].as_str().unwrap());
        let rows = table["rows"].as_array().unwrap().len();
        if rows == 0 || DATA.contains(&name) {
            continue;
        }
        assert!(!title.is_empty(), "{arguments:?}: {name} has no title");
        let heading = format!("<h2>{}</h2>", escaped(title));
        let section = html.split(&heading).nth(1).and_then(|rest| rest.split("</section>").next());
        let section = section.unwrap_or_else(|| panic!("{arguments:?}: the page lacks {title}"));
        let (view, parts) = VIEWS
            .iter()
            .find_map(|(of, view)| (*of == name).then_some((*view, 1)))
            .unwrap_or(("<tr>", rows.min(500) + 1));
        let drawn = section.matches(view).count();
        assert!(drawn >= parts, "{arguments:?}: {name} has {drawn} of {parts} {view}");
    }
}

/// Text as it is on a page.
fn escaped(text: &str) -> String {
    let entities = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")];
    entities.iter().fold(text.to_owned(), |text, (letter, entity)| text.replace(*letter, entity))
}
