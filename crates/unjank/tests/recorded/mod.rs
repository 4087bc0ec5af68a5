//! Recordings of `unjank swap record`, and the recorded program.

// No test file uses all of it.
#![allow(dead_code)]
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use unjank_host::tracefs::Tracefs;
use unjank_host::{Root, Support};

/// The memory of a recorded program, which reads it twice and may keep about half of it.
pub(crate) const SIZE: usize = 64 << 20;
pub(crate) const LIMIT: &str = "36MiB";
pub(crate) const PAGE: usize = 4096;

/// Whether this machine can record.
pub(crate) fn can_record() -> bool {
    if !unjank_needs::root() {
        return false;
    }
    if let Support::No(reason) = Tracefs::open(&Root::system()) {
        unjank_needs::skip(format!("tracefs: {reason}"));
        return false;
    }
    unjank_needs::is_there("loop devices", Path::new("/dev/loop-control").exists())
}

/// Memory whose pages are all different, so none is stored as a page of zeros.
pub(crate) fn fill() -> Vec<u8> {
    let mut memory = vec![0_u8; SIZE];
    for (page, bytes) in memory.chunks_exact_mut(PAGE).enumerate() {
        let number = (page as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bytes[..8].copy_from_slice(&number.to_le_bytes());
    }
    memory
}

/// Reads each page twice, in another order than it was filled.
pub(crate) fn look_at(memory: &[u8]) {
    let pages = memory.len() / PAGE;
    for turn in 0..2 * pages {
        black_box(memory[turn * 769 % pages * PAGE]);
    }
}

/// A fact of a run record.
pub(crate) fn fact(record: &Value, name: &str) -> f64 {
    let facts = record["facts"].as_array().unwrap();
    let fact = facts.iter().find(|fact| fact["name"] == name);
    fact.unwrap_or_else(|| panic!("there is no {name}"))["value"].as_f64().unwrap()
}

/// A recorded event: a line of CSV.
#[derive(Debug, Deserialize)]
pub(crate) struct Event {
    pub(crate) time_ns: u64,
    pub(crate) process: String,
    pub(crate) space: String,
    pub(crate) page: u64,
    pub(crate) operation: String,
    pub(crate) backing: String,
    pub(crate) cgroup: String,
    pub(crate) pid: Option<u32>,
    pub(crate) launch_id: Option<u32>,
    pub(crate) command_pid: Option<u32>,
}

/// A directory with the trace of a recording.
pub(crate) struct Recording {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) out: PathBuf,
}

impl Recording {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let out = dir.path().join("trace.parquet");
        Self { dir, out }
    }

    /// `unjank swap record` into this directory.
    pub(crate) fn record(&self) -> Command {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(["swap", "record", "--json", "--no-store", "--out"]).arg(&self.out);
        unjank.env("XDG_DATA_HOME", self.dir.path());
        unjank
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(["swap", "convert", "--to", "csv"]).arg(&self.out).arg("-");
        let table = unjank.output().unwrap().stdout;
        csv::Reader::from_reader(&table[..]).deserialize().map(Result::unwrap).collect()
    }
}
