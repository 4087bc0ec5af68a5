//! `unjank runs` over a private store.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// A store in a temporary directory.
struct Kept {
    dir: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A store with `runs` quick runs.
    fn with_runs(runs: usize) -> Self {
        let kept = Self::new();
        for _ in 0..runs {
            kept.unjank(&["lock", "probe", "--for", "100ms"]).assert().success();
        }
        kept
    }

    fn unjank(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(unjank_needs::unjank!());
        command.args(arguments).arg("--store").arg(self.path());
        command
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("runs.sqlite")
    }

    /// The stdout of a command that must succeed.
    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.unjank(arguments).assert().success().get_output().clone();
        String::from_utf8(output.stdout).expect("unjank writes UTF-8")
    }

    /// The stderr of a command that must fail with `code`.
    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.unjank(arguments).assert().code(code).get_output().clone();
        String::from_utf8(output.stderr).expect("unjank writes UTF-8")
    }

    fn ids(&self) -> Vec<String> {
        let list: Value =
            serde_json::from_str(&self.prints(&["runs", "list", "--json"])).expect("JSON");
        let entries = list.as_array().expect("a list").iter();
        entries.map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect()
    }
}

#[test]
fn a_record_of_the_former_version_is_shown_in_full() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/former/lock-bench.json");
    let record: Value = serde_json::from_slice(&fs::read(file).expect("a record")).expect("JSON");
    assert_eq!(record["schema"], "unjank.run/1");
    let kept = Kept::new();
    let text = kept.prints(&["runs", "show", file]);
    for part in [
        "lock/unjank      ? cannot tell  49.7 % (4.56–328 %)",
        "lock/bench/floor                                  19,227       0  1.07 µs",
        "unjank lock bench\n",
        "\nCurves ",
        "\nFacts ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let pages = kept.prints(&["runs", "show", file, "--html", "-"]);
    assert!(pages.contains("<h2>Series</h2>") && pages.contains("class=\"heat\""));
    kept.prints(&["runs", "import", file]);
    assert_eq!(kept.prints(&["runs", "show", "last"]), text);
}

#[test]
fn runs_are_kept_listed_shown_and_pruned() {
    let kept = Kept::with_runs(3);
    let ids = kept.ids();
    assert_eq!(ids.len(), 3);
    assert_eq!(kept.prints(&["runs", "list", "--limit", "1"]).lines().count(), 2);
    assert!(
        kept.prints(&["runs", "list", "--command", "jitter"]).starts_with("no run of jitter in ")
    );

    assert!(kept.prints(&["runs", "show", "last"]).contains(&ids[0]));
    let shown: Value =
        serde_json::from_str(&kept.prints(&["runs", "show", "last~2", "--json"])).expect("JSON");
    assert_eq!(shown["id"], ids[2].as_str());
    assert!(kept.prints(&["runs", "show", &ids[1], "--markdown", "-"]).starts_with("# "));
    let page = kept.dir.path().join("page.html");
    kept.prints(&["runs", "show", "last", "last~1", "--html", page.to_str().expect("UTF-8")]);
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains(&ids[0]) && page.contains(&ids[1]));

    kept.prints(&["runs", "prune", "--newest", "1", "--dry-run"]);
    assert_eq!(kept.ids().len(), 3);
    kept.prints(&["runs", "prune", "--newest", "1"]);
    assert_eq!(kept.ids(), ids[..1]);
    assert_eq!(kept.prints(&["runs", "prune", "--older-than", "1d"]), "no run removed\n");
}

#[test]
fn runs_travel_as_json_lines() {
    let kept = Kept::with_runs(2);
    let lines = kept.prints(&["runs", "export"]);
    assert_eq!(lines.lines().count(), 2);
    let elsewhere = Kept::new();
    let import = || elsewhere.unjank(&["runs", "import", "-"]).write_stdin(lines.clone()).assert();
    import().success();
    assert_eq!(elsewhere.ids(), kept.ids());
    let again = import().success().get_output().stdout.clone();
    assert!(String::from_utf8_lossy(&again).contains("already stored"));
    for one in
        [kept.prints(&["runs", "export", "last"]), kept.prints(&["runs", "show", "last", "--json"])]
    {
        let again = elsewhere.unjank(&["runs", "import", "-"]).write_stdin(one).assert().success();
        assert!(String::from_utf8_lossy(&again.get_output().stdout).contains("already stored"));
    }
    let csv = kept.prints(&["runs", "export", "last", "--to", "csv"]);
    assert!(csv.starts_with("run,started_at,command,series,labels,unit,n,missed,min,p50"));
    assert!(csv.contains("lock/park_wake") || csv.contains("lock/park/round_trip"), "{csv}");
}

