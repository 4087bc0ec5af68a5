//! Names from other users reach a terminal as text: escapes, line breaks and marks of
//! direction are shown and have no effect.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod hostile;

use std::fs;
use std::path::PathBuf;

use hostile::{BIDI, ESCAPE, Planted, check, check_both, unjank};
use serde_json::{Value, json};
use tempfile::TempDir;

fn place() -> (TempDir, impl Fn(&str) -> PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    (dir, move |name: &str| path.join(name))
}

/// A run record with planted names in every free text.
fn record() -> String {
    let output = unjank(&["lock", "probe", "--for", "100ms", "--json", "--no-store"]);
    assert!(output.status.success());
    let mut record: Value = serde_json::from_slice(&output.stdout).unwrap();
    record["labels"] = json!([ESCAPE, BIDI]);
    record["warnings"] = json!([ESCAPE, BIDI]);
    for series in record["series"].as_array_mut().unwrap() {
        series["labels"]["arm"] = json!(format!("{ESCAPE} {BIDI}"));
    }
    record["unsupported"] = json!([{"what": ESCAPE, "reason": BIDI}]);
    for verdict in record["verdicts"].as_array_mut().unwrap() {
        verdict["reason"] = json!(format!("{ESCAPE} {BIDI}"));
    }
    record.to_string()
}

#[test]
fn names_in_records_have_no_effect() {
    let (_dir, at) = place();
    let (file, store) = (at("run.json"), at("runs.sqlite"));
    let (file, store) = (file.to_str().unwrap(), store.to_str().unwrap());
    let record = record();
    fs::write(file, &record).unwrap();
    let with_store = |words: &[&str]| unjank(&[words, &["--store", store]].concat());
    let imported = with_store(&["runs", "import", file]);
    assert!(imported.status.success(), "{imported:?}");
    let commands: [&[&str]; 8] = [
        &["runs", "list"],
        &["runs", "show", "last"],
        &["runs", "show", "last", "--markdown", "-"],
        &["runs", "list", "--json"],
        &["runs", "show", "last", "--json"],
        &["runs", "export", "last", "--to", "json"],
        &["runs", "prune", "--newest", "0", "--dry-run"],
        &["runs", "prune", "--newest", "0", "--dry-run", "--json"],
    ];
    for words in commands {
        let output = with_store(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        check_both(&output, &words.join(" "));
    }
    check_both(&unjank(&["runs", "compare", file, file]), "runs compare");
    check_both(&unjank(&["runs", "compare", file, file, "--json"]), "runs compare --json");
    let pruned = with_store(&["runs", "prune", "--newest", "1"]);
    assert!(pruned.status.success(), "{pruned:?}");
    // A document keeps its meaning.
    let shown: Value =
        serde_json::from_slice(&with_store(&["runs", "show", "last", "--json"]).stdout).unwrap();
    let was: Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&shown["labels"], &shown["warnings"]), (&was["labels"], &was["warnings"]));
    check_both(&with_store(&["runs", "prune", "--newest", "0"]), "runs prune");
}

#[test]
fn errors_about_files_of_others_are_one_line() {
    let (_dir, at) = place();
    let named = at(&format!("{ESCAPE}{BIDI}"));
    let named = named.to_str().unwrap();
    for words in [
        ["runs", "import", named],
        ["runs", "show", named],
        ["swap", "mrc", named],
        ["swap", "score", named],
        ["swap", "analyze", named],
        ["jitter", "import", named],
        ["launch", "simulate", named],
    ] {
        let output = unjank(&words);
        assert!(!output.status.success(), "{words:?}");
        check_both(&output, &words.join(" "));
    }
    let record = at("record.json");
    fs::write(&record, json!({ESCAPE: 1, "schema": BIDI}).to_string()).unwrap();
    check(&stderr(&["runs", "import", record.to_str().unwrap()]), "runs import");
    let config = at("boost.toml");
    let escaped = "\"a\\u001b[2J\\nFORGED\" = 1\n";
    for text in [escaped, "a\u{1b}[2J = \u{202e}1\n", "[boost]\nmethod = \"\u{202e}\\nFORGED\"\n"] {
        fs::write(&config, text).unwrap();
        for words in [
            &["launch", "boost", "plan", "--config", config.to_str().unwrap()][..],
            &["launch", "simulate", config.to_str().unwrap()],
            &["lab", "run", "--pstates", config.to_str().unwrap(), "--", "true"],
        ] {
            let said = stderr(words);
            check(&said, &words.join(" "));
            assert_eq!(
                said.lines().filter(|line| line.starts_with("error: ")).count(),
                1,
                "{said}"
            );
        }
    }
}

