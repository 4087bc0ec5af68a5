//! `unjank jitter native`: absolute-time periodic wake-ups on chosen CPUs.

mod options;
mod report;
mod threads;
mod wakeup;
mod worst;

pub use options::{Options, Scheduling};

use unjank_host::{Error, Result, Root};
use unjank_measure::{Findings, Monitor};

/// Measures each scheduling of the options in turn, on all chosen CPUs at
/// once. A scheduling that this user may not have is noted as unsupported;
/// the others are still measured.
///
/// Series: `jitter/native/<other|fifo>/wakeup`, over all CPUs, and one per CPU
/// with the label `cpu` where there are several. Their missed periods are
/// those that had passed before a late thread ran.
///
/// # Errors
/// `Invalid` options; a system call that failed for another reason than
/// missing privilege.
pub fn run(options: &Options, root: &Root, monitor: &dyn Monitor) -> Result<Findings> {
    options.check()?;
    let mut findings = Findings::default();
    for (index, &scheduling) in options.schedulings.iter().enumerate() {
        if monitor.stop_requested() {
            break;
        }
        let stage = Stage { monitor, index, of: options.schedulings.len() };
        match threads::measure(options, scheduling, root, &stage) {
            Ok(measured) => report::note(measured, options, scheduling, &mut findings),
            Err(Error::Permission { what, needs }) => {
                findings.not_supported(scheduling.series_name(), format!("{what} needs {needs}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(findings)
}

/// One scheduling's part of the whole run, for the progress display.
struct Stage<'a> {
    monitor: &'a dyn Monitor,
    index: usize,
    of: usize,
}

impl Stage<'_> {
    fn progress(&self, fraction: f64, scheduling: Scheduling) {
        let done = (self.index as f64 + fraction.clamp(0.0, 1.0)) / self.of as f64;
        self.monitor.progress(done, &format!("wake-ups as {}", scheduling.policy()));
    }
}
