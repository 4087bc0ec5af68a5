//! The processor, its frequencies and its idle states.

use std::fmt::Write as _;

use unjank_host::machine::{Cpu, CpuTopology, FrequencyPolicy, Idle};

use crate::group::partition;
use crate::visible::visible;

/// The model and one line per kind of CPU.
pub(super) fn processor(cpu: &Cpu) -> Vec<String> {
    let mut lines = Vec::new();
    if !cpu.model.is_empty() {
        lines.push(visible(&cpu.model).into_owned());
    }
    if cpu.online > 0 {
        let others = [("offline", &cpu.offline), ("isolated", &cpu.isolated)];
        let others: String = others
            .iter()
            .filter_map(|(what, cpus)| Some(format!(", {what}: {}", visible(cpus.as_ref()?))))
            .collect();
        lines.push(format!(
            "{} online in {} cores, allowed: {}{others}",
            cpu.online,
            cpu.cores(),
            visible(&cpu.allowed)
        ));
    }
    lines.extend(kinds(&cpu.cpus));
    lines
}

/// A line for each kind of CPU: `CPUs 0-3: package 0, cluster 0, capacity 446`.
fn kinds(cpus: &[CpuTopology]) -> Vec<String> {
    let kinds = partition(cpus.iter().collect(), |cpu: &CpuTopology| {
        (cpu.package, cpu.cluster, &cpu.design, cpu.capacity, cpu.node)
    });
    let lines = kinds.iter().map(|cpus| {
        let CpuTopology { package, cluster, capacity, node, .. } = cpus[0].clone();
        let numbers: Vec<usize> = cpus.iter().map(|cpu| cpu.cpu).collect();
        let design = cpus[0]
            .design
            .as_deref()
            .map_or_else(String::new, |design| format!("{}, ", visible(design)));
        let mut line = format!("CPUs {}: {design}package {package}", ranges(&numbers));
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                write!(line, ", {name} {value}").expect("writing to a string cannot fail");
            }
        };
        add("cluster", cluster.map(|cluster| cluster.to_string()));
        add("node", node.filter(|node| *node > 0).map(|node| node.to_string()));
        add("capacity", capacity.map(|capacity| capacity.to_string()));
        let cache = cpus[0].last_level_cache.as_deref();
        add("last-level cache shared by", cache.map(|cpus| visible(cpus).into_owned()));
        line
    });
    lines.collect()
}

/// Numbers as a list of ranges: `0-3,8`.
fn ranges(numbers: &[usize]) -> String {
    numbers
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [only] => only.to_string(),
            run => format!("{}-{}", run[0], run[run.len() - 1]),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// One line per cpufreq policy.
pub(super) fn frequency(policies: &[FrequencyPolicy]) -> Vec<String> {
    policies
        .iter()
        .map(|policy| {
            let limits = if (policy.min, policy.max) == (policy.hardware_min, policy.hardware_max) {
                String::new()
            } else {
                format!(", limited to {}–{}", policy.min, policy.max)
            };
            let mode = policy
                .driver_mode
                .as_ref()
                .map_or_else(String::new, |mode| format!(" ({})", visible(mode)));
            let boost = match policy.boost {
                Some(true) => ", boost on",
                Some(false) => ", boost off",
                None => "",
            };
            let change = policy
                .transition_latency
                .map_or_else(String::new, |latency| format!(", changes in {latency}"));
            let preference = policy.epp.as_ref().map_or_else(String::new, |preference| {
                format!(", preference {}", visible(preference))
            });
            let tunables: Vec<String> =
                policy.tunables.iter().map(|(name, value)| format!("; {name} {value}")).collect();
            format!(
                "{} (CPUs {}): {} with {}{mode}, {}–{}{limits}{boost}{change}{preference}{}",
                visible(&policy.name),
                visible(&policy.cpus),
                visible(&policy.governor),
                visible(&policy.driver),
                policy.hardware_min,
                policy.hardware_max,
                visible(&tunables.concat())
            )
        })
        .collect()
}

/// Driver, governor and states.
pub(super) fn idle(idle: &Idle) -> Vec<String> {
    let states: Vec<String> = idle
        .states
        .iter()
        .map(|state| {
            let off = if state.disabled { ", switched off" } else { "" };
            format!(
                "{} (CPUs {}, leaves in {}{off})",
                visible(&state.name),
                visible(&state.cpus),
                state.exit_latency
            )
        })
        .collect();
    let by = format!("{} by {}", visible(&idle.driver), visible(&idle.governor));
    if states.is_empty() { vec![by] } else { vec![by, states.join(", ")] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_of_a_kind_share_a_line() {
        let cpu = |cpu: usize, capacity| CpuTopology {
            cpu,
            core: cpu as i64,
            capacity: Some(capacity),
            ..CpuTopology::default()
        };
        let lines = kinds(&[cpu(0, 446), cpu(1, 446), cpu(2, 446), cpu(3, 1024), cpu(5, 1024)]);
        assert_eq!(
            lines,
            ["CPUs 0-2: package 0, capacity 446", "CPUs 3,5: package 0, capacity 1024"]
        );
    }
}