#[test]
fn a_run_may_come_from_a_file_or_a_pipe_and_is_checked() {
    let kept = Kept::with_runs(1);
    let json = kept.prints(&["runs", "show", "last", "--json"]);
    let run = |arguments: &[&str], stdin: &str| {
        kept.unjank(arguments).write_stdin(stdin.to_owned()).assert().get_output().clone()
    };
    let piped = run(&["runs", "compare", "last", "-", "--json"], &json);
    assert_eq!(piped.status.code(), Some(0), "{}", String::from_utf8_lossy(&piped.stderr));
    let marked = json.replacen('{', "{\"of_a_later_version\": 1,", 1);
    let exported = run(&["runs", "export", "-"], &marked).stdout;
    assert!(String::from_utf8_lossy(&exported).contains("of_a_later_version"));
    assert_eq!(String::from_utf8_lossy(&exported).lines().count(), 1);

    let mut broken: Value = serde_json::from_str(&json).expect("JSON");
    broken["series"][0]["n"] = 1.into();
    let refused = run(&["runs", "show", "-"], &broken.to_string());
    assert_eq!(refused.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(stderr.starts_with("error: - is not a run record: series lock/"), "{stderr}");

    let stderr = kept.fails(&["runs", "show", "no/such/run.json"], 2);
    assert!(stderr.starts_with("error: cannot read no/such/run.json: "), "{stderr}");
}

#[test]
fn a_damaged_record_keeps_no_other_from_being_exported() {
    let kept = Kept::with_runs(3);
    let raw = rusqlite::Connection::open(kept.path()).expect("a database");
    let damage = "UPDATE run SET record = substr(record, 1, 99) WHERE id = ?1";
    assert_eq!(raw.execute(damage, [&kept.ids()[1]]).expect("a table"), 1);
    let csv = kept.unjank(&["runs", "export", "--to", "csv"]).assert().code(1);
    let csv = csv.get_output();
    let stderr = String::from_utf8_lossy(&csv.stderr).into_owned();
    assert!(stderr.contains(&kept.ids()[1]) && stderr.contains("EOF while parsing"), "{stderr}");
    let rows = String::from_utf8_lossy(&csv.stdout).into_owned();
    assert!(rows.contains(&kept.ids()[0]) && rows.contains(&kept.ids()[2]), "{rows}");
    assert_eq!(kept.ids().len(), 3);
}

#[test]
fn one_series_is_exported_as_a_distribution() {
    let kept = Kept::with_runs(1);
    let series = "lock/uncontended_none";
    let stderr = kept.fails(&["runs", "export", "last", "--to", "hgrm", "--series", series], 2);
    assert!(stderr.contains("choose it with --series from lock/"), "{stderr}");
    let (_, names) = stderr.trim_end().split_once(" from ").expect("series");
    let name = names.split("; ").next().expect("a series");
    let text = kept.prints(&["runs", "export", "last", "--to", "hgrm", "--series", name]);
    assert!(text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"));
    assert!(text.contains("#[Max     ="), "{text}");
    kept.fails(&["runs", "export", "last", "last", "--to", "hgrm"], 2);
    kept.fails(&["runs", "export", "last", "--series", name], 2);
}

#[test]
fn a_later_store_is_listed_and_not_written() {
    let kept = Kept::with_runs(1);
    let raw = rusqlite::Connection::open(kept.path()).expect("a database");
    raw.execute_batch("PRAGMA user_version = 9").expect("own file");
    drop(raw);
    assert_eq!(kept.ids().len(), 1);
    let output = kept.unjank(&["lock", "probe", "--for", "100ms"]).assert().code(3);
    let output = output.get_output();
    assert!(String::from_utf8_lossy(&output.stdout).contains("lock/pause"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("store version 9, this one knows 1"), "{stderr}");
    kept.fails(&["runs", "prune", "--newest", "0"], 3);
    assert_eq!(kept.ids().len(), 1);
}

/// Without root: a limit on the size of files acts like a full disk.
#[test]
fn a_store_that_cannot_grow_loses_nothing() {
    let kept = Kept::with_runs(1);
    let limit = fs::metadata(kept.path()).expect("there").len() / 512 + 1;
    let script = format!(
        "trap '' XFSZ; ulimit -f {limit}; exec \"$0\" lock probe --for 100ms --store \"$1\""
    );
    let output = Command::new("sh")
        .args(["-c", &script, unjank_needs::unjank!()])
        .arg(kept.path())
        .assert()
        .code(1);
    let output = output.get_output();
    assert!(String::from_utf8_lossy(&output.stdout).contains("lock/pause"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("was not stored: "), "{stderr}");
    assert_eq!(kept.ids().len(), 1);
    kept.prints(&["runs", "show", "last"]);
}

#[test]
fn without_a_home_the_store_has_to_be_named() {
    let mut command = Command::new(unjank_needs::unjank!());
    let output = command.args(["runs", "list"]).env_remove("HOME").env_remove("XDG_DATA_HOME");
    let output = output.assert().code(2).get_output().clone();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("with --store FILE"), "{stderr}");

    // The results are printed, and the exit code is that of a success.
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["lock", "probe", "--for", "100ms", "--json"]);
    let output = command.env_remove("HOME").env_remove("XDG_DATA_HOME").assert().success();
    let output = output.get_output();
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(record["command"], "lock probe");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        stderr.starts_with("not stored: neither HOME nor XDG_DATA_HOME is an absolute path"),
        "{stderr}"
    );

    let home = Kept::new();
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["lock", "probe", "--for", "100ms"]).env("XDG_DATA_HOME", home.dir.path());
    command.assert().success();
    assert!(home.dir.path().join("unjank/runs.sqlite").is_file());
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let kept = Kept::with_runs(1);
    let stderr = kept.fails(&["runs", "show", "1999"], 2);
    assert!(stderr.starts_with("error: no run 1999 in "), "{stderr}");
    let stderr = kept.fails(&["runs", "show", "last~5"], 2);
    assert!(stderr.starts_with("error: no run last~5 in "), "{stderr}");
    kept.fails(&["runs", "prune"], 2);
}

