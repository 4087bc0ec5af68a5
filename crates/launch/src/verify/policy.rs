//! This machine's governor and its model.

use std::path::{Path, PathBuf};

use unjank_host::kernel_symbols::addresses_of;
use unjank_host::machine::FrequencyPolicy;
use unjank_host::sched::CpuSet;
use unjank_host::{Hertz, Machine as Host, Nanos, Result, Root, Support, Watts, clock};
use unjank_measure::{Fact, Findings, Unit};

use crate::model::governor::{CpuActivity, Governor, Schedutil};
use crate::model::{Clock, Machine, Opp, OppTable, Ties, Tunable, Write};

/// A policy of this machine with its model.
pub(super) struct Policy {
    /// Name of its governor.
    pub(super) name: String,
    pub(super) cpus: CpuSet,
    pub(super) machine: Machine,
    pub(super) governor: Governor,
    /// Addresses of the work function in which its governor evaluates the load;
    /// empty if it evaluates at once, or if the kernel hides them.
    pub(super) work: Vec<u64>,
    path: PathBuf,
}

/// The function that evaluates the load for ondemand and conservative
/// (`drivers/cpufreq/cpufreq_governor.c`).
const WORK: &str = "dbs_work_handler";

impl Policy {
    /// The first policy; or why the models cannot follow it.
    pub(super) fn find(host: &Host, root: &Root) -> Result<Support<Self>> {
        let Some(policy) = host.frequency.first() else {
            return Ok(Support::no("no cpufreq driver: a virtual machine usually has none"));
        };
        let Some(table) = table(&policy.frequencies) else {
            return Ok(Support::no(format!(
                "the driver {} does not report its frequencies, so none can be predicted",
                policy.driver
            )));
        };
        let cpus: CpuSet = policy.cpus.parse()?;
        let machine = Machine {
            cpus: cpus.len(),
            shared: true,
            tick: clock::tick(),
            ties: ties(root, &policy.path)?,
            table,
        };
        let governor = match model(policy, &machine) {
            Ok(governor) => governor,
            Err(reason) => return Ok(Support::no(reason)),
        };
        let (name, path) = (policy.governor.clone(), policy.path.clone());
        // Without the file, the kernel hides the addresses.
        let work = if governor.defers_evaluation() {
            addresses_of(root, WORK).unwrap_or_default()
        } else {
            Vec::new()
        };
        Ok(Support::Yes(Self { name, cpus, machine, governor, work, path }))
    }

    /// `scaling_cur_freq`; 0 if it is not a number.
    pub(super) fn frequency(&self, root: &Root) -> Result<Hertz> {
        let text = root.read(self.path.join("scaling_cur_freq"))?;
        Ok(Hertz::from_khz(text.trim().parse().unwrap_or(0)))
    }

    /// Adds the tunables, and a warning if the kernel hides the governor's work.
    pub(super) fn note(&self, findings: &mut Findings) {
        if self.governor.defers_evaluation() && self.work.is_empty() {
            findings.warn(format!(
                "/proc/kallsyms hides {WORK}, so it is unknown when {} evaluated the load; its model \
                 evaluates when its rule says, and sequences may differ",
                self.name
            ));
        }
        let tick = self.machine.tick.0 as f64;
        findings.facts.push(Fact::new("launch/verify/tick", tick, Unit::Nanoseconds));
        for tunable in Tunable::ALL {
            let Some(value) = self.governor.value(*tunable) else { continue };
            let mut fact = match tunable.of_time(Nanos(1)) {
                Some(_) => {
                    Fact::new("launch/verify/tunable", f64::from(value) * 1e3, Unit::Nanoseconds)
                }
                None => Fact::new("launch/verify/tunable", f64::from(value), Unit::Count),
            };
            fact.labels.insert("name".to_owned(), tunable.to_string());
            findings.facts.push(fact);
        }
    }
}

fn table(frequencies: &[Hertz]) -> Option<OppTable> {
    let point = |frequency: &Hertz| Opp { frequency: *frequency, busy: Watts(0.0) };
    OppTable::new(frequencies.iter().map(point).collect())
}

/// How ties are resolved, from the order of the driver's table.
fn ties(root: &Root, policy: &Path) -> Result<Ties> {
    let text = root.read(policy.join("scaling_available_frequencies"))?;
    let khz: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Ok(if khz.first() < khz.last() { Ties::Slower } else { Ties::Faster })
}

/// The model with this machine's tunables.
fn model(policy: &FrequencyPolicy, machine: &Machine) -> std::result::Result<Governor, String> {
    let name = policy.governor.as_str();
    let mut governor = match name {
        // The kernel does not report whether utilization is relative to full speed;
        // virtual machines and old processors lack the counters for it.
        "schedutil" => Governor::Schedutil(Schedutil::new(machine.cpus).without_invariance()),
        "ondemand" | "conservative" | "performance" | "powersave" => {
            Governor::named(name, machine.cpus, machine.tick)
                .ok_or_else(|| format!("{name} is not modelled"))?
        }
        _ => return Err(format!("the governor {name:?} is not modelled for this kernel")),
    };
    let mut clock = Clock::new(&machine.table, machine.ties);
    let busy = vec![Nanos::ZERO; machine.cpus];
    let activity = CpuActivity { now: Nanos::ZERO, busy: &busy, running: 0 };
    for (name, text) in &policy.tunables {
        let (Some(tunable), Ok(value)) = (Tunable::named(name), text.trim().parse()) else {
            continue;
        };
        governor
            .write(Write { tunable, value }, &activity, &mut clock)
            .map_err(|refused| format!("its model refuses a tunable's value: {refused}"))?;
    }
    for (name, usual) in [("powersave_bias", "0"), ("ignore_nice_load", "0")] {
        if policy.tunables.get(name).is_some_and(|value| value.trim() != usual) {
            return Err(format!("{name} is not {usual}; other values are not modelled"));
        }
    }
    Ok(governor)
}
