//! Commands in a virtual phone, from its boot to its end.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod phone;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use phone::{RunPhone as _, compiled, lab, lab_run, lost_flags, texts, unjank};
use serde_json::Value;
use unjank_host::process::send_signal;
use unjank_needs::wait::{Process, until, until_some};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;

#[test]
fn flags_that_no_processor_has_are_recognized() {
    let console = |flags: &str| format!("RSP: 0018:ffffc900 EFLAGS: {flags}\nKernel panic - not");
    assert!(lost_flags(&console("3f8e6e02")));
    assert!(!lost_flags(&console("00010246")));
    assert!(!lost_flags("EFLAGS: 3f8e6e02"), "the kernel went on");
}

#[test]
fn a_phone_has_p_states_and_binder_and_its_runs_come_back() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    let output = lab_run()
        .args(["--pstates", "exynos4210", "--store"])
        .arg(&store)
        .args(["--", "unjank", "host", "--json"])
        .args(["--and", "unjank", "ipc", "probe", "--transport", "binder,hwbinder"])
        .args(["--for", "200ms", "--starts", "1", "--json"])
        .args(["--and", "unjank", "host", "--root", "/nothing"])
        .args(["--and", "unjank", "host"])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: /nothing is not a directory"), "{stderr}");
    let documents = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(Result::unwrap).collect();
    let [host, record] = documents.as_slice() else { panic!("{stdout}") };

    let policies = host["frequency"].as_array().unwrap();
    assert_eq!(policies.len(), 1, "the Exynos has one clock");
    assert_eq!(policies[0]["cpus"], "0-1");
    assert_eq!(policies[0]["driver"], "acpi-cpufreq");
    assert_eq!(policies[0]["governor"], "ondemand");
    assert!(policies[0]["tunables"]["sampling_rate"].is_string(), "{policies:?}");
    let frequencies: Vec<u64> = policies[0]["frequencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_u64().unwrap())
        .collect();
    assert_eq!(frequencies, [200, 500, 800, 1000, 1200].map(|mhz| mhz * 1_000_000));

    assert_eq!(record["labels"], serde_json::json!(["emulated"]));
    for transport in ["binder", "hwbinder"] {
        let series = record["series"].as_array().unwrap();
        let name = format!("ipc/{transport}/round_trip");
        let calls = series.iter().find(|series| series["name"] == name.as_str()).unwrap();
        assert!(calls["n"].as_u64().unwrap() > 0, "{calls}");
    }
    let list = Command::new(unjank()).args(["runs", "list", "--store"]).arg(&store).output();
    let (list, _) = texts(&list.unwrap());
    assert!(list.contains(record["id"].as_str().unwrap()), "{list}");
    assert!(list.contains("ipc probe [emulated]"), "{list}");
}

/// Sets another frequency on each CPU, and reads the number of the state from the
/// CPU's register.
const REGISTERS: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <sys/io.h>
static FILE *file(int cpu, const char *name, const char *mode) {
    char path[200];
    sprintf(path, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, name);
    return fopen(path, mode);
}
int main(void) {
    for (int cpu = 0; cpu < 8; cpu++) {
        FILE *governor = file(cpu, "scaling_governor", "w");
        fputs("userspace", governor); fclose(governor);
        FILE *speed = file(cpu, "scaling_setspeed", "w");
        fprintf(speed, "%d000", 100 * (cpu + 1)); fclose(speed);
    }
    static const int ports[8] = {0x82, 0x83, 0x81, 0x87, 0x89, 0x8a, 0x8b, 0x8f};
    if (ioperm(0x80, 16, 1)) perror("ioperm");
    for (int cpu = 0; cpu < 8; cpu++) printf("%d ", inb(ports[cpu]));
    fprintf(stderr, "now it ends\n");
    fflush(stdout);
    raise(SIGKILL);
}
"#;

#[test]
fn each_cpu_has_its_own_register_and_a_killed_command_its_code() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), "registers", REGISTERS);
    let profile = directory.path().join("eight.toml");
    let states = (1..=9).rev().map(|hundred| {
        format!("[[state]]\nmhz = {}\nmilliwatts = {hundred}\nlatency_us = 10\n", hundred * 100)
    });
    let head = "name = \"eight\"\ngovernor = \"performance\"\nclock = \"per-cpu\"\npower = \
                \"modelled\"\n";
    fs::write(&profile, head.to_owned() + &states.collect::<Vec<_>>().concat()).unwrap();
    let output = lab_run()
        .args(["--no-store", "--cpu-count", "8", "--pstates"])
        .arg(&profile)
        .arg("--add")
        .arg(&program)
        .args(["--", "registers", "--and", "unjank", "host"])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    // The slowest state is the last and has the highest number. No CPU is in the
    // first state, which the driver assumes without reading.
    assert_eq!(stdout, "9 8 7 6 5 4 3 2 ", "{stderr}");
    assert_eq!(stderr, "now it ends\n");
    assert_eq!(output.status.code(), Some(137));
}

