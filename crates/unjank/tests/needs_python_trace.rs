//! `unjank jitter trace`, `ipc trace` and `swap trace` with traces that Perfetto's own classes have
//! written.
//!
//! Needs perfetto of `PyPI` in a virtual environment under `target`, which `make test` makes. Fails
//! without it when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod perfetto;

use perfetto::{record, refused, table, trace, warnings};
use serde_json::Value;

const WAKE_UPS: [&str; 2] = ["jitter", "trace"];
const CALLS: [&str; 2] = ["ipc", "trace"];
const MEMORY: [&str; 2] = ["swap", "trace"];

/// A row of a table: texts as they are, numbers rounded to microseconds if they are times.
fn row(table: &Value, number: usize) -> Vec<String> {
    let columns = table["columns"].as_array().unwrap();
    let row = table["rows"][number].as_array().unwrap();
    let cells = row.iter().zip(columns).map(|(cell, column)| match cell {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        cell => {
            let value = cell["value"].as_f64().unwrap();
            let scale = if column["unit"] == "ns" { 1e3 } else { 1.0 };
            format!("{}", (value / scale * 1e3).round() / 1e3)
        }
    });
    cells.collect()
}

#[test]
fn late_wake_ups_have_the_known_answer_in_every_form() {
    let Some(file) = trace("android.py", "full") else { return };
    let first = record(&WAKE_UPS, file.path(), &["--late", "400us"]);
    let threads = table(&first, "jitter/trace/threads");
    let other = (0..6).map(|number| row(threads, number)).find(|row| row[0] == "ple.other[400]");
    // Frames begin 0.1 ms after the wake-up, and the lock is free 0.5 ms before the thread runs.
    assert_eq!(
        other.unwrap(),
        [
            "ple.other[400]",
            "com.example.other[400]",
            "13",
            "100",
            "",
            "500",
            "1",
            "while worker[402] ran"
        ]
    );
    let verdict = &first["verdicts"][0];
    assert_eq!(verdict["answer"], "no");
    let next = verdict["next"].as_str().unwrap();
    assert!(next.ends_with("--process 200 --thread 200 --since 5.000000000 --until 5.011000000"));
    let in_time = record(&WAKE_UPS, file.path(), &["--late", "1ms"]);
    assert_eq!(in_time["verdicts"][0]["answer"], "yes");
    for form in ["compact", "packed", "gzip"] {
        let file = trace("android.py", form).unwrap();
        let record = record(&WAKE_UPS, file.path(), &["--late", "400us"]);
        assert_eq!(record["tables"], first["tables"], "{form}");
        assert_eq!(warnings(&record), warnings(&first), "{form}");
    }
}

