//! What clients need to know of the service `watch`: its socket, its unit, the text of its state.

use unjank_watch::status::Status;

use super::args::SOCKET;
use crate::commands::service::Service;
use crate::output;

/// The service `watch`.
#[derive(Debug)]
pub(super) struct Watch;

impl Service for Watch {
    type Status = Status;

    const COMMAND: &'static str = "unjank watch";
    const UNIT: &'static str = "unjank-watch";
    const SOCKET: &'static str = SOCKET;
    const PAUSED: &'static str = "nothing is recorded";
    const RESUMED: &'static str = "the last seconds are recorded again";

    fn process(status: &Status) -> u32 {
        status.process
    }

    fn text(status: &Status) -> String {
        text(status)
    }
}

fn text(status: &Status) -> String {
    let state = if status.paused { "paused" } else { "watching" };
    let percent = status.cpu_time.as_secs_f64() / status.up.as_secs_f64().max(1e-9) * 100.0;
    let mut lines = vec![
        format!("process {}, up {}: {state}", status.process, status.up),
        format!(
            "{} incidents explained; {} triggers without a delay, {} beyond the budget",
            status.incidents, status.nothing_found, status.left_out
        ),
        format!(
            "buffers of {}, threads with a rule: {}; this recording began {} ago",
            status.buffers, status.watched, status.recorded
        ),
    ];
    lines.extend(status.last.iter().map(|last| format!("last: {last}")));
    lines.extend(status.missing.iter().map(|missing| format!("not watched: {missing}")));
    lines.push(format!(
        "costs {} of CPU time ({percent:.2} % of one CPU) beside recording, {} of memory",
        status.cpu_time, status.resident
    ));
    output::Lines::from_iter(lines).finish()
}
