//! CPUs, their clocks and their idle states.

use std::collections::BTreeSet;

use unjank_host::machine::{Cpu, CpuTopology, FrequencyPolicy, Idle};
use unjank_host::sched::CpuSet;
use unjank_host::{Hertz, Nanos};

use super::unknown::{UNKNOWN, or_unknown};
use crate::output::Page;

/// The columns of the table of CPUs.
const COLUMNS: [&str; 8] = [
    "design",
    "capacity",
    "shares cache",
    "driver",
    "governor",
    "preference",
    "clock allowed",
    "clock possible",
];

/// CPUs with equal cells.
struct Group {
    cpus: Vec<usize>,
    cells: [String; COLUMNS.len()],
}

pub(super) fn cpu(page: &mut Page, cpu: &Cpu, policies: &[FrequencyPolicy]) {
    page.section("CPU");
    page.fact("model", or_unknown(&cpu.model));
    page.fact("online", counted(cpu));
    if let Some(offline) = &cpu.offline {
        page.fact("offline", offline);
    }
    page.fact("allowed", or_unknown(&cpu.allowed));
    if let Some(isolated) = &cpu.isolated {
        page.fact("isolated", isolated);
    }
    let groups = groups(cpu, policies);
    let (common, different) = split(&groups);
    for (name, value) in common {
        page.fact(name, value);
    }
    if let Some(switch) = boost(policies) {
        page.fact("boost", switch);
    }
    for (governor, tunables) in tunables(policies) {
        page.fact(&governor, tunables);
    }
    if !different.is_empty() {
        let mut headings = vec!["CPUs"];
        headings.extend(different.iter().map(|&column| COLUMNS[column]));
        let row = |group: &Group| {
            let mut row = vec![CpuSet::new(group.cpus.iter().copied()).to_string()];
            row.extend(different.iter().map(|&column| group.cells[column].clone()));
            row
        };
        page.table(&headings, &groups.iter().map(row).collect::<Vec<_>>());
    }
}

/// The values that all CPUs share, with their names, and the columns in which
/// CPUs differ.
fn split(groups: &[Group]) -> (Vec<(&'static str, &str)>, Vec<usize>) {
    let [first, rest @ ..] = groups else { return (Vec::new(), Vec::new()) };
    let (common, different): (Vec<usize>, Vec<usize>) = (0..COLUMNS.len())
        .partition(|&column| rest.iter().all(|group| group.cells[column] == first.cells[column]));
    let common = common
        .into_iter()
        .map(|column| (COLUMNS[column], first.cells[column].as_str()))
        .filter(|(_, value)| !value.is_empty());
    (common.collect(), different)
}

fn counted(cpu: &Cpu) -> String {
    let cores = cpu.cores();
    let packages: BTreeSet<i64> = cpu.cpus.iter().map(|cpu| cpu.package).collect();
    let plural = |count: usize, name: &str| match count {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    };
    let mut parts = vec![plural(cpu.online, "CPU")];
    parts.extend((cores < cpu.online).then(|| format!("on {}", plural(cores, "core"))));
    let several = packages.len() > 1;
    parts.extend(several.then(|| format!("in {}", plural(packages.len(), "package"))));
    parts.join(" ")
}

/// CPUs with the same row, in the order of their first one.
fn groups(cpu: &Cpu, policies: &[FrequencyPolicy]) -> Vec<Group> {
    let sets: Vec<(CpuSet, &FrequencyPolicy)> =
        policies.iter().map(|policy| (policy.cpus.parse().unwrap_or_default(), policy)).collect();
    let mut groups: Vec<Group> = Vec::new();
    for one in &cpu.cpus {
        let policy = sets.iter().find(|(cpus, _)| cpus.contains(one.cpu));
        let cells = cells(one, policy.map(|(_, policy)| *policy));
        match groups.iter_mut().find(|group| group.cells == cells) {
            Some(group) => group.cpus.push(one.cpu),
            None => groups.push(Group { cpus: vec![one.cpu], cells }),
        }
    }
    groups
}

fn cells(cpu: &CpuTopology, policy: Option<&FrequencyPolicy>) -> [String; COLUMNS.len()] {
    let of_policy = |cell: fn(&FrequencyPolicy) -> String| policy.map(cell).unwrap_or_default();
    [
        cpu.design.clone().unwrap_or_default(),
        cpu.capacity.map(|capacity| capacity.to_string()).unwrap_or_default(),
        cpu.last_level_cache.clone().unwrap_or_default(),
        of_policy(|policy| match &policy.driver_mode {
            Some(mode) => format!("{} ({mode})", policy.driver),
            None => policy.driver.clone(),
        }),
        of_policy(|policy| policy.governor.clone()),
        of_policy(|policy| policy.epp.clone().unwrap_or_default()),
        of_policy(|policy| range(policy.min, policy.max)),
        of_policy(|policy| range(policy.hardware_min, policy.hardware_max)),
    ]
}

fn range(min: Hertz, max: Hertz) -> String {
    if max == Hertz::default() { UNKNOWN.to_owned() } else { format!("{min} – {max}") }
}

/// The switch for frequencies above the nominal one, if any policy has it.
fn boost(policies: &[FrequencyPolicy]) -> Option<String> {
    let with = |wanted: bool| -> CpuSet {
        let policies = policies.iter().filter(|policy| policy.boost == Some(wanted));
        let sets = policies.filter_map(|policy| policy.cpus.parse::<CpuSet>().ok());
        sets.flat_map(|cpus| cpus.iter().collect::<Vec<_>>()).collect()
    };
    match (with(true), with(false)) {
        (on, off) if on.is_empty() && off.is_empty() => None,
        (_, off) if off.is_empty() => Some("on".to_owned()),
        (on, _) if on.is_empty() => Some("off".to_owned()),
        (on, off) => Some(format!("on for CPUs {on}, off for CPUs {off}")),
    }
}

/// Each governor's tunables, once for all policies that have the same ones.
fn tunables(policies: &[FrequencyPolicy]) -> Vec<(String, String)> {
    let mut known: Vec<(&FrequencyPolicy, Vec<&str>)> = Vec::new();
    for policy in policies.iter().filter(|policy| !policy.tunables.is_empty()) {
        let same = known.iter_mut().find(|(other, _)| {
            other.governor == policy.governor && other.tunables == policy.tunables
        });
        match same {
            Some((_, cpus)) => cpus.push(&policy.cpus),
            None => known.push((policy, vec![&policy.cpus])),
        }
    }
    known
        .into_iter()
        .map(|(policy, cpus)| {
            let values: Vec<String> =
                policy.tunables.iter().map(|(name, value)| format!("{name} {value}")).collect();
            (format!("{} {}", policy.governor, cpus.join(",")), values.join(", "))
        })
        .collect()
}

pub(super) fn idle(page: &mut Page, idle: &Idle) {
    page.section("Idle states");
    page.fact("driver", or_unknown(&idle.driver));
    page.fact("governor", or_unknown(&idle.governor));
    let rows: Vec<Vec<String>> = idle
        .states
        .iter()
        .map(|state| {
            vec![
                state.name.clone(),
                state.cpus.clone(),
                state.exit_latency.to_string(),
                state.residency.as_ref().map(Nanos::to_string).unwrap_or_default(),
                if state.disabled { "off on some CPU".to_owned() } else { String::new() },
            ]
        })
        .collect();
    if !rows.is_empty() {
        page.table(&["state", "CPUs", "exit latency", "pays off after", "disabled"], &rows);
    }
}