#[test]
fn other_json_is_not_imported() {
    let kept = Kept::new();
    let file = kept.dir.path().join("x.json");
    let import = |text: &str| {
        fs::write(&file, text).expect("own directory");
        kept.fails(&["runs", "import", file.to_str().expect("UTF-8")], 2)
    };
    assert!(import("").contains("is not a run record"));
    assert!(import("{\"schema\": \"unjank.run/3\"}").contains("unjank.run/3"));
    assert!(import("[1, 2").contains("is not a run record"));
    assert!(kept.ids().is_empty());
}

#[test]
fn a_file_that_is_not_a_store_is_left_alone() {
    let kept = Kept::new();
    fs::write(kept.path(), "a letter to a friend").expect("own directory");
    let stderr = kept.fails(&["runs", "list"], 2);
    assert!(stderr.contains("is not a run store"), "{stderr}");
    let stderr = kept.fails(&["lock", "probe", "--for", "100ms"], 2);
    assert!(stderr.contains("is not a run store"), "{stderr}");
    assert_eq!(fs::read_to_string(kept.path()).expect("still there"), "a letter to a friend");
}

#[test]
fn the_store_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let kept = Kept::with_runs(1);
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&kept.path()), 0o600);
}

#[test]
fn a_run_is_no_worse_than_itself_and_passes_the_gate() {
    let kept = Kept::with_runs(1);
    let message = kept.prints(&["runs", "compare", "last", "last", "--fail-if", "worse", "--json"]);
    let comparison: Value = serde_json::from_str(&message).expect("JSON");
    let effects = comparison["effects"].as_array().expect("a list");
    assert!(!effects.is_empty());
    for effect in effects {
        assert!(effect["answer"] != "worse" && effect["answer"] != "better", "{effect}");
    }
}

