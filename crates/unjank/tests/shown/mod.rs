//! Compares the output of a command with that of `runs show`, and the views of its record with
//! each other.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod views;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use views::{Section, block, of_markdown, of_page, without_markup, without_tags, words};

fn unjank(store: &Path, arguments: &[&str]) -> Output {
    run_by(Command::new(unjank_needs::unjank!()), store, arguments)
}

fn run_by(mut program: Command, store: &Path, arguments: &[&str]) -> Output {
    let options = arguments.iter().position(|it| it.starts_with('-')).unwrap_or(arguments.len());
    let (names, options) = arguments.split_at(options);
    program.args(names).arg("--store").arg(store).args(options).env("COLUMNS", "100");
    program.output().expect("unjank runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The form of a table that a page does not show as rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    /// A paragraph for each cell.
    Cards,
    /// A bar for each row.
    Bars,
    /// Pieces of a path over time.
    Timeline,
}

/// The tables that a page does not show as rows, and the element that it has for each.
const DRAWN: [(&str, Drawn, &str); 4] = [
    ("lock/doctor/diagnoses", Drawn::Cards, "<dl class=\"card\">"),
    ("reproduce/reasons", Drawn::Cards, "<dl class=\"card\">"),
    ("swap/analyze/volume", Drawn::Bars, "<svg class=\"bar\""),
    ("why/path", Drawn::Timeline, "<figure class=\"timeline\">"),
];

/// Tables that no view shows.
const DATA: [&str; 3] = ["ipc/throughput/turns", "why/clock", "why/requests"];

/// The most rows of a table on a page.
const ROWS: usize = 500;

/// Asserts that `runs show` prints the output of `arguments` again, and that text, Markdown and
/// page of the record have the same answers, tables and warnings. Returns the output.
pub(crate) fn check(arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    check_by(Command::new(unjank_needs::unjank!()), &store, arguments)
}

/// As `check`, for a `program` that becomes unjank, and for the last record of a `store`.
pub(crate) fn check_by(program: Command, store: &Path, arguments: &[&str]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let printed = run_by(program, store, arguments);
    let (stdout, stderr) = (text(&printed.stdout), text(&printed.stderr));
    assert!(!stdout.is_empty(), "{arguments:?}: {stderr}");
    let show = |options: &[&str]| {
        let shown = unjank(store, &[&["runs", "show", "last"], options].concat());
        assert!(shown.status.success(), "{arguments:?}: {}", text(&shown.stderr));
        (text(&shown.stdout), text(&shown.stderr))
    };
    let shown = show(&[]);
    assert_eq!(shown.0, stdout, "{arguments:?}");
    assert!(stderr.ends_with(&shown.1), "{arguments:?}: {stderr}, but again {}", shown.1);
    let page = directory.path().join("run.html");
    show(&["--html", page.to_str().unwrap()]);
    let record: Value = serde_json::from_str(&show(&["--json"]).0).unwrap();
    // It prints its reasons beside the document.
    assert!(record["command"] != "schd-dbg" || !shown.1.is_empty());
    let views = Views {
        arguments,
        text: show(&["--all"]).0,
        markdown: show(&["--markdown", "-"]).0,
        page: fs::read_to_string(page).unwrap(),
    };
    views.check_answers(&record);
    views.check_tables(&record);
    stdout
}

/// One record in all forms for readers.
struct Views<'a> {
    arguments: &'a [&'a str],
    text: String,
    markdown: String,
    page: String,
}

