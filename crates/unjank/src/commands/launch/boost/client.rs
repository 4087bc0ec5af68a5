//! What clients need to know of the service `launch boost`: its socket, its unit, the text of its state.

use unjank_host::Nanos;
use unjank_launch::remedy::report::Status;

use super::args::SOCKET;
use crate::commands::service::Service;
use crate::output;

/// The service `launch boost`.
#[derive(Debug)]
pub(super) struct Boost;

impl Service for Boost {
    type Status = Status;

    const COMMAND: &'static str = "unjank launch boost";
    const UNIT: &'static str = "unjank-boost";
    const SOCKET: &'static str = SOCKET;
    const PAUSED: &'static str = "nothing is boosted";
    const RESUMED: &'static str = "launches are boosted again";

    fn process(status: &Status) -> u32 {
        status.process
    }

    fn text(status: &Status) -> String {
        text(status)
    }
}

fn text(status: &Status) -> String {
    let Status { counts, latency, .. } = status;
    let state = match (status.paused, status.boosted_for) {
        (true, _) => "paused".to_owned(),
        _ if status.power_saver => "not boosting: the power profile is power-saver".to_owned(),
        (false, Some(time)) => format!("boosted for {time} now"),
        (false, None) => "waiting for launches".to_owned(),
    };
    let mut lines = vec![
        format!("process {}, up {}: {state}", status.process, status.up),
        format!("detects launches by: {}", status.sources.join(", ")),
    ];
    for step in &status.moves {
        let (path, why) = (step.path.display(), &step.why);
        lines.push(format!("changes {path}: {} → {} ({why})", step.normal, step.boosted));
    }
    if status.moves.is_empty() {
        lines.push("changes nothing: other programs took over all its knobs".to_owned());
    }
    lines.extend(
        status.launches.iter().map(|(process, program)| format!("now: {program} ({process})")),
    );
    lines.push(format!(
        "{} programs started, {} launches, {} boosts, {} boosted; budget left {}",
        counts.execs, counts.launches, counts.boosts, counts.boosted, status.budget_left
    ));
    if !counts.not.is_empty() {
        let not = counts.not.iter().map(|(reason, n)| format!("{} {n}", reason.name()));
        lines.push(format!("not boosted: {}", not.collect::<Vec<_>>().join(", ")));
    }
    if latency.n > 0 {
        lines.push(format!(
            "start to knobs written: p50 {}, p99 {}, worst {} (n {})",
            latency.p50, latency.p99, latency.max, latency.n
        ));
    }
    let share = share(status.cpu_time, status.up);
    lines.push(format!(
        "costs {} of CPU time ({share}), {} of memory; events lost {} times, knobs lost {}",
        status.cpu_time,
        unjank_host::Bytes(status.resident),
        counts.overruns,
        counts.knobs_lost
    ));
    output::Lines::from_iter(lines).finish()
}

fn share(part: Nanos, whole: Nanos) -> String {
    let percent = part.get() as f64 / whole.get().max(1) as f64 * 100.0;
    format!("{percent:.2} % of one CPU")
}