#[test]
fn threads_processes_and_times_of_wake_ups_are_chosen() {
    let Some(file) = trace("android.py", "compact") else { return };
    let n = |options: &[&str]| {
        record(&WAKE_UPS, file.path(), options)["series"][0]["n"].as_u64().unwrap()
    };
    assert_eq!(n(&["--thread", "Render*"]), 3 + 12);
    assert_eq!(n(&["--thread", "Render*", "--process", "com.example.calendar"]), 3);
    assert_eq!(n(&["--process", "400", "--since", "5.2"]), 13 + 12);
    assert_eq!(n(&["--thread", "Render*", "--since", "+100ms", "--until", "+130ms"]), 1);
    for (options, expected) in [
        (["--thread", "nobody"], "no thread called nobody was woken in this time"),
        (["--process", "nobody"], "the recording has no process called nobody; it has "),
        (["--since", "+5s"], "there is nothing from 9.995000000 s to 5.418500000 s; "),
    ] {
        let said = refused(&WAKE_UPS, file.path(), &options);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn calls_over_binder_have_the_known_answer_in_every_form() {
    let Some(file) = trace("delays.py", "full") else { return };
    let first = record(&CALLS, file.path(), &[]);
    assert_eq!(warnings(&first), Vec::<&str>::new());
    let calls = table(&first, "ipc/trace/calls");
    let (app, server) = ("com.example.calendar[300]", "com.example.server[500]");
    // One of them is longer, because the server calls another one meanwhile.
    assert_eq!(row(calls, 0), [app, server, "10", "3800", "", "21800", "10"]);
    assert_eq!(row(calls, 1), [server, "storaged[600]", "1", "", "", "1200", "0"]);
    let parts = table(&first, "ipc/trace/parts");
    let part = |number: usize| row(parts, number)[2..6].join(" ");
    assert_eq!(part(0), "to the server 1100  1100");
    assert_eq!(part(1), "in the server 2000  20000");
    assert_eq!(part(2), "back to the client 700  700");
    let longest = row(table(&first, "ipc/trace/longest"), 0);
    assert_eq!(longest[0], "5.160000000 s");
    assert_eq!(longest[3..], ["21800", "1100", "900", "20000", "700", "500"]);
    let one_way = table(&first, "ipc/trace/one_way");
    assert_eq!(row(one_way, 0), [app, server, "1", "", "", "1500"]);
    let facts = first["facts"].as_array().unwrap();
    let fact = |name: &str| facts.iter().find(|it| it["name"] == name).unwrap()["value"].clone();
    assert_eq!(fact("ipc/trace/unfinished"), 1.0);
    let verdict = &first["verdicts"][0];
    assert_eq!(verdict["answer"], "no");
    let next = verdict["next"].as_str().unwrap();
    assert!(next.ends_with("--process 300 --thread 300 --since 5.160000000 --until 5.181800000"));
    for form in ["compact", "packed", "gzip"] {
        let file = trace("delays.py", form).unwrap();
        let record = record(&CALLS, file.path(), &[]);
        assert_eq!(record["tables"], first["tables"], "{form}");
    }
}

#[test]
fn calls_are_chosen_and_a_trace_without_them_says_what_to_record() {
    let Some(file) = trace("delays.py", "compact") else { return };
    let n =
        |options: &[&str]| record(&CALLS, file.path(), options)["series"][0]["n"].as_u64().unwrap();
    assert_eq!(n(&["--process", "storaged"]), 1);
    assert_eq!(n(&["--process", "com.example.calendar", "--since", "5.1", "--until", "5.2"]), 4);
    let in_time = record(&CALLS, file.path(), &["--deadline", "30ms"]);
    assert_eq!(in_time["verdicts"][0]["answer"], "yes");
    let android = trace("android.py", "compact").unwrap();
    let said = refused(&CALLS, android.path(), &[]);
    assert!(said.contains("the category binder_driver"), "{said}");
}

#[test]
fn a_shortage_of_memory_has_the_known_answer_in_every_form() {
    let Some(file) = trace("delays.py", "full") else { return };
    let first = record(&MEMORY, file.path(), &[]);
    let other = ["ple.other[400]", "com.example.other[400]"];
    let cells = |name: &str| row(table(&first, name), 0);
    assert_eq!(cells("swap/trace/reclaim")[..2], other);
    assert_eq!(cells("swap/trace/reclaim")[2..], ["2", "15000", "3000", "12000"]);
    assert_eq!(cells("swap/trace/longest"), ["5.401000000 s", other[0], "12000"]);
    let kswapd = cells("swap/trace/kswapd");
    assert_eq!((kswapd[1].as_str(), kswapd[2].as_str(), kswapd[4].as_str()), ("2", "8000", "7000"));
    assert_eq!(cells("swap/trace/files"), ["inode 77 on 254,0", "8", other[0]]);
    assert_eq!(cells("swap/trace/readers"), [other[0], other[1], "8", "1"]);
    let verdict = &first["verdicts"][0];
    assert_eq!(verdict["answer"], "no");
    let next = verdict["next"].as_str().unwrap();
    assert!(next.ends_with("--process 400 --thread 400 --since 5.401000000 --until 5.413000000"));
    for form in ["compact", "packed", "gzip"] {
        let file = trace("delays.py", form).unwrap();
        let record = record(&MEMORY, file.path(), &[]);
        assert_eq!(record["tables"], first["tables"], "{form}");
    }
}

#[test]
fn a_trace_without_memory_says_what_to_record() {
    let Some(file) = trace("android.py", "compact") else { return };
    let said = refused(&MEMORY, file.path(), &[]);
    assert!(said.contains("it has no events about memory; record vmscan/"), "{said}");
    let delays = trace("delays.py", "compact").unwrap();
    let app = record(&MEMORY, delays.path(), &["--process", "com.example.calendar"]);
    assert_eq!(app["verdicts"][0]["answer"], "cannot_tell");
}
