//! `unjank swap probe` over a real swap device.
//!
//! Needs root, for a swap file of its own. Fails without it when
//! `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use unjank_needs::attempts::{LONGER, first_ok};

/// A swap file that is in use; turned off and removed when dropped.
struct SwapFile {
    path: PathBuf,
    _dir: tempfile::TempDir,
    _turn: fs::File,
}

impl SwapFile {
    /// 128 MiB without holes, as `swapon(8)` requires.
    fn on() -> Option<Self> {
        let turn = unjank_needs::turns::swap();
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let path = dir.path().join("swap");
        let mut file = fs::File::create(&path).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("own file");
        for _ in 0..128 {
            file.write_all(&vec![0; 1 << 20]).expect("room for 128 MiB");
        }
        file.sync_all().expect("storage");
        let made = run("mkswap", &path) && run("swapon", &path);
        if !unjank_needs::is_there("root, to make a swap file", made) {
            return None;
        }
        Some(Self { path, _dir: dir, _turn: turn })
    }
}

impl Drop for SwapFile {
    fn drop(&mut self) {
        assert!(run("swapoff", &self.path), "the swap file is still on");
    }
}

/// Runs a program, possibly of `/sbin`. Returns whether it succeeded.
fn run(program: &str, path: &Path) -> bool {
    let search = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    Command::new(program)
        .env("PATH", search)
        .arg(path)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn anonymous_pages_come_back_from_the_swap_device_with_the_highest_priority() {
    let Some(_swap) = SwapFile::on() else { return };
    let devices = fs::read_to_string("/proc/swaps").expect("procfs");
    let (record, page_in) = first_ok(LONGER, |seconds| {
        let output = Command::new(unjank_needs::unjank!())
            .args(["swap", "probe", "--pages", "anonymous", "--size", "8MiB", "--for"])
            .args([&format!("{seconds}s"), "--json", "--no-store"])
            .output()
            .expect("unjank runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
        let mut series = record["series"].as_array().expect("a list").iter();
        let page_in = series.find(|series| series["name"] == "swap/page_in").cloned();
        let page_in = page_in.ok_or_else(|| format!("no page-ins in {seconds} s: {said}"))?;
        let reads = page_in["n"].as_u64().expect("a number");
        if reads <= 100 {
            return Err(format!("{reads} page-ins in {seconds} s"));
        }
        Ok((record, page_in))
    });
    // The file is the only device, unless the machine has swap of its own.
    if devices.lines().count() == 2 {
        assert_eq!(page_in["labels"]["backing"], "swap-file", "{devices}");
    }
    let reads = page_in["n"].as_u64().expect("a number");
    let fact = |name: &str| {
        let facts = record["facts"].as_array().expect("a list");
        facts.iter().find(|fact| fact["name"] == name).and_then(|fact| fact["value"].as_f64())
    };
    let counted = fact("swap/vmstat/pswpin").expect("the kernel counts");
    assert!(counted >= reads as f64 * 0.9, "{reads} page-ins, but the kernel counts {counted}");
}
