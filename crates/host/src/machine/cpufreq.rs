//! CPU frequency scaling: `Documentation/admin-guide/pm/cpufreq.rst`,
//! `intel_pstate.rst` and `amd-pstate.rst` beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::reader::{Reader, line, one_line};
use super::topology::parse_list;
use crate::error::Result;
use crate::root::Root;
use crate::sched::CpuSet;
use unjank_units::{Hertz, Nanos};

/// The directory of all policies; on old kernels (3.x), of common files only.
const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// The most tunables of a governor.
const MOST_TUNABLES: usize = 128;

/// `cpuinfo_transition_latency` of a driver that does not know it:
/// `CPUFREQ_ETERNAL`, −1 in 32 bits.
const LATENCY_UNKNOWN: u64 = u32::MAX as u64;

/// One cpufreq policy: CPUs that share a clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrequencyPolicy {
    /// The name of its directory: `policy0`; `cpu0` on old kernels (3.x), which
    /// have policies only as part of CPUs.
    pub name: String,
    /// The directory of its knobs:
    /// `/sys/devices/system/cpu/cpufreq/policy0`.
    pub path: PathBuf,
    /// The online CPUs, as a list (`affected_cpus`).
    pub cpus: String,
    /// `scaling_driver`: `acpi-cpufreq`, `intel_pstate`, `amd-pstate-epp` …
    pub driver: String,
    /// The mode of `intel_pstate` or `amd-pstate`: `active` (the processor
    /// chooses the frequency), `passive` (the governor does), `guided`.
    pub driver_mode: Option<String>,
    /// `scaling_governor`: `schedutil`, `ondemand`, `walt` …
    pub governor: String,
    /// The governors that can be set (`scaling_available_governors`).
    pub available_governors: Vec<String>,
    /// The hardware's lowest frequency (`cpuinfo_min_freq`).
    pub hardware_min: Hertz,
    /// The hardware's highest frequency (`cpuinfo_max_freq`).
    pub hardware_max: Hertz,
    /// The lowest frequency allowed at present (`scaling_min_freq`).
    pub min: Hertz,
    /// The highest frequency allowed at present (`scaling_max_freq`).
    pub max: Hertz,
    /// The available frequencies (`scaling_available_frequencies`), in
    /// ascending order; empty if the driver has no table.
    pub frequencies: Vec<Hertz>,
    /// Time to change the frequency (`cpuinfo_transition_latency`), if the
    /// driver knows it.
    pub transition_latency: Option<Nanos>,
    /// Whether frequencies above the nominal one are allowed (`boost`,
    /// `no_turbo`), if there is such a switch.
    pub boost: Option<bool>,
    /// Energy/performance preference, if the driver has it.
    pub epp: Option<String>,
    /// The directory of the governor's tunables: below the policy's, or shared
    /// by all policies.
    pub tunables_path: Option<PathBuf>,
    /// The governor's tunables as name and value, for example `sampling_rate`.
    pub tunables: BTreeMap<String, String>,
}

impl FrequencyPolicy {
    /// Whether the processor chooses its clock within limits, so that the kernel
    /// does not know when it changes, and records no `power/cpu_frequency`.
    ///
    /// It does so under `intel_pstate` and `amd-pstate-epp`, in `amd-pstate`'s
    /// guided mode, and where `schedutil` hands a driver the wanted performance
    /// instead of a frequency (`cpufreq_driver_adjust_perf`): `amd-pstate`, and
    /// `intel_cpufreq` with HWP, which has an energy/performance preference.
    pub fn is_chosen_by_processor(&self) -> bool {
        let adjusts = self.governor == "schedutil";
        match self.driver.as_str() {
            "intel_pstate" | "amd-pstate-epp" => true,
            "amd-pstate" => adjusts || self.driver_mode.as_deref() == Some("guided"),
            "intel_cpufreq" => adjusts && self.epp.is_some(),
            _ => false,
        }
    }
}

pub(super) fn read(reader: &mut Reader, online: &[usize]) -> Vec<FrequencyPolicy> {
    let dirs = policy_dirs(reader.root(), online);
    let dirs = reader.optional("frequency", dirs.map(Some)).unwrap_or_default();
    if dirs.is_empty() {
        reader.miss("frequency", "no cpufreq driver: a virtual machine usually has none");
    }
    each_once(reader, dirs)
}

