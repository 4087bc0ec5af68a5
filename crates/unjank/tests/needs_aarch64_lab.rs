//! The static program for aarch64 in a virtual phone with such a processor, under Debian's kernel.
//!
//! Needs QEMU for ARM, a cross compiler and Rust's standard library for aarch64. Fails without
//! them when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod phone;

use std::path::{Path, PathBuf};
use std::process::Command;

use phone::{RunPhone as _, lab_run_counted, texts};
use serde_json::Value;
use unjank_needs::is_there;
use unjank_needs::printed::stderr;

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";

/// The program, built once; `None` where it cannot be built or run.
fn unjank_for_arm() -> Option<PathBuf> {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let rust = || {
        let added = Command::new("rustup").args(["target", "add", TRIPLE]).output();
        added.is_ok_and(|added| added.status.success())
    };
    let there = is_there("qemu-system-aarch64", has("qemu-system-aarch64"))
        && is_there(LINKER, has(LINKER))
        && is_there(&format!("Rust for {TRIPLE}"), rust());
    if !there {
        return None;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("aarch64");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--package", "unjank", "--target", TRIPLE, "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env("CC_aarch64_unknown_linux_gnu", LINKER)
        .env("AR_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-ar")
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C strip=symbols")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", stderr(&built));
    Some(target.join(TRIPLE).join("debug/unjank"))
}

/// A phone with such a processor, whose time is its instructions; `None` where there can be none.
fn phone_with_arm() -> Option<Command> {
    let guest = unjank_for_arm()?;
    let fetched =
        Command::new(phone::unjank()).args(["lab", "fetch", "--arch", "aarch64"]).output();
    let fetched = fetched.unwrap();
    if !fetched.status.success() {
        unjank_needs::skip(format!("the lab: {}", stderr(&fetched)));
        return None;
    }
    let mut run = lab_run_counted();
    run.args(["--arch", "aarch64", "--no-store", "--guest"]).arg(guest);
    Some(run)
}

/// The documents that its commands print, of which the last ends with this code.
fn documents(mut phone: Command, code: i32) -> Vec<Value> {
    let output = phone.run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
    let found = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    found.map(|document| document.unwrap_or_else(|_| panic!("{stdout}{stderr}"))).collect()
}

#[test]
fn the_rooms_measure_on_arm() {
    let Some(mut phone) = phone_with_arm() else { return };
    let commands = [
        "unjank host --json",
        "unjank checkup --quick --json --no-store",
        "unjank ipc probe --transport binder --quick --json --no-store",
        "unjank why --json --no-store -- unjank launch load 10ms",
        "unjank schd-dbg -i 20",
    ];
    phone.arg("--");
    for (number, command) in commands.iter().enumerate() {
        let and = (number > 0).then_some("--and");
        phone.args(and).args(command.split(' '));
    }
    // The driver passes on no real-time priority.
    let documents = documents(phone, 3);
    let [host, checkup, binder, why, schd_dbg] = documents.as_slice() else {
        panic!("{documents:#?}")
    };
    assert_eq!(host["kernel"]["architecture"], "aarch64");
    assert!(host["clock"].to_string().contains("arch_sys_counter"), "{}", host["clock"]);
    assert!(!checkup["verdicts"].as_array().unwrap().is_empty(), "{checkup:#}");
    let series = binder["series"].as_array().unwrap();
    assert_eq!(series[0]["name"], "ipc/binder/round_trip");
    assert!(series[0]["n"].as_u64() > Some(0), "{binder:#}");
    assert_eq!(schd_dbg["cfg"]["iterations"], 20);
    let tables = why["tables"].as_array().unwrap();
    assert!(tables.iter().any(|table| table["name"] == "why/split"), "{why:#}");
}

#[test]
fn threads_become_real_time_on_arm() {
    let Some(mut phone) = phone_with_arm() else { return };
    phone.args(["--", "unjank", "rt", "exec", "--json", "--thread", "unjank=fifo:10", "--"]);
    let output = phone.args(["unjank", "launch", "load", "1ms"]).run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stderr.contains("\"now\":\"fifo:10") || stdout.contains("\"now\":\"fifo:10"));
}

/// ublk and zram of that kernel: all pages are compared when they come back.
#[test]
fn apps_swap_to_a_tier_and_to_zram_on_arm() {
    let Some(mut phone) = phone_with_arm() else { return };
    phone.args(["--cpu-count", "1", "--disk", "512MiB", "--"]);
    phone.args(["unjank", "swap", "bench", "--json", "--no-store", "--directory", "/data"]);
    phone.args(["--scale", "0.02", "--pinned", "0", "--memory", "8MiB", "--runs", "1"]);
    phone.args(["--arm", "tier:4MiB,tierd:4MiB"]);
    let documents = documents(phone, 0);
    let tables = documents[0]["tables"].as_array().unwrap();
    let storage = tables.iter().find(|table| table["name"] == "swap/bench/storage").unwrap();
    let rows = storage["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{storage}");
    assert!(rows.iter().all(|row| row[4]["value"].as_f64() > Some(0.0)), "swapped in: {storage}");
}
