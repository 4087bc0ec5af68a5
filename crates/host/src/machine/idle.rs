//! CPU idle states: `Documentation/admin-guide/pm/cpuidle.rst`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::reader::{Reader, line};
use crate::error::Result;
use crate::root::Root;
use crate::sched::CpuSet;
use unjank_units::Nanos;

/// The most idle states of a CPU (`CPUIDLE_STATE_MAX` is 10).
const MOST_STATES: usize = 16;

/// The cpuidle driver and governor, `/sys/devices/system/cpu/cpuidle`, and the
/// states of the online CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    /// `current_driver`.
    pub driver: String,
    /// `current_governor_ro`, or `current_governor` if it can be changed.
    pub governor: String,
    /// The states, shallowest first. A state that differs between CPUs (big and
    /// little ones) has one entry for each form.
    pub states: Vec<IdleState>,
}

/// One idle state: `/sys/devices/system/cpu/cpu*/cpuidle/state*`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdleState {
    /// Its name: `POLL`, `C1`, `WFI` …
    pub name: String,
    /// The CPUs that have it in this form, as a list.
    pub cpus: String,
    /// Time to leave it.
    pub exit_latency: Nanos,
    /// The shortest stay that saves energy; unknown before Linux 3.15.
    pub residency: Option<Nanos>,
    /// Whether it is disabled on at least one CPU.
    pub disabled: bool,
}

pub(super) fn read(reader: &mut Reader, online: &[usize]) -> Option<Idle> {
    let dir = Path::new("/sys/devices/system/cpu/cpuidle");
    let driver = line(reader.root(), dir.join("current_driver"));
    let driver = driver.map(|driver| driver.filter(|name| name != "none"));
    let driver = reader.wanted(
        "idle",
        driver,
        "no cpuidle driver: the kernel (or the hypervisor below it) has a single idle state",
    )?;
    let governor = match line(reader.root(), dir.join("current_governor_ro")) {
        Ok(None) => line(reader.root(), dir.join("current_governor")),
        found => found,
    };
    let governor = reader.optional("idle.governor", governor).unwrap_or_default();
    let mut states = Vec::new();
    for &cpu in online {
        if let Err(error) = add_states_of(reader.root(), cpu, &mut states) {
            reader.miss("idle.states", error.to_string());
        }
    }
    // A stable sort: equally deep forms keep the order of their CPUs.
    states.sort_by_key(|state| state.index);
    Some(Idle { driver, governor, states: states.into_iter().map(StateForm::finish).collect() })
}

/// One form of a state, and the CPUs that have it.
struct StateForm {
    index: usize,
    state: IdleState,
    cpus: Vec<usize>,
}

impl StateForm {
    fn finish(self) -> IdleState {
        IdleState { cpus: CpuSet::new(self.cpus).to_string(), ..self.state }
    }
}

fn add_states_of(root: &Root, cpu: usize, forms: &mut Vec<StateForm>) -> Result<()> {
    let dir = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    for name in root.list(&dir)? {
        let index = name.strip_prefix("state").and_then(|index| index.parse::<usize>().ok());
        let Some(index) = index.filter(|&index| index < MOST_STATES) else { continue };
        let state = one_state(root, &Path::new(&dir).join(&name))?;
        let known = forms.iter_mut().find(|form| {
            form.index == index
                && form.state.name == state.name
                && form.state.exit_latency == state.exit_latency
                && form.state.residency == state.residency
        });
        match known {
            Some(form) => {
                form.cpus.push(cpu);
                form.state.disabled |= state.disabled;
            }
            None => forms.push(StateForm { index, state, cpus: vec![cpu] }),
        }
    }
    Ok(())
}

/// Latency and residency are in microseconds. Kernels before 3.10 cannot
/// disable a state.
fn one_state(root: &Root, dir: &Path) -> Result<IdleState> {
    let number = |file: &str| root.read_number_if_there::<u64>(dir.join(file));
    Ok(IdleState {
        name: line(root, dir.join("name"))?.unwrap_or_default(),
        cpus: String::new(),
        exit_latency: Nanos::from_micros(number("latency")?.unwrap_or_default()),
        residency: number("residency")?.map(Nanos::from_micros),
        disabled: number("disable")?.is_some_and(|disabled| disabled != 0),
    })
}
