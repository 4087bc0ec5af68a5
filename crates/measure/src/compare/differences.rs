//! Differences between two runs besides their numbers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unjank_host::Machine;

use crate::record::RunRecord;

/// A difference in machine, tool or settings, which may explain differences in
/// the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The property: `kernel`, `governor`, `--period` …
    pub what: String,
    /// Its value in the first run.
    pub a: String,
    /// Its value in the second run.
    pub b: String,
}

/// From this share of stolen CPU time on, in percent, the load of other virtual
/// machines distorts the numbers.
const STEAL_LIMIT: f64 = 1.0;

/// The properties that are known even of a machine that was not read.
const KERNEL: [&str; 2] = ["kernel", "architecture"];

/// The differences, machine first. If a machine was not read, its unknown
/// properties count as equal.
pub(super) fn between(a: &RunRecord, b: &RunRecord) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut note = |what: &str, a: String, b: String| {
        if a != b {
            let [a, b] = [a, b].map(|side| match side.trim() {
                "" => "none".to_owned(),
                text => text.to_owned(),
            });
            differences.push(Difference { what: what.to_owned(), a, b });
        }
    };
    note("command", a.command.clone(), b.command.clone());
    note("labels", a.labels.join(", "), b.labels.join(", "));
    note("unjank", tool(a), tool(b));
    let both_read = a.host.is_read() && b.host.is_read();
    for ((what, a), (_, b)) in machine(&a.host).into_iter().zip(machine(&b.host)) {
        if both_read || KERNEL.contains(&what) {
            note(what, a, b);
        }
    }
    let options: BTreeSet<&String> = a.settings.keys().chain(b.settings.keys()).collect();
    // Another seed is another sample of the same thing.
    for option in options.into_iter().filter(|option| *option != "seed") {
        let value = |settings: &BTreeMap<String, Value>| {
            settings.get(option).map_or_else(|| "none".to_owned(), Value::to_string)
        };
        note(&format!("setting {option}"), value(&a.settings), value(&b.settings));
    }
    differences
}

/// Warnings that the answers must be read with.
pub(super) fn warnings(a: &RunRecord, b: &RunRecord) -> Vec<String> {
    let mut warnings = Vec::new();
    if a.id == b.id {
        warnings.push(format!("both sides are the same run, {}", a.id));
    } else if [a, b].into_iter().any(is_in_one_go) {
        warnings.push(
            "a side was measured in one start: its intervals hold the spread within that start, \
             not between starts"
                .to_owned(),
        );
    }
    for run in [a, b] {
        for label in &run.labels {
            warnings.push(format!("run {} is {label}", run.id));
        }
        if !run.host.is_read() {
            warnings.push(format!("run {}: only the kernel of its machine is known", run.id));
        }
        if let Some(steal) = run.host.virtualisation.steal_percent
            && steal >= STEAL_LIMIT
        {
            warnings.push(format!("run {}: {steal:.1} % of CPU time was stolen", run.id));
        }
    }
    warnings
}

/// Whether no series was measured in several starts.
fn is_in_one_go(record: &RunRecord) -> bool {
    record.findings.series.iter().all(|series| series.repetitions.is_empty())
}

fn tool(record: &RunRecord) -> String {
    match &record.tool.commit {
        Some(commit) => format!("{} ({commit})", record.tool.version),
        None => record.tool.version.clone(),
    }
}

