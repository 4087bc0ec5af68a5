//! A machine as text: one section per subject, then the missing values with reasons.

mod memory;
mod processor;
mod unknown;

use unjank_host::machine::{Cgroup, Kernel, RealtimeLimits, Virtualisation};
use unjank_host::{Machine, Nanos};

use crate::output::Page;
use unknown::{UNKNOWN, or_unknown};

/// Capabilities that decide what unjank can do.
const CAPABILITIES: [&str; 7] = [
    "CAP_SYS_NICE",
    "CAP_IPC_LOCK",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_ADMIN",
    "CAP_NET_ADMIN",
    "CAP_PERFMON",
    "CAP_BPF",
];

/// The whole description, `width` columns wide.
pub(super) fn page(machine: &Machine, width: usize) -> String {
    let mut page = Page::new(width);
    page.line(&machine.summary());
    kernel(&mut page, &machine.kernel, machine.device.as_deref());
    processor::cpu(&mut page, &machine.cpu, &machine.frequency);
    if let Some(idle) = &machine.idle {
        processor::idle(&mut page, idle);
    }
    realtime(&mut page, &machine.realtime, &machine.capabilities);
    if let Some(group) = &machine.cgroup {
        cgroup(&mut page, group);
    }
    memory::memory(&mut page, &machine.memory);
    if let Some(pressure) = &machine.pressure {
        memory::pressure(&mut page, pressure);
    }
    virtualisation(&mut page, &machine.virtualisation);
    page.section("Clock");
    page.fact("source", or_unknown(&machine.clock.current));
    page.fact("available", or_unknown(&machine.clock.available.join(", ")));
    missing(&mut page, machine);
    page.finish()
}

fn kernel(page: &mut Page, kernel: &Kernel, device: Option<&str>) {
    page.section("Kernel");
    if let Some(device) = device {
        page.fact("machine", device);
    }
    page.fact(
        "release",
        format!("{} ({})", or_unknown(&kernel.release), or_unknown(&kernel.architecture)),
    );
    page.fact("version", or_unknown(&kernel.version));
    page.fact("preemption", kernel.preemption.as_deref().unwrap_or(UNKNOWN));
    if !kernel.latency_parameters.is_empty() {
        page.fact("booted with", kernel.latency_parameters.join(" "));
    }
}

fn realtime(page: &mut Page, limits: &RealtimeLimits, capabilities: &[String]) {
    let has = |name: &str| capabilities.iter().any(|capability| capability == name);
    page.section("Real-time");
    page.fact(
        "throttling",
        match (limits.throttled, limits.runtime, limits.period) {
            (true, Some(runtime), Some(period)) => {
                format!("real-time threads may run for {runtime} of every {period}")
            }
            (true, _, _) => "on".to_owned(),
            (false, _, _) => "off: a busy real-time thread can hang this machine".to_owned(),
        },
    );
    page.fact(
        "priority",
        match limits.rtprio {
            _ if has("CAP_SYS_NICE") => "any, with CAP_SYS_NICE".to_owned(),
            Some(0) => "none: RLIMIT_RTPRIO (ulimit -r) is 0".to_owned(),
            Some(highest) => format!("up to {highest} (RLIMIT_RTPRIO)"),
            None => "any (RLIMIT_RTPRIO is unlimited)".to_owned(),
        },
    );
    if let Some(longest) = limits.rttime {
        page.fact("longest run", format!("{longest} without a sleep (RLIMIT_RTTIME)"));
    }
    page.fact(
        "nice",
        match limits.nice {
            _ if has("CAP_SYS_NICE") => "any, with CAP_SYS_NICE".to_owned(),
            Some(19) => "no lower than it is (RLIMIT_NICE)".to_owned(),
            Some(lowest) => format!("down to {lowest} (RLIMIT_NICE)"),
            None => UNKNOWN.to_owned(),
        },
    );
    page.fact(
        "locked memory",
        match limits.memlock {
            _ if has("CAP_IPC_LOCK") => "any, with CAP_IPC_LOCK".to_owned(),
            Some(most) => format!("up to {most} (RLIMIT_MEMLOCK)"),
            None => "any (RLIMIT_MEMLOCK is unlimited)".to_owned(),
        },
    );
    let relevant: Vec<&str> = CAPABILITIES.into_iter().filter(|name| has(name)).collect();
    page.fact(
        "capabilities",
        match (relevant.is_empty(), capabilities.len()) {
            (_, 0) => "none".to_owned(),
            (true, all) => format!("{all}, none of which matters here"),
            (false, all) => format!("{} ({all} in all)", relevant.join(", ")),
        },
    );
}

fn cgroup(page: &mut Page, group: &Cgroup) {
    page.section("Cgroup");
    page.fact("CPU controller", format!("version {}, {}", group.version, group.path));
    for (name, path) in [("memory", &group.memory_path), ("CPU set", &group.cpuset_path)] {
        if !path.is_empty() && *path != group.path {
            page.fact(name, path);
        }
    }
    page.fact(
        "CPU quota",
        match (group.cpu_quota, group.cpu_period) {
            (Some(cpus), Some(period)) => {
                let throttled = group
                    .throttled_periods
                    .map(|periods| format!(", throttled in {periods} periods so far"))
                    .unwrap_or_default();
                format!("{cpus} CPUs, counted over {period}{throttled}")
            }
            _ => "unlimited".to_owned(),
        },
    );
    match group.realtime_runtime {
        Some(Nanos::ZERO) => page.fact("real-time", "no thread of it may become real-time"),
        Some(runtime) => page.fact("real-time", format!("{runtime} of every period")),
        None => {}
    }
    if let (Some(least), Some(most)) = (group.uclamp_min, group.uclamp_max) {
        page.fact("utilisation", format!("clamped between {least} % and {most} %"));
    }
    let mut limits = Vec::new();
    limits.extend(group.memory_limit.map(|limit| format!("at most {limit}")));
    limits.extend(group.memory_high.map(|high| format!("slowed down above {high}")));
    limits.extend(group.swap_limit.map(|limit| format!("at most {limit} swapped out")));
    limits.extend(group.memory_used.map(|used| format!("{used} used")));
    if group.memory_limit.is_none() {
        limits.insert(0, "unlimited".to_owned());
    }
    page.fact("memory limit", limits.join(", "));
}

fn virtualisation(page: &mut Page, virtualisation: &Virtualisation) {
    page.section("Virtualisation");
    page.fact("hypervisor", virtualisation.hypervisor.as_deref().unwrap_or("none"));
    page.fact("container", virtualisation.container.as_deref().unwrap_or("none"));
    if let Some(percent) = virtualisation.steal_percent {
        page.fact("stolen time", format!("{percent:.2} % of all CPU time since boot"));
    }
}

fn missing(page: &mut Page, machine: &Machine) {
    if machine.unsupported.is_empty() {
        return;
    }
    page.section("Not available here");
    let facts = machine.unsupported.iter();
    page.facts(facts.map(|missing| (missing.what.as_str(), missing.reason.as_str())));
}