/// Prints the highest and the lowest frequency that the governor has set.
const GOVERNOR: &str = r#"
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static int khz(void) {
    int khz = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "r");
    if (file) { fscanf(file, "%d", &khz); fclose(file); }
    return khz;
}
int main(void) {
    int busy = 0, idle = 0;
    time_t end = time(0) + 600;
    while (time(0) < end && busy != 1200000) {
        for (volatile int i = 0; i < 10000000; i++) ;
        busy = khz();
    }
    end = time(0) + 600;
    do { sleep(1); idle = khz(); } while (time(0) < end && idle != 200000);
    printf("%d %d", busy, idle);
    return 5;
}
"#;

#[test]
fn the_governor_steps_and_a_failed_command_has_its_code() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), "governor", GOVERNOR);
    let output = lab_run()
        .args(["--no-store", "--pstates", "exynos4210", "--add"])
        .arg(&program)
        .args(["--", "governor"])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(stdout, "1200000 200000", "{stderr}");
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn a_guest_that_cannot_start_is_reported_with_the_kernels_last_lines() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // A header for x86-64 without a program.
    let mut header = [0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (header[18], header[54]) = (62, 56);
    let bare = directory.path().join("unjank");
    fs::write(&bare, header).unwrap();
    let output =
        lab_run().args(["--no-store", "--guest"]).arg(&bare).args(["--", "unjank"]).run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!((stdout.as_str(), output.status.code()), ("", Some(1)), "{stderr}");
    // Not booted again: it would fail again.
    assert!(stderr.starts_with("error: the virtual phone ended while booting"), "{stderr}");
    assert!(stderr.contains("Kernel panic - not syncing"), "{stderr}");
}

/// A phone that runs for a while.
fn long_phone(timeout: &str) -> Child {
    lab_run()
        .args(["--no-store", "--timeout", timeout])
        .args(["--", "unjank", "jitter", "native", "--for", "9h"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

const QEMU: &str = "qemu-system-x86_64\0";

/// The process of its QEMU, once there is one.
fn qemu_of(phone: &Child) -> Process {
    Process(phone.id()).child(QEMU)
}

#[test]
fn the_phone_ends_with_unjank() {
    if !lab() {
        return;
    }
    // On a busy machine, a second may pass before its QEMU is seen.
    let qemu = until_some("a phone that is stopped is seen", || {
        let child = long_phone("1s");
        let unjank = Process(child.id());
        let mut qemu = None;
        until("its QEMU or its end", || {
            qemu = unjank.find_child(QEMU);
            qemu.is_some() || !unjank.is_alive()
        });
        let output = child.wait_with_output().unwrap();
        let (_, stderr) = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let stopped = "error: the virtual phone was stopped after 1.00 s";
        assert!(stderr.starts_with(stopped), "{stderr}");
        qemu
    });
    until("it is gone after a timeout", || !qemu.is_alive());
    for (signal, code) in [(SIGINT, Some(130)), (SIGKILL, None)] {
        let mut child = long_phone("1h");
        let qemu = qemu_of(&child);
        send_signal(child.id(), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        until(&format!("it is gone after signal {signal}"), || !qemu.is_alive());
    }
}

/// Runs a command, and prints a line when a thread that it has started has slept some times.
const MEASURES: &str = include_str!("phone/measures.c");

#[test]
fn ctrl_c_reaches_the_command_and_its_results_come_back() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    let measures = compiled(directory.path(), "measures", MEASURES);
    let mut child = lab_run()
        .arg("--store")
        .arg(&store)
        .arg("--add")
        .arg(measures)
        .args(["--", "unjank", "host"])
        .args(["--and", "measures", "unjank", "jitter", "native", "--for", "9h"])
        .args(["--and", "unjank", "host", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let qemu = qemu_of(&child);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.ends_with("it measures\n") {
        assert_ne!(stdout.read_line(&mut text).unwrap(), 0, "{text}");
    }
    send_signal(child.id(), SIGINT).unwrap();
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    until("it is gone", || !qemu.is_alive());
    assert!(text.contains("unjank jitter native [emulated] [interrupted]\n"), "{text}");
    assert!(!text.contains("\n{"), "a further command was run: {text}");

    let show = |options: &[&str]| {
        let mut show = Command::new(unjank());
        show.args(["runs", "show", "last"]).args(options).arg("--store").arg(&store);
        texts(&show.env("COLUMNS", "100").output().unwrap()).0
    };
    let shown = show(&[]);
    assert!(shown.contains("jitter native") && text.ends_with(&shown), "{text}, again {shown}");
    let record: Value = serde_json::from_str(&show(&["--json"])).unwrap();
    assert_eq!(record["command"], "jitter native");
    assert_eq!(record["labels"], serde_json::json!(["emulated", "interrupted"]));
    let series = record["series"].as_array().unwrap();
    assert!(series.iter().any(|series| series["n"].as_u64() > Some(0)), "{series:?}");
}
