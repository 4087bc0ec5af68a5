//! Starts that something outside disturbed: the hypervisor, or other work on this
//! machine.
//!
//! Time that the hypervisor takes is no property of this machine, so these starts
//! are left out. Time that other programs on this machine take is: users of the
//! machine lose it too. It stays in the figures, and a checkup's answers account
//! for it. But a few starts under unusual pressure decide a whole tail, so they are
//! reported, and measured again beside the others.

use unjank_host::machine::{CpuTime, Pressure, Stall, pressure};
use unjank_host::{Root, Support, Timestamp};

use crate::stats::bootstrap::quantile;

/// A start counts as disturbed from this share of stolen time on, in percent.
const STEAL: f64 = 2.0;
/// The pressure of a start is unusual if tasks waited for this share of the time more
/// than in half of the starts.
const UNUSUAL: f64 = 0.2;
/// Resources that tasks wait for, in the order of [`Disturbance::waited`].
const RESOURCES: [&str; 3] = ["a CPU", "memory", "storage"];

/// The kernel's counters at the beginning of a start.
#[derive(Debug)]
pub struct Meter<'a> {
    root: &'a Root,
    cpu_time: Option<CpuTime>,
    pressure: Option<Pressure>,
    at: Timestamp,
}

/// How far one start was disturbed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disturbance {
    /// Stolen CPU time, in percent; zero where the kernel does not know.
    steal: f64,
    /// The shares of time in which some task waited, for each of [`RESOURCES`]; zero
    /// where the kernel does not know.
    waited: [f64; 3],
}

impl<'a> Meter<'a> {
    /// Reads the counters; those that the kernel does not have count as undisturbed.
    pub fn begin(root: &'a Root) -> Self {
        Self {
            root,
            cpu_time: CpuTime::read(root).ok(),
            pressure: read_pressure(root),
            at: Timestamp::now(),
        }
    }

    /// What happened since.
    pub fn end(self) -> Disturbance {
        let now = CpuTime::read(self.root).ok();
        let spent = now.zip(self.cpu_time).map(|(now, before)| now.since(before));
        let length = Timestamp::now().since(self.at).get().max(1) as f64;
        let waited = read_pressure(self.root).zip(self.pressure).map(|(now, before)| {
            let stalls = |it: Pressure| [it.cpu, it.memory, it.io].map(|it: Stall| it.some_total);
            let (now, before) = (stalls(now), stalls(before));
            [0, 1, 2].map(|at| ((now[at] - before[at]).get() as f64 / length).min(1.0))
        });
        Disturbance {
            steal: spent.and_then(CpuTime::steal_percent).unwrap_or(0.0),
            waited: waited.unwrap_or_default(),
        }
    }
}

fn read_pressure(root: &Root) -> Option<Pressure> {
    match pressure::read(root) {
        Ok(Support::Yes(pressure)) => Some(pressure),
        Ok(Support::No(_)) | Err(_) => None,
    }
}

/// The indices of the starts that are worth another one: those that are left out, and
/// those under unusual pressure.
pub fn to_repeat(all: &[Disturbance]) -> Vec<usize> {
    let mut indices = to_leave_out(all.iter());
    indices.extend(under_pressure(all).map(|it| it.starts).unwrap_or_default());
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// Starts under unusual pressure.
struct UnderPressure {
    /// Indices of these starts.
    starts: Vec<usize>,
    /// What was waited for most beyond the usual, in which share of the time, and
    /// the usual share.
    resource: &'static str,
    waited: f64,
    usual: f64,
}

/// The starts under unusual pressure, if they are fewer than half; `None` if there is
/// none, or if such pressure is usual.
fn under_pressure(all: &[Disturbance]) -> Option<UnderPressure> {
    let usual = [0, 1, 2].map(|at| {
        let mut shares: Vec<f64> = all.iter().map(|it| it.waited[at]).collect();
        quantile(&mut shares, 0.5).unwrap_or(0.0)
    });
    let beyond = |it: &Disturbance, at: usize| it.waited[at] - usual[at];
    let unusual = |it: &Disturbance| (0..3).any(|at| beyond(it, at) >= UNUSUAL);
    let starts: Vec<usize> = (0..all.len()).filter(|&index| unusual(&all[index])).collect();
    let cells = starts.iter().flat_map(|&index| (0..3).map(move |at| (index, at)));
    let most = |&(index, at): &(usize, usize)| beyond(&all[index], at);
    let (worst, at) = cells.max_by(|a, b| most(a).total_cmp(&most(b)))?;
    (starts.len() * 2 < all.len()).then(|| UnderPressure {
        starts,
        resource: RESOURCES[at],
        waited: all[worst].waited[at],
        usual: usual[at],
    })
}

/// The warning about starts under unusual pressure, if there are any.
pub fn pressure_sentence(name: &str, all: &[Disturbance]) -> Option<String> {
    let UnderPressure { starts, resource, waited, usual } = under_pressure(all)?;
    let percent = |share: f64| (share * 100.0).round();
    Some(format!(
        "{name}: {} of {} starts ran under unusual pressure: some task waited for {resource} in up \
         to {} % of the time, in most starts in {} %; these starts were repeated if time was left, \
         and all count",
        starts.len(),
        all.len(),
        percent(waited),
        percent(usual)
    ))
}

/// The indices of the disturbed starts if they are fewer than half. If most are
/// disturbed, that is the normal state of the machine, and none is left out.
pub fn to_leave_out<'a>(all: impl Iterator<Item = &'a Disturbance>) -> Vec<usize> {
    let mut count = 0;
    let disturbed: Vec<usize> = all
        .enumerate()
        .inspect(|_| count += 1)
        .filter(|(_, disturbance)| disturbance.steal >= STEAL)
        .map(|(index, _)| index)
        .collect();
    if disturbed.len() * 2 < count { disturbed } else { Vec::new() }
}