/// The policies of this machine; missing ones are not reported.
pub(super) fn policies(reader: &mut Reader, online: &[usize]) -> Vec<FrequencyPolicy> {
    let dirs = policy_dirs(reader.root(), online).unwrap_or_default();
    each_once(reader, dirs)
}

fn each_once(reader: &mut Reader, dirs: Vec<PathBuf>) -> Vec<FrequencyPolicy> {
    let mut policies: Vec<FrequencyPolicy> = Vec::new();
    for dir in dirs {
        let policy = one_policy(reader, dir);
        // On old kernels every CPU has a directory with the policy that it
        // shares with others.
        let known = policies.iter().any(|known| known.cpus == policy.cpus);
        if policy.cpus.is_empty() {
            reader.miss(&format!("frequency.{}", policy.name), "all its CPUs are offline");
        } else if !known {
            policies.push(policy);
        }
    }
    policies
}

fn policy_dirs(root: &Root, online: &[usize]) -> Result<Vec<PathBuf>> {
    let names = root.list(CPUFREQ)?;
    let mut dirs: Vec<PathBuf> = names
        .iter()
        .filter(|name| name.strip_prefix("policy").is_some_and(|n| n.parse::<usize>().is_ok()))
        .map(|name| Path::new(CPUFREQ).join(name))
        .collect();
    if dirs.is_empty() {
        dirs = online
            .iter()
            .map(|cpu| PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq")))
            .filter(|dir| root.exists(dir.join("scaling_driver")))
            .collect();
    }
    Ok(dirs)
}

fn one_policy(reader: &mut Reader, path: PathBuf) -> FrequencyPolicy {
    let name = policy_name(&path);
    // The kernel answers EBUSY for a policy without an online CPU.
    let cpus = cpus_of(reader.root(), &path).unwrap_or_default();
    if cpus.is_empty() {
        return FrequencyPolicy { name, ..FrequencyPolicy::default() };
    }
    let root = reader.root();
    let mut files = Files { what: format!("frequency.{name}"), path: &path, reader };
    let driver = files.line("scaling_driver");
    let governor = files.line("scaling_governor");
    let driver_mode = files.keep(driver_mode(root, &driver));
    let boost = files.keep(boost(root, &path));
    let tunables = files.keep(tunables(root, &path, &governor));
    let (tunables_path, tunables) = tunables.unzip();
    let latency = files.number("cpuinfo_transition_latency");
    FrequencyPolicy {
        cpus: cpus.to_string(),
        available_governors: words(&files.line("scaling_available_governors")),
        hardware_min: files.khz("cpuinfo_min_freq"),
        hardware_max: files.khz("cpuinfo_max_freq"),
        min: files.khz("scaling_min_freq"),
        max: files.khz("scaling_max_freq"),
        frequencies: frequencies(
            &files.line("scaling_available_frequencies"),
            &files.line("scaling_boost_frequencies"),
        ),
        transition_latency: latency.filter(|&nanos| nanos != LATENCY_UNKNOWN).map(Nanos),
        epp: Some(files.line("energy_performance_preference")).filter(|epp| !epp.is_empty()),
        tunables: tunables.unwrap_or_default(),
        name,
        driver,
        driver_mode,
        governor,
        boost,
        tunables_path,
        path,
    }
}

/// The files of one policy. Unreadable files are recorded under its name.
struct Files<'files, 'root> {
    reader: &'files mut Reader<'root>,
    what: String,
    path: &'files Path,
}

impl Files<'_, '_> {
    fn keep<T>(&mut self, found: Result<Option<T>>) -> Option<T> {
        self.reader.optional(&self.what, found)
    }

    fn line(&mut self, file: &str) -> String {
        let found = line(self.reader.root(), self.path.join(file));
        self.keep(found).unwrap_or_default()
    }

    fn number(&mut self, file: &str) -> Option<u64> {
        let found = self.reader.root().read_number_if_there(self.path.join(file));
        self.keep(found)
    }

    fn khz(&mut self, file: &str) -> Hertz {
        self.number(file).map(Hertz::from_khz).unwrap_or_default()
    }
}

/// `policy0`, or `cpu0` from `cpu0/cpufreq`.
fn policy_name(path: &Path) -> String {
    let own = path.file_name().filter(|name| *name != "cpufreq");
    let name = own.or_else(|| path.parent()?.file_name());
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The online CPUs of a policy: numbers separated by spaces, unlike the lists
/// in other files.
fn cpus_of(root: &Root, path: &Path) -> Result<CpuSet> {
    let path = path.join("affected_cpus");
    let text = root.read_if_there(&path)?.unwrap_or_default();
    let list = text.split_whitespace().collect::<Vec<_>>().join(",");
    parse_list(&list, &path)
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn frequencies(nominal: &str, boost: &str) -> Vec<Hertz> {
    let khz = nominal.split_whitespace().chain(boost.split_whitespace());
    let mut all: Vec<Hertz> = khz.filter_map(|khz| khz.parse().ok()).map(Hertz::from_khz).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn driver_mode(root: &Root, driver: &str) -> Result<Option<String>> {
    match driver {
        "intel_pstate" | "intel_cpufreq" => {
            line(root, "/sys/devices/system/cpu/intel_pstate/status")
        }
        "amd-pstate" | "amd-pstate-epp" => line(root, "/sys/devices/system/cpu/amd_pstate/status"),
        _ => Ok(None),
    }
}

/// The policy's own switch, else that of all policies, else `intel_pstate`'s,
/// which is inverted.
fn boost(root: &Root, policy: &Path) -> Result<Option<bool>> {
    for switch in [policy.join("boost"), Path::new(CPUFREQ).join("boost")] {
        if let Some(on) = root.read_number_if_there::<u8>(switch)? {
            return Ok(Some(on != 0));
        }
    }
    let off = root.read_number_if_there::<u8>("/sys/devices/system/cpu/intel_pstate/no_turbo")?;
    Ok(off.map(|off| off == 0))
}

/// The tunables of a governor: below the policy's directory if policies can
/// have different ones, else shared by all.
fn tunables(
    root: &Root,
    policy: &Path,
    governor: &str,
) -> Result<Option<(PathBuf, BTreeMap<String, String>)>> {
    if governor.is_empty() || governor.contains('/') {
        return Ok(None);
    }
    for dir in [policy.join(governor), Path::new(CPUFREQ).join(governor)] {
        // Tunables that cannot be read (some are write-only) are skipped.
        let value = |name: &String| Some(one_line(&root.read(dir.join(name)).ok()?));
        let tunables: BTreeMap<String, String> = root
            .list(&dir)?
            .into_iter()
            .take(MOST_TUNABLES)
            .filter_map(|name| Some((one_line(&name), value(&name)?)))
            .collect();
        if !tunables.is_empty() {
            return Ok(Some((dir, tunables)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_named_after_its_directory() {
        assert_eq!(policy_name(Path::new("/sys/devices/system/cpu/cpufreq/policy4")), "policy4");
        assert_eq!(policy_name(Path::new("/sys/devices/system/cpu/cpu1/cpufreq")), "cpu1");
    }

    #[test]
    fn a_processor_chooses_its_clock_by_driver_mode_and_governor() {
        let chooses = |driver: &str, mode: &str, governor: &str, epp: Option<&str>| {
            let policy = FrequencyPolicy {
                driver: driver.to_owned(),
                driver_mode: Some(mode.to_owned()),
                governor: governor.to_owned(),
                epp: epp.map(str::to_owned),
                ..FrequencyPolicy::default()
            };
            policy.is_chosen_by_processor()
        };
        assert!(chooses("intel_pstate", "active", "powersave", Some("balance_performance")));
        assert!(chooses("intel_pstate", "active", "performance", None), "without HWP");
        assert!(chooses("intel_cpufreq", "passive", "schedutil", Some("default")));
        assert!(!chooses("intel_cpufreq", "passive", "schedutil", None), "without HWP");
        assert!(!chooses("intel_cpufreq", "passive", "ondemand", Some("default")));
        assert!(chooses("amd-pstate-epp", "active", "powersave", Some("power")));
        assert!(chooses("amd-pstate", "guided", "ondemand", None));
        assert!(chooses("amd-pstate", "passive", "schedutil", None));
        assert!(!chooses("amd-pstate", "passive", "conservative", None));
        assert!(!chooses("acpi-cpufreq", "", "schedutil", None));
    }

    #[test]
    fn frequencies_are_sorted_whatever_the_driver_does() {
        let table = frequencies("1200000 200000 x 1000000", "1400000");
        assert_eq!(table, [200_000, 1_000_000, 1_200_000, 1_400_000].map(Hertz::from_khz));
    }
}
