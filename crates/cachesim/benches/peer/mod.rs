//! libCacheSim, to compare with.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A Python process with libcachesim that runs the requested simulations.
pub(crate) struct Peer {
    pub(crate) process: Child,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn new(trace: &Path) -> Option<Self> {
        let python: PathBuf =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("libcachesim-0.3.5/bin/python");
        if !python.exists() {
            println!("{} is missing; `make bench` installs it", python.display());
            return None;
        }
        // A bench of unjank-swap includes this file, too.
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let script = crates.join("cachesim/tests/libcachesim/speed.py");
        let mut process = Command::new(python)
            .arg(script)
            .arg(trace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(process.stdout.take().expect("it is a pipe"));
        Some(Self { process, answers })
    }

    /// Seconds and the miss ratio; `None` if libCacheSim does not have the policy.
    pub(crate) fn run(&mut self, name: &str, capacity: u64, hashpower: u32) -> Option<(f64, f64)> {
        let theirs = match name {
            "fifo" => "FIFO",
            "lru" => "LRU",
            "clock" => "Clock",
            "sieve" => "Sieve",
            "s3-fifo" => "S3FIFO",
            "2q" => "TwoQ",
            "arc" => "ARC",
            "lirs" => "LIRS",
            "w-tinylfu" => "WTinyLFU",
            "belady" => "Belady",
            _ => return None,
        };
        let mut orders = self.process.stdin.as_ref().expect("it is a pipe");
        writeln!(orders, "{theirs} {capacity} {hashpower}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let (seconds, ratio) = answer.trim().split_once(' ')?;
        Some((seconds.parse().ok()?, ratio.parse().ok()?))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It also ends by itself when its input ends, so errors do not matter.
        let _killed = self.process.kill();
        let _ended = self.process.wait();
    }
}
