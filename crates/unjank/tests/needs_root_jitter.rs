//! `unjank jitter native` as root: real-time policies and traces.
//!
//! Needs root. Without it, fails if `UNJANK_TEST_ALL=1`, otherwise prints that it
//! was skipped.

// Tests print why they were skipped.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;
use unjank_needs::wait::Process;

fn native(arguments: &[&str]) -> Value {
    let output = Command::new(unjank_needs::unjank!())
        .args(["jitter", "native", "--no-store", "--json"])
        .args(arguments)
        .output()
        .expect("unjank runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

fn reason<'a>(record: &'a Value, what: &str) -> Option<&'a str> {
    let unsupported = record["unsupported"].as_array().expect("a list");
    unsupported.iter().find(|missing| missing["what"] == what)?["reason"].as_str()
}

/// The last CPU that this process may use.
fn last_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list = list.expect("every status has it").trim();
    list.rsplit([',', '-']).next().expect("a CPU").to_owned()
}

#[test]
fn every_policy_measures_and_is_put_back() {
    if !unjank_needs::root() {
        return;
    }
    let record = native(&["--sched=rr,deadline", "--runtime=200us", "--period=4ms", "--count=50"]);
    for (name, policy) in [("rr", "rr:80"), ("deadline", "deadline:200us/4ms/4ms")] {
        let name = format!("jitter/native/{name}/wakeup");
        if let Some(reason) = reason(&record, &name) {
            // The control group has no real-time share, or other deadline threads use it up.
            println!("{name} was not measured: {reason}");
            continue;
        }
        let series = record["series"].as_array().expect("series");
        let series = series.iter().find(|series| series["name"] == *name).expect("it was measured");
        assert_eq!(series["labels"]["policy"], policy);
        let changes = record["changes"].as_array().expect("changes");
        let change = changes.iter().find(|change| change["during"] == policy).expect("recorded");
        assert_eq!(change["before"], change["after"], "{change}");
    }
}

#[test]
fn a_deadline_that_the_kernel_cannot_admit_is_a_result() {
    if !unjank_needs::root() {
        return;
    }
    let too_many = native(&["--sched=deadline", "--runtime=999us", "--count=20"]);
    let what = "jitter/native/deadline/wakeup";
    let said = reason(&too_many, what).expect("no thread gets all CPU time");
    assert!(said.contains("admits no more") || said.contains("root domain"), "{said}");
    let one_cpu = Command::new("taskset")
        .args(["--cpu-list", &last_cpu(), unjank_needs::unjank!(), "jitter", "native"])
        .args(["--sched=deadline", "--count=20", "--no-store", "--json"])
        .output()
        .expect("taskset is in util-linux");
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        let record: Value = serde_json::from_slice(&one_cpu.stdout).expect("a record");
        let said = reason(&record, what).expect("its affinity leaves CPUs out");
        assert!(said.contains("every CPU of its root domain"), "{said}");
    }
}

/// A control group of version 1 without a share for real-time threads.
struct NoRealtime(PathBuf);

impl NoRealtime {
    fn make() -> Option<Self> {
        let cpu = Path::new("/sys/fs/cgroup/cpu");
        cpu.join("cpu.rt_runtime_us").exists().then_some(())?;
        let group = cpu.join(format!("unjank-test-{}", std::process::id()));
        std::fs::create_dir(&group).expect("root makes control groups");
        Some(Self(group))
    }
}

impl Drop for NoRealtime {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_without_realtime_is_a_result() {
    if !unjank_needs::root() {
        return;
    }
    let Some(group) = NoRealtime::make() else {
        println!(
            "skipped: no group scheduling of real-time threads, or no control groups of version 1"
        );
        return;
    };
    let script = "echo $$ > \"$1/cgroup.procs\"; shift; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(&group.0)
        .args([unjank_needs::unjank!(), "jitter", "native", "--no-store", "--json"])
        .args(["--sched=fifo,other", "--count=20"])
        .output()
        .expect("sh is everywhere");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    let said = reason(&record, "jitter/native/fifo/wakeup").expect("it has no share");
    assert!(said.contains("cpu.rt_runtime_us"), "{said}");
    assert_eq!(output.status.code(), Some(0), "the other policy was measured");
}

/// A program that computes in bursts at real-time priority 95, above the
/// measuring threads.
struct Hog(Child);

impl Hog {
    fn start(cpu: &str) -> Self {
        let script =
            "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.05; done";
        let child = Command::new("taskset")
            .args(["--cpu-list", cpu, "chrt", "--fifo", "95", "sh", "-c", script])
            .stdout(Stdio::null())
            .spawn()
            .expect("taskset and chrt are in util-linux");
        let process = Process(child.id());
        process.until("it computes", || process.command_line().starts_with("sh\0"));
        Self(child)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

#[test]
fn the_top_culprit_of_all_late_wake_ups_is_the_hog() {
    if !unjank_needs::root() {
        return;
    }
    let cpu = last_cpu();
    let hog = Hog::start(&cpu);
    let record =
        native(&["--sched=fifo", "--cpus", &cpu, "--trace", "--period=2ms", "--count=500"]);
    drop(hog);
    if let Some(reason) = reason(&record, "jitter/native cause") {
        unjank_needs::skip(reason);
        return;
    }
    let facts = record["facts"].as_array().expect("facts");
    let of = |what: &str| {
        let name = format!("jitter/native/fifo/{what}");
        facts.iter().filter(move |fact| fact["name"] == *name).collect::<Vec<_>>()
    };
    let culprits = of("culprit");
    assert!(
        culprits
            .iter()
            .any(|fact| { fact["labels"]["who"] == "sh" && fact["labels"]["part"] == "ready" }),
        "{culprits:?}"
    );
    let shares: f64 = of("late_share").iter().filter_map(|fact| fact["value"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-6, "the three parts are the whole: {shares}");
    let named = |fact: &&&Value| fact["labels"]["who"] == "sh" && fact["labels"]["part"] == "ready";
    assert_eq!(culprits.iter().filter(named).count(), 1, "one name, one culprit");
    assert_eq!(of("events_lost").len(), 1);
}
