//! The machine of a record as text: one entry per subject, the same on the page, in
//! Markdown and on the terminal.

mod memory;
mod processor;

use unjank_host::Machine;
use unjank_host::machine::{Cgroup, Kernel, Pressure, RealtimeLimits, Stall, Virtualisation};

use crate::visible::visible;
use crate::words::grouped;

/// Capabilities that decide what can be measured and changed.
const RELEVANT: [&str; 6] = [
    "CAP_SYS_NICE",
    "CAP_SYS_ADMIN",
    "CAP_SYS_RESOURCE",
    "CAP_IPC_LOCK",
    "CAP_PERFMON",
    "CAP_NET_ADMIN",
];

/// The most lines about one subject.
const LINES: usize = 24;

/// One subject and its lines.
pub(crate) type Entry = (&'static str, Vec<String>);

/// The machine in one line; nothing if the record does not describe it.
pub(crate) fn in_brief(machine: &Machine) -> Option<String> {
    let device = machine.device.iter().map(|device| visible(device).into_owned());
    (*machine != Machine::default()).then(|| {
        let summary = visible(&machine.summary()).into_owned();
        device.chain([summary]).collect::<Vec<_>>().join(": ")
    })
}

/// All subjects of a machine that are known.
pub(crate) fn entries(machine: &Machine) -> Vec<Entry> {
    let mut entries = vec![
        ("Device", machine.device.iter().map(|device| visible(device).into_owned()).collect()),
        ("Kernel", kernel(&machine.kernel)),
        ("Processor", processor::processor(&machine.cpu)),
        ("Frequency", processor::frequency(&machine.frequency)),
        ("Idle states", machine.idle.as_ref().map_or_else(Vec::new, processor::idle)),
        ("Real time", realtime(&machine.realtime)),
        ("Control group", machine.cgroup.as_ref().map_or_else(Vec::new, cgroup)),
        ("Memory", memory::memory(&machine.memory)),
        ("Swap", memory::swap(&machine.memory)),
        ("Pressure", machine.pressure.as_ref().map_or_else(Vec::new, pressure)),
        ("Runs under", virtualisation(&machine.virtualisation)),
        ("Clock", clock(machine)),
        ("Capabilities", capabilities(&machine.capabilities)),
    ];
    entries.retain(|(_, lines)| !lines.is_empty());
    for (_, lines) in &mut entries {
        let more = lines.len().saturating_sub(LINES);
        lines.truncate(LINES);
        if more > 0 {
            lines.push(format!("and {more} more with --json"));
        }
    }
    entries
}

fn kernel(kernel: &Kernel) -> Vec<String> {
    let mut lines = Vec::new();
    let name = [&kernel.release, &kernel.architecture, &kernel.version];
    let name: Vec<_> =
        name.iter().filter(|part| !part.is_empty()).map(|part| visible(part)).collect();
    if !name.is_empty() {
        lines.push(name.join(" "));
    }
    if let Some(model) = &kernel.preemption {
        lines.push(format!("preemption: {}", visible(model)));
    }
    if !kernel.latency_parameters.is_empty() {
        lines.push(format!("boot parameters: {}", list(&kernel.latency_parameters)));
    }
    lines
}

fn realtime(limits: &RealtimeLimits) -> Vec<String> {
    let mut lines = Vec::new();
    match (limits.throttled, limits.runtime, limits.period) {
        (true, Some(runtime), Some(period)) => {
            lines.push(format!("throttled to {runtime} of every {period}"));
        }
        (false, _, Some(_)) => lines.push("not throttled".to_owned()),
        _ => {}
    }
    // A record whose machine was not read has neither.
    if limits.period.is_some() || limits.rtprio.is_some() || limits.nice.is_some() {
        let priority =
            limits.rtprio.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
        let memory =
            limits.memlock.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
        lines.push(format!("RLIMIT_RTPRIO {priority}, RLIMIT_MEMLOCK {memory}"));
    }
    lines.extend(limits.rttime.map(|limit| format!("RLIMIT_RTTIME {limit}")));
    lines.extend(limits.nice.map(|nice| format!("nice down to {nice}")));
    lines
}

fn cgroup(cgroup: &Cgroup) -> Vec<String> {
    let mut lines = vec![format!("{} (version {})", visible(&cgroup.path), cgroup.version)];
    let quota = cgroup.cpu_quota.map_or_else(
        || "CPU time unlimited".to_owned(),
        |quota| match cgroup.cpu_period {
            Some(period) => format!("{quota:.2} CPUs per {period}"),
            None => format!("{quota:.2} CPUs"),
        },
    );
    let throttled = cgroup
        .throttled_periods
        .filter(|periods| *periods > 0)
        .map_or_else(String::new, |n| format!(", throttled in {} periods so far", grouped(n)));
    lines.push(format!("{quota}{throttled}"));
    if let Some(limit) = cgroup.memory_limit {
        let used =
            cgroup.memory_used.map_or_else(String::new, |used| format!(", {used} of it in use"));
        lines.push(format!("memory limit {limit}{used}"));
    }
    lines
}

fn pressure(pressure: &Pressure) -> Vec<String> {
    let stall = |name: &str, stall: &Stall| {
        format!("{name} {:.1} % some, {:.1} % full", stall.some_avg10, stall.full_avg10)
    };
    vec![format!(
        "{}; {}; {} (last 10 s before the run)",
        stall("CPU", &pressure.cpu),
        stall("memory", &pressure.memory),
        stall("I/O", &pressure.io)
    )]
}

fn virtualisation(under: &Virtualisation) -> Vec<String> {
    let mut lines: Vec<String> =
        [("hypervisor", &under.hypervisor), ("container", &under.container)]
            .into_iter()
            .filter_map(|(kind, name)| Some(format!("{kind}: {}", visible(name.as_ref()?))))
            .collect();
    if let Some(steal) = under.steal_percent {
        lines.push(format!("{steal:.2} % of CPU time stolen since boot"));
    }
    lines
}

fn clock(machine: &Machine) -> Vec<String> {
    let clock = &machine.clock;
    if clock.current.is_empty() {
        return Vec::new();
    }
    let others: Vec<String> =
        clock.available.iter().filter(|source| **source != clock.current).cloned().collect();
    let also =
        if others.is_empty() { String::new() } else { format!(" (available: {})", list(&others)) };
    vec![format!("{}{also}", visible(&clock.current))]
}

fn capabilities(held: &[String]) -> Vec<String> {
    let relevant: Vec<&str> =
        RELEVANT.into_iter().filter(|name| held.iter().any(|held| held == name)).collect();
    match (held.len(), relevant.is_empty()) {
        (0, _) => Vec::new(),
        (n, true) => vec![format!("{n}, none of them relevant to latency")],
        (n, false) => vec![format!("{n}, among them {}", relevant.join(", "))],
    }
}

/// A comma-separated list.
fn list(texts: &[String]) -> String {
    texts.iter().map(|text| visible(text)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_was_not_read_has_no_entries() {
        assert_eq!(entries(&Machine::default()), Vec::<Entry>::new());
        assert_eq!(in_brief(&Machine::default()), None);
    }
}
