//! What clients need to know of the service `swap tierd`: its socket, its unit, the text of its state.

use unjank_swap::remedy::writeback::status::Status;
use unjank_swap::remedy::writeback::zram::Stopped;

use super::args::SOCKET;
use crate::commands::service::Service;
use crate::output;

/// The share of the usual time for writing below which that is slow.
const SLOW: f64 = 0.5;

/// The service `swap tierd`.
#[derive(Debug)]
pub(super) struct Tierd;

impl Service for Tierd {
    type Status = Status;

    const COMMAND: &'static str = "unjank swap tierd";
    const UNIT: &'static str = "unjank-tierd";
    const SOCKET: &'static str = SOCKET;
    const PAUSED: &'static str = "nothing is written back";
    const RESUMED: &'static str = "cold pages are written back again";

    fn process(status: &Status) -> u32 {
        status.process
    }

    fn text(status: &Status) -> String {
        text(status)
    }
}

/// Which pages are written back.
fn rule(status: &Status) -> String {
    match &status.by_age {
        None => format!("policy {}, all other pages after {}", status.policy, status.after),
        Some(reason) => format!("all pages after {}: {reason}", status.after),
    }
}

fn identified(status: &Status) -> String {
    match status.by_age {
        None => {
            let percent = status.identified_percent();
            format!("; {percent:.1} % of them identified by process and address")
        }
        Some(_) => String::new(),
    }
}

fn counted(status: &Status) -> Vec<String> {
    let Status { counts, budget_left, .. } = status;
    match status.by_age {
        None => vec![
            format!(
                "{} pages evicted, {} came back, {} of them from the backing device",
                counts.evicted, counts.came_back, counts.came_back_demoted
            ),
            format!(
                "written back: {} that stayed away, {} for want of room; {budget_left} left today",
                counts.stayed_away, counts.for_room
            ),
        ],
        Some(_) => {
            vec![format!("written back: {} by age; {budget_left} left today", counts.stayed_away)]
        }
    }
}

fn text(status: &Status) -> String {
    let zram = &status.zram;
    let state = match (status.paused, status.stopped) {
        (true, _) => "paused",
        (_, Some(Stopped::Full)) => "the backing device is full",
        (_, Some(Stopped::LimitOrFailure)) => {
            "the kernel's writeback_limit is used up, the backing device has failed, or memory is short"
        }
        (_, Some(Stopped::Busy)) => "another program writes back",
        (_, Some(Stopped::NoDevice)) => "waiting: the machine does not swap to the device",
        (_, Some(Stopped::UnknownArea)) => {
            "nothing is written back: it is not known which pages are in zram"
        }
        (_, Some(Stopped::Budget)) => "zram holds more than the budget allows to write",
        _ if status.budget_left.get() == 0 => "today's budget is used up",
        _ if status.pace < SLOW && status.by_age.is_some() => "waiting, as programs wait for I/O",
        _ if status.pace < SLOW => "writing back slowly, as programs wait for I/O",
        _ => "writing back what stays away",
    };
    let percent = status.cpu_time.as_secs_f64() / status.up.as_secs_f64().max(1e-9) * 100.0;
    let mut lines = vec![
        format!("process {}, up {}: {state}", status.process, status.up),
        format!("{} over {}, {}", status.device, status.backing, rule(status)),
        format!("in zram: {} pages in {} of memory{}", zram.pages, zram.memory, identified(status)),
        format!(
            "on the backing device: {} pages; {} read and {} written since it was set up",
            zram.written_back, zram.reads, zram.writes
        ),
    ];
    lines.extend(counted(status));
    lines.push(format!(
        "costs {} of CPU time ({percent:.2} % of one CPU), {} of memory",
        status.cpu_time, status.resident
    ));
    output::Lines::from_iter(lines).finish()
}