/// The properties of a machine that affect times, in a fixed order.
fn machine(host: &Machine) -> Vec<(&'static str, String)> {
    let each = |of: fn(&unjank_host::machine::FrequencyPolicy) -> String| {
        let values: BTreeSet<String> = host.frequency.iter().map(of).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    let cgroup = host.cgroup.as_ref();
    vec![
        ("device", text(&host.device)),
        ("kernel", format!("{} {}", host.kernel.release, host.kernel.version)),
        ("architecture", host.kernel.architecture.clone()),
        ("preemption", text(&host.kernel.preemption)),
        ("boot parameters", host.kernel.latency_parameters.join(" ")),
        ("CPU", host.cpu.model.clone()),
        ("CPUs online", host.cpu.online.to_string()),
        ("CPUs allowed", host.cpu.allowed.clone()),
        ("frequency driver", each(|policy| policy.driver.clone())),
        ("governor", each(|policy| policy.governor.clone())),
        ("lowest frequency", each(|policy| policy.min.to_string())),
        ("highest frequency", each(|policy| policy.max.to_string())),
        ("energy preference", each(|policy| policy.epp.clone().unwrap_or_default())),
        ("idle driver", host.idle.as_ref().map_or_else(String::new, |idle| idle.driver.clone())),
        ("idle governor", host.idle.as_ref().map_or_else(String::new, |i| i.governor.clone())),
        ("real-time throttling", host.realtime.throttled.to_string()),
        (
            "CPU quota",
            cgroup
                .and_then(|cgroup| cgroup.cpu_quota)
                .map_or_else(|| "none".to_owned(), |quota| format!("{quota} CPUs")),
        ),
        (
            "memory limit",
            cgroup
                .and_then(|cgroup| cgroup.memory_limit)
                .map_or_else(|| "none".to_owned(), |limit| limit.to_string()),
        ),
        ("memory", host.memory.total.to_string()),
        ("swap", {
            let kinds: Vec<String> =
                host.memory.swap.iter().map(|device| format!("{:?}", device.kind)).collect();
            if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ").to_lowercase() }
        }),
        ("hypervisor", text(&host.virtualisation.hypervisor)),
        ("container", text(&host.virtualisation.container)),
        ("clock source", host.clock.current.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use unjank_host::machine::FrequencyPolicy;
    use unjank_host::{Hertz, Timestamp};

    use super::*;
    use crate::Findings;
    use crate::record::{Run, Start, Tool};

    fn run() -> RunRecord {
        let mut host = Machine::default();
        host.cpu.online = 2;
        let run = Run {
            tool: Tool { version: "0.1.0".to_owned(), commit: None },
            command: "jitter native".to_owned(),
            host,
            settings: [("period".to_owned(), 1_000_000.into()), ("seed".to_owned(), 1.into())]
                .into(),
            findings: Findings::default(),
            labels: Vec::new(),
        };
        Start::now().finish(Timestamp::now(), run)
    }

    fn differences(a: &RunRecord, b: &RunRecord) -> Vec<String> {
        let tell = |d: Difference| format!("{}: {} → {}", d.what, d.a, d.b);
        between(a, b).into_iter().map(tell).collect()
    }

    #[test]
    fn two_runs_of_the_same_thing_have_no_differences() {
        let (a, mut b) = (run(), run());
        b.settings.insert("seed".to_owned(), 2.into());
        assert!(differences(&a, &b).is_empty());
        assert_eq!(warnings(&a, &b).len(), 1);
        assert!(warnings(&a, &a)[0].starts_with("both sides are the same run"));
    }

    #[test]
    fn unknown_properties_of_a_machine_are_no_difference() {
        let (mut a, mut b) = (run(), run());
        b.host.cpu.model = "AMD EPYC".to_owned();
        b.host.kernel.release = "6.12.1".to_owned();
        a.host = Machine::default();
        assert_eq!(differences(&a, &b), ["kernel: none → 6.12.1"]);
        let unknown = format!("run {}: only the kernel of its machine is known", a.id);
        assert!(warnings(&a, &b).contains(&unknown));
    }

    #[test]
    fn properties_that_affect_times_are_reported() {
        let (a, mut b) = (run(), run());
        b.host.kernel.release = "6.12.1".to_owned();
        b.host.frequency.push(FrequencyPolicy {
            governor: "schedutil".to_owned(),
            max: Hertz::from_khz(1_200_000),
            ..FrequencyPolicy::default()
        });
        b.settings.insert("period".to_owned(), 500_000.into());
        b.settings.insert("cause".to_owned(), true.into());
        b.tool.commit = Some("abc1234".to_owned());
        b.host.virtualisation.steal_percent = Some(4.25);
        b.labels.push("emulated".to_owned());
        let found = differences(&a, &b);
        for line in [
            "labels: none → emulated",
            "unjank: 0.1.0 → 0.1.0 (abc1234)",
            "kernel: none → 6.12.1",
            "governor: none → schedutil",
            "highest frequency: none → 1.20 GHz",
            "setting cause: none → true",
            "setting period: 1000000 → 500000",
        ] {
            assert!(found.iter().any(|it| it == line), "{line}: {found:#?}");
        }
        let warnings = warnings(&a, &b);
        assert!(warnings.contains(&format!("run {} is emulated", b.id)));
        assert!(warnings.contains(&format!("run {}: 4.2 % of CPU time was stolen", b.id)));
    }
}
