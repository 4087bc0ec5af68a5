//! `unjank jitter trace`, `ipc trace` and `swap trace` with recordings of this machine.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use unjank_needs::is_there;

fn unjank(arguments: &[&str]) -> Output {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(arguments).output().unwrap()
}

/// Records a program.
fn recorded(directory: &Path, program: &[&str]) -> String {
    let file = directory.join("recording.dat").to_str().unwrap().to_owned();
    let why = ["why", "--no-store", "--no-stacks", "--trace-file", &file, "--"];
    let output = unjank(&[&why, program].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

fn record(arguments: &[&str]) -> Value {
    let output = unjank(&[arguments, &["--no-store", "--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows<'a>(record: &'a Value, name: &str) -> &'a [Value] {
    let tables = record["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name);
    table.unwrap_or_else(|| panic!("no {name}: {record}"))["rows"].as_array().unwrap()
}

fn number(cell: &Value) -> f64 {
    cell["value"].as_f64().unwrap()
}

#[test]
fn every_sleep_of_a_program_ends_in_a_wake_up() {
    if !unjank_needs::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let sleeps = "import time\nfor _ in range(100): time.sleep(0.002)";
    let file = recorded(directory.path(), &["python3", "-c", sleeps]);
    let found = record(&["jitter", "trace", &file, "--thread", "python3", "--limit", "all"]);
    let most = rows(&found, "jitter/trace/threads").iter().map(|row| number(&row[2]));
    let most = most.fold(0.0, f64::max);
    // The recording may lack switches. Besides, the program may wait for storage and for locks.
    let facts = found["facts"].as_array().unwrap().iter();
    let lacks = facts.filter(|fact| fact["name"] == "jitter/trace/without_switch");
    let lacks: f64 = lacks.map(|fact| fact["value"].as_f64().unwrap()).sum();
    assert!(most > 0.0 && (100.0..250.0).contains(&(most + lacks)), "{most} {lacks}");
    let all = record(&["jitter", "trace", &file]);
    assert!(all["series"][0]["n"].as_u64().unwrap() >= most as u64);
    let late = record(&["jitter", "trace", &file, "--late", "1ns"]);
    let causes = rows(&late, "jitter/trace/longest").iter().map(|row| row[4].as_str());
    assert!(causes.flatten().any(|cause| cause.starts_with("while ")), "{late}");
    let refused = unjank(&["ipc", "trace", "--no-store", &file]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("it has no calls over binder; record the events binder/"), "{said}");
}

/// A control group with little memory, which ends with its owner.
struct Group(PathBuf);

impl Group {
    fn new(limit: &str) -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        // Version 1 has a hierarchy for memory.
        let (root, file) = if root.join("memory").is_dir() {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            fs::write(root.join("cgroup.subtree_control"), "+memory").ok()?;
            (root.to_owned(), "memory.max")
        };
        let group = Self(root.join(format!("unjank-trace-test-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(file), limit).ok()?;
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _stays = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_program_that_reads_more_than_its_group_may_have_looks_for_pages_to_evict() {
    const PAGES: usize = 64 << 8;
    if !unjank_needs::root() {
        return;
    }
    let group = Group::new("16M");
    if !is_there("a control group with a limit of memory", group.is_some()) {
        return;
    }
    let Some(group) = group else { return };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = directory.path().join("data");
    let mut file = File::create(&data).unwrap();
    (0..PAGES).for_each(|_| file.write_all(&[7; 4096]).unwrap());
    file.sync_all().unwrap();
    let data = data.display();
    let uncached = format!("dd if={data} iflag=nocache count=0 2>/dev/null");
    let join = format!("echo $$ > {}/cgroup.procs", group.0.display());
    let program = format!("{uncached}; {join}; exec dd if={data} of=/dev/null bs=64k");
    let file = recorded(directory.path(), &["sh", "-c", &program]);
    let found = record(&["swap", "trace", &file]);
    assert_eq!(found["verdicts"][0]["answer"], "no", "{found}");
    let stalls = &rows(&found, "swap/trace/reclaim")[0];
    assert!(stalls[0].as_str().unwrap().starts_with("dd["), "{stalls}");
    // Beyond the first 16 MiB, it must evict a page for each.
    assert!(number(&stalls[2]) > 10.0, "{stalls}");
    let readers = &rows(&found, "swap/trace/readers")[0];
    assert!(readers[0].as_str().unwrap().starts_with("dd["), "{readers}");
    let pages = number(&readers[2]);
    assert!((PAGES as f64..1.5 * PAGES as f64).contains(&pages), "{pages}");
}