#[test]
fn a_slower_run_is_worse_and_fails_the_gate() {
    let kept = Kept::with_runs(1);
    // The same run with pauses that cost ten times as much.
    let mut record: Value =
        serde_json::from_str(&kept.prints(&["runs", "show", "last", "--json"])).expect("JSON");
    record["id"] = "20990101T000000-abcdef".into();
    let facts = record["facts"].as_array_mut().expect("a list");
    let pause = facts.iter_mut().find(|fact| fact["name"] == "lock/pause").expect("a pause");
    for number in ["/value", "/interval/0", "/interval/1"] {
        let number = pause.pointer_mut(number).expect("a number");
        *number = (number.as_f64().expect("a number") * 10.0).into();
    }
    let file = kept.dir.path().join("slow.json");
    fs::write(&file, record.to_string()).expect("own directory");
    let file = file.to_str().expect("UTF-8");
    let output = kept
        .unjank(&["runs", "compare", "last", file, "--fail-if", "worse"])
        .assert()
        .code(5)
        .get_output()
        .clone();
    let message = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(message.contains("answer          1 worse"), "{message}");
    kept.prints(&["runs", "compare", "last", file]);
}

#[test]
fn other_runs_of_the_same_thing_show_the_spread_between_runs() {
    let kept = Kept::with_runs(5);
    // A run with other settings is no repetition.
    kept.unjank(&["lock", "probe", "--for", "110ms"]).assert().success();
    let said = kept.prints(&["runs", "compare", "last~2", "last~1"]);
    let holds = "intervals hold the spread of 3 other runs of the same thing";
    assert!(said.contains(&format!("run to run      {holds}")), "{said}");
    let said = kept.prints(&["runs", "compare", "last~1", "last", "--json"]);
    let comparison: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(comparison["repeats"], 4);
    let ids = kept.ids();
    kept.unjank(&["runs", "prune", "--newest", "4"]).assert().success();
    let said = kept.prints(&["runs", "compare", &ids[2], &ids[1]]);
    assert!(said.contains("unknown: the store has fewer than 3 other runs"), "{said}");
}

#[test]
fn runs_of_different_commands_have_nothing_in_common() {
    let kept = Kept::with_runs(1);
    kept.unjank(&["ipc", "probe", "--for", "200ms"]).assert().success();
    let stderr = kept.fails(&["runs", "compare", "last~1", "last"], 2);
    assert!(stderr.contains("have no series and no fact with an interval in common"), "{stderr}");
}

#[test]
fn charts_are_svg_files_that_the_markdown_shows() {
    let kept = Kept::with_runs(1);
    let [markdown, charts] = ["run.md", "charts"].map(|name| kept.dir.path().join(name));
    let [markdown, charts] = [&markdown, &charts].map(|path| path.to_str().expect("UTF-8"));
    kept.prints(&["runs", "show", "last", "--markdown", markdown, "--figures", charts]);
    let text = fs::read_to_string(markdown).expect("the Markdown");
    let entries = fs::read_dir(charts).expect("the charts");
    let files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        assert!(text.contains(&format!("](charts/{name})")), "{text}");
        let svg = fs::read_to_string(&file).expect("a chart");
        let tree = roxmltree::Document::parse(&svg).expect("XML");
        assert_eq!(tree.root_element().tag_name().name(), "svg");
        assert!(tree.root_element().attribute("width").is_some());
    }
    assert_eq!(kept.prints(&["runs", "show", "last", "--figures", charts]).lines().count(), 1);
}

#[test]
fn where_runs_with_and_without_sudo_are_is_said() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let output = Command::new(unjank_needs::unjank!())
        .args(["runs", "show", "nosuchrun"])
        .env("XDG_DATA_HOME", data.path())
        .env("SUDO_USER", "al\u{1b}[2Jice")
        .assert()
        .failure()
        .get_output()
        .clone();
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("made without sudo") || said.contains("made with sudo"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}