impl Views<'_> {
    /// Asserts that the views have the same headline, answers, warnings and reasons for missing
    /// measurements, and that the page has a chart of the series.
    fn check_answers(&self, record: &Value) {
        let Self { arguments, text, markdown, page } = self;
        let list = |name: &str| record[name].as_array().unwrap().as_slice();
        let (shown, on_page) = (words(text), words(&without_tags(page)));
        let sections = of_markdown(markdown);
        let headline = markdown.lines().find(|line| line.starts_with("**")).unwrap();
        let headline = words(&without_markup(headline));
        let answer = page.split_once("<p class=\"answer\">").unwrap().1;
        let answer = words(&without_tags(answer.split_once("</p>").unwrap().0));
        assert_eq!(headline, answer, "{arguments:?}");
        let verdicts = list("verdicts");
        if !verdicts.is_empty() || record["headline"].is_string() {
            assert!(shown.contains(&headline), "{arguments:?}: {headline}");
        }
        let answers = sections.iter().find(|section| section.title == "Answers");
        let answers = answers.map_or(&[][..], |section| &section.rows[1..]);
        assert_eq!(answers.len(), verdicts.len(), "{arguments:?}: answers in Markdown");
        for (verdict, row) in verdicts.iter().zip(answers) {
            let question = verdict["question"].as_str().unwrap();
            let [subject, answer, _, _, why, next] = row.as_slice() else { panic!("{row:?}") };
            assert_eq!(verdict["subject"], subject.as_str());
            let reason = why.strip_prefix(question).unwrap_or_else(|| panic!("{why}"));
            assert!(!question.is_empty(), "{arguments:?}: {subject}");
            for part in [answer, question, reason, next] {
                let part = words(part);
                assert!(shown.contains(&part), "{arguments:?}: the text lacks {part}");
                assert!(on_page.contains(&part), "{arguments:?}: the page lacks {part}");
            }
        }
        let cards = page.matches("<div class=\"verdict ").count();
        assert_eq!(cards, verdicts.len(), "{arguments:?}: answers on the page");
        if list("series").iter().any(|series| series["n"].as_u64().unwrap() > 1) {
            assert!(page.contains("<svg class=\"chart "), "{arguments:?}: the page has no chart");
        }
        for (title, number) in
            [("Warnings", list("warnings").len()), ("Not measured", list("unsupported").len())]
        {
            let section = sections.iter().find(|section| section.title == title);
            let notes = section.map_or(0, |it| it.lines.len() + it.rows.len().saturating_sub(1));
            assert_eq!(notes, number, "{arguments:?}: {title} in Markdown");
            let rows = section.iter().flat_map(|it| it.rows.iter().skip(1).flatten());
            for note in section.iter().flat_map(|it| &it.lines).chain(rows) {
                let note = words(note);
                assert!(shown.contains(&note), "{arguments:?}: the text lacks {note}");
                assert!(on_page.contains(&note), "{arguments:?}: the page lacks {note}");
            }
        }
    }

    /// Asserts that the views have the same tables with the same cells, in the order of the
    /// record.
    fn check_tables(&self, record: &Value) {
        let lines: Vec<&str> = self.text.lines().collect();
        let (mut markdown, mut page) = (of_markdown(&self.markdown), of_page(&self.page));
        let mut lines = lines.as_slice();
        for table in record["tables"].as_array().unwrap() {
            let [name, title] = ["name", "title"].map(|field| table[field].as_str().unwrap());
            let number = table["rows"].as_array().unwrap().len();
            if number == 0 || DATA.contains(&name) {
                continue;
            }
            let about = format!("{:?}: {name}", self.arguments);
            assert!(!title.is_empty(), "{about} has no title");
            let next = |sections: &mut Vec<Section>| {
                let at = sections.iter().position(|section| section.title == title);
                at.map(|at| sections.drain(..=at).next_back().unwrap())
            };
            let written = next(&mut markdown).unwrap_or_else(|| panic!("{about} in Markdown"));
            let section = next(&mut page).unwrap_or_else(|| panic!("{about} on the page"));
            let (shown, rest) = block(lines, title).unwrap_or_else(|| panic!("{about} in text"));
            lines = rest;
            let drawn = DRAWN.iter().find(|(of, ..)| *of == name);
            if let Some((_, _, element)) = drawn {
                assert!(self.page.contains(element), "{about} lacks {element}");
            }
            let drawn = drawn.map(|(_, drawn, _)| *drawn);
            check_table(&about, drawn, [&written, &section], shown);
            if drawn == Some(Drawn::Timeline) {
                continue;
            }
            assert_eq!(written.rows.len(), number + 1, "{about}");
            let (shown, on_page) = (words(&shown.join(" ")), words(&section.lines.join(" ")));
            assert_eq!(written.lines.len(), table["notes"].as_array().map_or(0, Vec::len));
            for note in written.lines.iter().map(|note| words(note)) {
                assert!(shown.contains(&note) && on_page.contains(&note), "{about}: {note}");
            }
        }
    }
}

/// Asserts that the cells of a table in Markdown are those on the page and in the `text`.
fn check_table(about: &str, drawn: Option<Drawn>, views: [&Section; 2], text: &[&str]) {
    let [markdown, page] = views;
    match drawn {
        None => {
            let most = markdown.rows.len().min(ROWS + 1);
            assert_eq!(page.rows, markdown.rows[..most], "{about}");
            let lines: Vec<String> = text.iter().map(|line| words(line)).collect();
            let rows: Vec<String> = markdown.rows.iter().map(|row| words(&row.join(" "))).collect();
            assert_eq!(lines[..rows.len()], rows, "{about}");
        }
        Some(Drawn::Timeline) => assert_eq!(text, markdown.lines, "{about}"),
        Some(Drawn::Bars) => {
            for (at, row) in markdown.rows.iter().skip(1).enumerate() {
                assert!(text[at].starts_with(&row[0]), "{about}: {row:?}");
                assert_eq!(page.rows[at][0], row[0], "{about}");
                assert!(row.iter().all(|cell| text[at].contains(cell)), "{about}: {row:?}");
            }
        }
        Some(Drawn::Cards) => {
            let (text, page) = (words(&text.join(" ")), words(&page.lines.join(" ")));
            for cell in markdown.rows.iter().skip(1).flatten().map(|cell| words(cell)) {
                assert!(text.contains(&cell) && page.contains(&cell), "{about}: {cell}");
            }
        }
    }
}