/// The warning about disturbed starts, if there are any.
pub fn sentence<'a>(
    name: &str,
    all: impl Iterator<Item = &'a Disturbance>,
    to_leave_out: &[usize],
) -> Option<String> {
    let all: Vec<f64> = all.map(|disturbance| disturbance.steal).collect();
    let worst = all.iter().copied().fold(0.0, f64::max);
    let count = all.len();
    if !to_leave_out.is_empty() {
        let left_out = to_leave_out.len();
        return Some(format!(
            "{name}: the hypervisor took up to {worst:.0} % of the CPU time of {left_out} of \
             {count} starts: these were repeated if time was left, and are left out"
        ));
    }
    let disturbed = all.iter().filter(|&&steal| steal >= STEAL).count();
    (disturbed > 0).then(|| {
        format!(
            "{name}: the hypervisor took up to {worst:.0} % of the CPU time in {disturbed} of \
             {count} starts: the figures include that"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(steal: &[f64]) -> Vec<Disturbance> {
        steal.iter().map(|&steal| Disturbance { steal, waited: [0.0; 3] }).collect()
    }

    fn pressed(waited: &[[f64; 3]]) -> Vec<Disturbance> {
        waited.iter().map(|&waited| Disturbance { steal: 0.0, waited }).collect()
    }

    #[test]
    fn a_few_starts_under_unusual_pressure_are_repeated_and_said() {
        let usual = [0.10, 0.0, 0.02];
        let all = pressed(&[usual, [0.15, 0.0, 0.7], usual, [0.64, 0.0, 0.0], usual]);
        assert_eq!(to_repeat(&all), [1, 3]);
        assert!(to_leave_out(all.iter()).is_empty(), "other programs belong to the machine");
        assert_eq!(
            pressure_sentence("ipc", &all).unwrap(),
            "ipc: 2 of 5 starts ran under unusual pressure: some task waited for storage in up to \
             70 % of the time, in most starts in 2 %; these starts were repeated if time was left, \
             and all count"
        );
    }

    #[test]
    fn pressure_that_is_usual_is_not_repeated() {
        let busy = [0.8, 0.0, 0.0];
        for all in [pressed(&[busy; 4]), pressed(&[[0.0; 3], busy, busy, [0.0; 3]])] {
            assert_eq!((to_repeat(&all), pressure_sentence("ipc", &all)), (Vec::new(), None));
        }
        assert_eq!(to_repeat(&[]), [0_usize; 0]);
    }

    #[test]
    fn a_start_is_measured_between_two_readings() {
        let top = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let machine = |micros: u64, steal: u64| {
            for resource in ["cpu", "memory", "io"] {
                let text = format!("some avg10=0 total={micros}\nfull avg10=0 total=0");
                write(&format!("proc/pressure/{resource}"), text);
            }
            write("proc/stat", format!("cpu  0 0 0 90 0 0 0 {steal}"));
        };
        machine(1_000, 0);
        let root = Root::at(top.path());
        let meter = Meter::begin(&root);
        // An hour: more than the start can have taken.
        machine(3_600_000_000, 10);
        let disturbance = meter.end();
        assert!((disturbance.steal - 100.0).abs() < 1e-9, "{disturbance:?}");
        assert!(disturbance.waited.iter().all(|&share| share >= 1.0), "{disturbance:?}");
    }

    fn evaluated(steal: &[f64]) -> (Vec<usize>, Option<String>) {
        let all = starts(steal);
        let to_leave_out = to_leave_out(all.iter());
        let sentence = sentence("lock", all.iter(), &to_leave_out);
        (to_leave_out, sentence)
    }

    #[test]
    fn a_few_disturbed_starts_are_left_out_and_said() {
        let (to_leave_out, sentence) = evaluated(&[0.0, 0.1, 12.0, 0.0, 3.0]);
        assert_eq!(to_leave_out, [2, 4]);
        assert!(sentence.unwrap().starts_with("lock: the hypervisor took up to 12 %"));
    }

    #[test]
    fn a_machine_that_is_always_disturbed_is_measured_as_it_is() {
        let (to_leave_out, sentence) = evaluated(&[5.0, 6.0, 0.0, 4.0]);
        assert!(to_leave_out.is_empty());
        assert!(sentence.unwrap().ends_with("in 3 of 4 starts: the figures include that"));
    }

    #[test]
    fn a_quiet_machine_is_not_mentioned() {
        assert_eq!(evaluated(&[0.0, 1.0, 0.4]), (Vec::new(), None));
        assert_eq!(evaluated(&[]), (Vec::new(), None));
    }
}
