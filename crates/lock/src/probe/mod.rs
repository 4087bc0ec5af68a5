//! `unjank lock probe`: measures the cost of each way of waiting on this machine.

mod break_even;
mod costs;
mod handoff;
mod options;
pub(crate) mod prices;
mod report;

pub use options::Options;

use unjank_host::sched::CpuSet;
use unjank_host::{Nanos, Result};
use unjank_measure::{Findings, Monitor};

use handoff::{Handoff, Placement, Wait};

/// Measures single operations first, then hand-offs between two threads.
///
/// Facts: `lock/pause`, `lock/yield`, `lock/uncontended`, `lock/wake_nobody`
/// (one call each), `lock/break_even` (waits shorter than this are better
/// spun), `lock/std_spin_budget` and `lock/backoff_spin_budget` (how long the
/// standard library spins, and unjank-backoff at most). Series:
/// `lock/<spin|yield|park>/round_trip` with the label `placement`, and
/// `lock/park_wake`, from just before the wake-up call until the parked thread
/// runs on another CPU.
///
/// # Errors
/// `Invalid` options.
pub fn run(options: &Options, monitor: &dyn Monitor) -> Result<Findings> {
    let allowed = CpuSet::allowed()?;
    let (one, two) = options.cpus(&allowed)?;
    let mut findings = Findings::default();
    monitor.progress(0.0, "single operations");
    costs::note(&mut findings);

    let mut cells = cells(one, two);
    let count = cells.len();
    cells.rotate_left(options.turn % count);
    if two.is_none() {
        findings.not_supported("lock hand-offs between two CPUs", options.why_one_cpu(&allowed));
    }
    let share = Nanos(options.duration.get() / cells.len() as u64);
    for (index, handoff) in cells.iter().enumerate() {
        if monitor.stop_requested() {
            findings.warn("interrupted before every way of waiting was measured");
            break;
        }
        let done = (index + 1) as f64 / (cells.len() + 1) as f64;
        monitor.progress(done, &format!("hand-offs by {}", handoff.name()));
        let measured = handoff::measure(*handoff, share, monitor)?;
        report::note_handoff(*handoff, measured, &mut findings);
    }
    break_even::note(&mut findings);
    Ok(findings)
}

/// The hand-offs to measure. There is no spin on one CPU, because the spinning
/// thread keeps the other one from running.
fn cells(one: usize, two: Option<(usize, usize)>) -> Vec<Handoff> {
    let mut cells: Vec<Handoff> = [Wait::Yield, Wait::Park]
        .map(|wait| Handoff { wait, placement: Placement::OneCpu, cpus: (one, one) })
        .into();
    if let Some(cpus) = two {
        cells.extend([Wait::Spin, Wait::Yield, Wait::Park].map(|wait| Handoff {
            wait,
            placement: Placement::TwoCpus,
            cpus,
        }));
    }
    cells
}
