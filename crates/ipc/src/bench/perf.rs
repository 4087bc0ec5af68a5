//! Runs `perf bench sched pipe` and reads its result: `perf-bench(1)`.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use unjank_host::{Error, Nanos, Result};

/// Round trips of the run that finds out how many fit into a trial.
const TRIAL: u64 = 2_000;
/// The most round trips of a trial.
const MOST: u64 = 50_000_000;

/// `perf bench sched pipe`, which runs on the CPUs of the thread that starts it.
pub(super) struct PerfBench {
    loops: u64,
}

impl PerfBench {
    /// As many round trips as fit into `trial`.
    ///
    /// # Errors
    /// `Unsupported` if perf is not installed, or cannot do it.
    pub(super) fn new(trial: Nanos) -> Result<Self> {
        let each = run(TRIAL)?;
        let loops = trial.get() as f64 / each.max(1.0);
        Ok(Self { loops: (loops as u64).clamp(TRIAL, MOST) })
    }

    /// The mean time of a round trip in one trial, in nanoseconds.
    pub(super) fn run_trial(&self) -> Result<f64> {
        run(self.loops)
    }
}

fn run(loops: u64) -> Result<f64> {
    let output = Command::new("perf")
        .args(["bench", "--format", "simple", "sched", "pipe", "--loop", &loops.to_string()])
        .stdin(Stdio::null())
        // So Ctrl-C at the terminal ends the comparison after this trial.
        .process_group(0)
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Unsupported(
                "perf is not installed; it is in the package linux-perf or linux-tools".to_owned(),
            ),
            _ => Error::file("start", "perf", error),
        })?;
    let seconds = String::from_utf8_lossy(&output.stdout).trim().parse::<f64>();
    match seconds {
        Ok(seconds) if output.status.success() && seconds > 0.0 => Ok(seconds * 1e9 / loops as f64),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let said = said.lines().next_back().unwrap_or("it printed no time");
            Err(Error::Unsupported(format!("perf bench sched pipe failed: {said}")))
        }
    }
}
