//! `unjank runs import` of what other tools have written.

use std::fs;

use assert_cmd::Command;
use tempfile::TempDir;

/// The directory of a private store.
struct Store(TempDir);

impl Store {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn unjank(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(unjank_needs::unjank!());
        command.args(arguments).arg("--store").arg(self.0.path().join("runs.sqlite"));
        command
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
}

/// A result of another tool.
fn foreign(name: &str) -> String {
    format!("{}/../measure/src/import/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn results_of_other_tools_are_kept_and_shown() {
    let store = Store::new();
    for (name, tool, shown) in [
        ("fio-json-plus.json", "fio", "fio/read/clat"),
        ("fio.json", "fio", "fio/read/clat/p99.9"),
        ("jhiccup.hlog", "hlog", "hlog/latency"),
        ("jmh.json", "jmh", "jmh/x.B.sum/sample"),
        ("timerlat.txt", "rtla timerlat", "rtla/timerlat/thread"),
    ] {
        let printed = store.prints(&["runs", "import", &foreign(name)]);
        assert!(printed.contains(&format!(" {tool}, imported")), "{printed}");
        let id = printed.split(' ').next().expect("an id");
        let record = store.prints(&["runs", "show", id, "--json"]);
        assert!(record.contains("\"imported\""), "{name}: {record}");
        let text = store.prints(&["runs", "show", id, "--all"]);
        assert!(text.contains(shown), "{name}: {text}");
        assert!(text.contains("kernel unknown"), "{name}: {text}");
    }
    // fio says when it ran, so its run is known again.
    let again = store.prints(&["runs", "import", &foreign("fio.json")]);
    assert!(again.contains("fio, already stored"), "{again}");
    let all = store.prints(&["runs", "export"]);
    let again = store.unjank(&["runs", "import", "-"]).write_stdin(all).assert().success();
    let again = String::from_utf8_lossy(&again.get_output().stdout).into_owned();
    assert_eq!(again.matches("already stored").count(), 5, "{again}");
    let runs = store.prints(&["runs", "list"]);
    assert_eq!(runs.lines().count(), 6, "five runs and a heading: {runs}");
}

#[test]
fn what_another_command_reads_is_named() {
    let store = Store::new();
    let import = |text: &[u8]| {
        let file = store.0.path().join("file.data");
        fs::write(&file, text).expect("a file");
        store.fails(&["runs", "import", file.to_str().expect("UTF-8")], 2)
    };
    let perf = import(b"PERFILE2\x68\x00\xff\xfe");
    assert!(perf.contains("perf record wrote it") && perf.lines().count() == 1, "{perf}");
    let cyclictest = include_bytes!("../../jitter/fixtures/cyclictest.json");
    let hint = import(cyclictest);
    assert!(hint.contains("unjank jitter import reads it"), "{hint}");
    assert!(import(b"{\"fio version\": 3}").contains("cannot be imported"));
}