fn stderr(words: &[&str]) -> String {
    let output = unjank(words);
    assert!(!output.status.success(), "{words:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn programs_and_traces_have_no_effect() {
    let (_dir, at) = place();
    let says = format!("printf '%s' '{ESCAPE}{BIDI}' >&2; exit 3");
    let bench = ["launch", "bench", "--no-store", "--pairs", "1", "--gap", "0"];
    let launch = ["--ready", "notify", "--", "sh", "-c", &says];
    let launched = unjank(&[&bench[..], &launch].concat());
    let said = check_both(&launched, "launch bench");
    assert!(said.contains("it said: "), "{said}");
    let condition = format!("notify:sh -c \"{says}\"");
    let served = unjank(&[&bench[..], &["--b", &condition, "--", "true"]].concat());
    check_both(&served, "launch bench with a service");
    let (trace, named) = (at("trace.csv"), at(&format!("{ESCAPE}{BIDI}.csv")));
    let (trace, named) = (trace.to_str().unwrap(), named.to_str().unwrap());
    fs::write(trace, format!("time,page,process\n1,2,\"{BIDI}\u{1b}[2J\"\n")).unwrap();
    // From and to a hostile name.
    check_both(&unjank(&["swap", "convert", "--format", "csv", trace, named]), "swap convert");
    let out = at("out.csv");
    let out = out.to_str().unwrap();
    check_both(&unjank(&["swap", "convert", "--format", "csv", named, out]), "swap convert");
    check(&fs::read_to_string(out).unwrap(), "the converted trace");
    let wrong = format!("time,page\n1,{ESCAPE}\n");
    fs::write(trace, wrong).unwrap();
    let failed = unjank(&["swap", "convert", "--format", "csv", "--replace", trace, out]);
    check(&String::from_utf8(failed.stderr).unwrap(), "swap convert of a bad line");
}

#[test]
fn a_plan_of_a_boost_shows_no_text_of_a_tree() {
    let (_dir, at) = place();
    let config = at("boost.toml");
    let executable = "executables = [\"/opt/a\\u001b[2J\\nFORGED\\u202e\"]";
    fs::write(&config, format!("[launch]\n{executable}\n")).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/fixtures/panel-exynos4210");
    let root = at("root");
    let copied = std::process::Command::new("cp").arg("-r").arg(fixture).arg(&root).status();
    assert!(copied.unwrap().success());
    let clock = root.join("sys/devices/system/cpu/cpu0/cpufreq");
    let (root, config) = (root.to_str().unwrap(), config.to_str().unwrap());
    for name in fs::read_dir(&clock).unwrap().map(|entry| entry.unwrap().path()) {
        let kept = fs::read(&name).unwrap();
        fs::write(&name, format!("{ESCAPE}{BIDI}")).unwrap();
        for form in [&[][..], &["--json"]] {
            let plan = ["launch", "boost", "plan", "--root", root, "--config", config];
            let output = unjank(&[&plan[..], form].concat());
            for stream in [output.stdout, output.stderr] {
                check(&String::from_utf8(stream).unwrap(), "launch boost plan");
            }
        }
        fs::write(&name, kept).unwrap();
    }
}

#[test]
fn lists_of_meters_show_no_text_of_a_tree() {
    let (dir, at) = place();
    let write = |path: &str, text: &str| {
        let path = at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let battery = format!("sys/class/power_supply/{ESCAPE}");
    write(&format!("{battery}/type"), "Battery");
    write(&format!("{battery}/power_now"), "1");
    write(&format!("{battery}/status"), BIDI);
    write(&format!("dev/ttyUSB{ESCAPE}{BIDI}"), "");
    let chip = |name: &str| {
        write(&format!("sys/class/hwmon/{name}/name"), ESCAPE);
        write(&format!("sys/class/hwmon/{name}/power1_label"), BIDI);
        write(&format!("sys/class/hwmon/{name}/power1_input"), "1");
    };
    let root = dir.path().to_str().unwrap();
    let list = ["launch", "power", "--list", "--root", root];
    // The only sensor, and a list of two of which one must be named.
    for name in ["hwmon1", ESCAPE] {
        chip(name);
        for form in [&[][..], &["--json"]] {
            let output = unjank(&[&list[..], form].concat());
            assert!(output.status.success(), "{output:?}");
            check_both(&output, "launch power --list");
        }
    }
    let output = unjank(&list);
    let meters = String::from_utf8(output.stdout).unwrap();
    assert_eq!(meters.lines().count(), 9, "a heading and eight meters: {meters}");
}

#[test]
fn typed_text_has_no_effect() {
    let typed = format!("{ESCAPE}{BIDI}");
    for words in [
        vec![typed.as_str()],
        vec!["swap", "probe", "--size", typed.as_str()],
        vec!["jitter", "native", "--policy", typed.as_str()],
    ] {
        let output = unjank(&words);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{said:?}");
    }
}

#[test]
fn values_of_knobs_have_no_effect() {
    let (dir, at) = place();
    fs::create_dir_all(at("sys")).unwrap();
    let (root, state) = (dir.path().to_str().unwrap(), at("state"));
    let state = state.to_str().unwrap();
    let with = |setting: &str| {
        unjank(&["with", "--root", root, "--state-dir", state, setting, "--", "true"])
    };
    fs::write(at("sys/knob"), ESCAPE).unwrap();
    check_both(&with(&format!("/sys/knob={BIDI}")), "with");
    check_both(&with(&format!("{ESCAPE}={BIDI}")), "with of no knob");
    check_both(&with(&format!("/sys/{ESCAPE}*=1")), "with of no match");
    // The name of a knob as well.
    fs::write(at(&format!("sys/{ESCAPE}")), "1").unwrap();
    check_both(&with("/sys/a*=2"), "with of a name");
    // The journal of a session as well.
    let killed = "for p in $(cat /proc/$PPID/task/$PPID/children); do \
                  [ $p = $$ ] || kill -9 $p; done; kill -9 $PPID";
    let setting = format!("/sys/knob={BIDI}");
    let left = ["with", "--root", root, "--state-dir", state, &setting, "--", "sh", "-c", killed];
    assert_eq!(unjank(&left).status.code(), None);
    let restore = ["restore", "--root", root, "--state-dir", state];
    check_both(&unjank(&[&restore[..], &["--dry-run"]].concat()), "restore --dry-run");
    check_both(&unjank(&[&restore[..], &["--json", "--dry-run"]].concat()), "restore --json");
    check_both(&unjank(&restore), "restore");
}

#[test]
fn names_of_threads_have_no_effect() {
    let planted = Planted::start();
    let id = planted.id();
    let table = check_both(&unjank(&["rt", "list", &id]), "rt list");
    assert!(table.contains("a\\u{1b}[2J\\nFORGED"), "{table}");
    let document = unjank(&["rt", "list", &id, "--json"]);
    check_both(&document, "rt list --json");
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    let names: Vec<&str> =
        document["threads"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.contains(&BIDI), "{names:?}");
}
