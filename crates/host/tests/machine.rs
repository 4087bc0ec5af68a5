//! Whole machines, read from the trees in `fixtures/` and from damaged copies
//! of them.
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use unjank_host::machine::{SwapKind, available_memory, swap};
use unjank_host::{Bytes, Hertz, Machine, Nanos, Root};

const FIXTURES: [&str; 4] = ["laptop-amd-pstate", "panel-exynos4210", "phone-walt", "vm-cloud"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn read(name: &str) -> Machine {
    Machine::read(&Root::at(fixture(name)))
}

/// The files of a tree by their path within it.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                found.insert(path.strip_prefix(dir).unwrap().to_owned(), fs::read(path).unwrap());
            }
        }
    }
    found
}

/// A copy of a fixture that a test may damage.
fn copy(name: &str) -> (tempfile::TempDir, BTreeMap<PathBuf, Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let files = files(&fixture(name));
    for (path, bytes) in &files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    (dir, files)
}

/// Checks the invariants of every machine, however odd its files are: it survives
/// a round trip through JSON, and has no control characters in its text.
fn check(machine: &Machine) {
    let json = serde_json::to_string(machine).unwrap();
    let back: Machine = serde_json::from_str(&json).unwrap();
    assert_eq!(back.cpu, machine.cpu);
    assert_eq!(back.unsupported, machine.unsupported);
    assert!(!machine.summary().is_empty());
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(no_control_characters(&value), "{json}");
}

fn no_control_characters(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => !text.chars().any(char::is_control),
        serde_json::Value::Array(values) => values.iter().all(no_control_characters),
        serde_json::Value::Object(fields) => fields.values().all(no_control_characters),
        _ => true,
    }
}

#[test]
fn every_fixture_is_read_to_the_last_field() {
    for name in FIXTURES {
        let machine = read(name);
        check(&machine);
        insta::assert_snapshot!(name, serde_json::to_string_pretty(&machine).unwrap());
    }
}

#[test]
fn summaries_fit_one_line() {
    let summaries = FIXTURES.map(|name| format!("{name}: {}", read(name).summary()));
    insta::assert_snapshot!(summaries.join("\n"), @r"
    laptop-amd-pstate: kernel 6.12.9, 4 × AMD Athlon Gold 7220U with Radeon Graphics, amd-pstate-epp powersave, menu idle
    panel-exynos4210: kernel 3.0.101, 1 × Cortex-A9, exynos4210_cpufreq ondemand, ladder idle
    phone-walt: kernel 6.1.75, 4 × Cortex-A510 + 3 × Cortex-A715 + 1 × Cortex-X3, qcom-cpufreq-hw walt, teo idle
    vm-cloud: kernel 6.18.44, 2 × AMD EPYC (KVM), no cpufreq, haltpoll idle
    ");
}

#[test]
fn a_phone_has_a_policy_per_cluster_with_tunables_of_its_own() {
    let phone = read("phone-walt");
    let of = |name: &str| phone.frequency.iter().find(|policy| policy.name == name).unwrap();
    assert_eq!((of("policy0").cpus.as_str(), of("policy4").cpus.as_str()), ("0-3", "4-6"));
    let big = of("policy7");
    assert!(big.max < big.hardware_max);
    let tunables = Path::new("/sys/devices/system/cpu/cpufreq/policy7/walt");
    assert_eq!(big.tunables_path.as_deref(), Some(tunables));
    assert_eq!(big.tunables["hispeed_freq"], "1843200");
    let capacities: Vec<_> = phone.cpu.cpus.iter().map(|cpu| cpu.capacity.unwrap()).collect();
    assert_eq!(capacities, [325, 325, 325, 325, 870, 870, 870, 1024]);
    // WFI, and a state `cpu-sleep-0` that differs on each of the three clusters.
    assert_eq!(phone.idle.unwrap().states.len(), 4);
    assert_eq!(phone.cgroup.unwrap().cpuset_path, "/top-app");
    assert_eq!((phone.memory.page_cluster, phone.memory.mglru), (Some(0), Some(true)));
    assert_eq!(phone.memory.swap[0].kind, SwapKind::Zram);
    assert_eq!(phone.memory.zram[0].backing_device.as_deref(), Some("/dev/block/loop34"));
}

#[test]
fn a_laptop_shows_preference_threads_and_nested_limits() {
    let laptop = read("laptop-amd-pstate");
    assert_eq!((laptop.cpu.online, laptop.cpu.cores()), (4, 2));
    assert!(laptop.cpu.cpus.iter().all(|cpu| cpu.cluster.is_none()));
    let policy = &laptop.frequency[0];
    assert_eq!(policy.driver_mode.as_deref(), Some("active"));
    assert_eq!(policy.epp.as_deref(), Some("balance_performance"));
    assert_eq!(policy.boost, Some(true));
    assert!(laptop.idle.unwrap().states[3].disabled);
    let cgroup = laptop.cgroup.unwrap();
    assert_eq!((cgroup.cpu_quota, cgroup.throttled_periods), (Some(3.0), Some(42)));
    assert_eq!(cgroup.memory_high, Some(Bytes::from_mib(10 << 10)));
    assert!(laptop.memory.zswap.unwrap().enabled);
    assert_eq!(laptop.memory.swap[0].kind, SwapKind::Disk);
    // The rest of the control group's `memory.high` of 10 GiB is less than the
    // machine's available memory.
    let left = available_memory(&Root::at(fixture("laptop-amd-pstate"))).unwrap();
    assert_eq!(left, Bytes(10_737_418_240 - 5_242_880_000));
}

#[test]
fn an_old_panel_is_read_with_its_old_names() {
    let panel = read("panel-exynos4210");
    assert_eq!(panel.kernel.architecture, "armv7l");
    assert_eq!((panel.cpu.online, panel.cpu.offline.as_deref()), (1, Some("1")));
    assert_eq!(panel.cpu.cpus[0].package, -1);
    let policy = &panel.frequency[0];
    assert_eq!(policy.path, Path::new("/sys/devices/system/cpu/cpu0/cpufreq"));
    let tunables = Path::new("/sys/devices/system/cpu/cpufreq/ondemand");
    assert_eq!(policy.tunables_path.as_deref(), Some(tunables));
    assert_eq!(policy.tunables["sampling_rate"], "100000");
    assert_eq!(policy.frequencies.first(), Some(&Hertz::from_khz(200_000)));
    assert_eq!(panel.idle.unwrap().states[1].exit_latency, Nanos::from_micros(300));
    assert!(!panel.realtime.throttled);
    assert_eq!(panel.capabilities.len(), 41);
    let devices = swap::devices(&Root::at(fixture("panel-exynos4210"))).unwrap();
    assert_eq!((devices[0].path.as_str(), devices[0].kind), ("/data/swap file", SwapKind::File));
}

#[test]
fn a_recording_reads_the_same_as_its_machine() {
    for name in FIXTURES {
        let (machine, recording) = Machine::record(&Root::at(fixture(name)));
        let copy = tempfile::tempdir().unwrap();
        recording.write_to(copy.path()).unwrap();
        assert_eq!(Machine::read(&Root::at(copy.path())), machine, "{name}");
        // Only what was read is copied, and the fixtures hold nothing else
        // but their description.
        let mut all = files(&fixture(name));
        all.remove(Path::new("README.md")).unwrap();
        let recorded = files(copy.path());
        let differ = |path: &&PathBuf| all.contains_key(*path) != recorded.contains_key(*path);
        assert_eq!(all.keys().chain(recorded.keys()).find(differ), None, "{name}");
    }
}

#[test]
fn the_running_machine_is_read_and_recorded() {
    let (machine, recording) = Machine::record(&Root::system());
    check(&machine);
    assert!(!machine.kernel.release.is_empty());
    assert!(machine.cpu.online > 0 && machine.memory.total > Bytes(0));
    let copy = tempfile::tempdir().unwrap();
    recording.write_to(copy.path()).unwrap();
    let again = Machine::read(&Root::at(copy.path()));
    assert_eq!((&again.kernel, &again.cpu), (&machine.kernel, &machine.cpu));
    assert_eq!((&again.frequency, &again.idle), (&machine.frequency, &machine.idle));
    assert_eq!(again.realtime, machine.realtime);
    assert_eq!(again.capabilities, machine.capabilities);
    assert_eq!(again.virtualisation, machine.virtualisation);
}

#[test]
fn an_empty_tree_gives_reasons_for_everything() {
    let dir = tempfile::tempdir().unwrap();
    let machine = Machine::read(&Root::at(dir.path()));
    check(&machine);
    let missing: Vec<_> = machine.unsupported.iter().map(|missing| missing.what.as_str()).collect();
    assert_eq!(
        missing,
        [
            "device",
            "kernel.version",
            "kernel.latency_parameters",
            "kernel.release",
            "kernel.architecture",
            "kernel.preemption",
            "cpu.online",
            "cpu.allowed",
            "cpu.model",
            "frequency",
            "idle",
            "realtime.period",
            "realtime.runtime",
            "realtime.limits",
            "capabilities",
            "cgroup",
            "memory",
            "memory.page",
            "memory.swappiness",
            "memory.page_cluster",
            "memory.mglru",
            "memory.zswap",
            "pressure",
            "virtualisation.steal_percent",
            "clock.current",
        ]
    );
}

/// Damaged versions of the content of a file.
fn damages(bytes: &[u8]) -> Vec<Vec<u8>> {
    vec![
        Vec::new(),
        bytes[..bytes.len() / 2].to_vec(),
        b"\0\xff\xfe\x1b[2J\n:\n::::\n- - - -\n".to_vec(),
        b"99999999999999999999999999\n".to_vec(),
        b"-1 -1 -1 -1 -1 -1 -1 -1\n".to_vec(),
        "é0-1023,".repeat(500).into_bytes(),
    ]
}

#[test]
fn a_damaged_file_costs_no_more_than_its_own_field() {
    for name in FIXTURES {
        let (dir, files) = copy(name);
        let root = Root::at(dir.path());
        let whole = Machine::read(&root);
        let mut seen = Vec::new();
        for (path, bytes) in &files {
            // One file of each name is enough: other CPUs have the same files.
            if seen.contains(&path.file_name()) {
                continue;
            }
            seen.push(path.file_name());
            let file = dir.path().join(path);
            for damage in damages(bytes) {
                fs::write(&file, damage).unwrap();
                let machine = Machine::read(&root);
                check(&machine);
                if !path.starts_with("proc/sys/kernel") {
                    assert_eq!(machine.kernel.release, whole.kernel.release, "{path:?}");
                }
            }
            // A directory where a file belongs cannot be read, which is noted.
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
            check(&Machine::read(&root));
            fs::remove_dir(&file).unwrap();
            check(&Machine::read(&root));
            fs::write(&file, bytes).unwrap();
        }
        assert_eq!(Machine::read(&root), whole);
    }
}

#[test]
fn a_machine_of_a_thousand_bare_cpus_is_read() {
    let (dir, _) = copy("vm-cloud");
    fs::write(dir.path().join("sys/devices/system/cpu/online"), "0-1023\n").unwrap();
    let machine = Machine::read(&Root::at(dir.path()));
    check(&machine);
    assert_eq!((machine.cpu.online, machine.cpu.cpus.len()), (1024, 1024));
    let notes = machine.unsupported.iter().filter(|note| note.what == "cpu.cpus.siblings");
    assert_eq!(notes.count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_files_never_stop_the_reader(
        name in proptest::sample::select(&FIXTURES[..]),
        damages in proptest::collection::vec(
            (any::<proptest::sample::Index>(), proptest::collection::vec(any::<u8>(), 0..200)),
            1..40,
        ),
    ) {
        let (dir, files) = copy(name);
        let paths: Vec<&PathBuf> = files.keys().collect();
        for (index, bytes) in damages {
            fs::write(dir.path().join(index.get(&paths)), bytes).unwrap();
        }
        check(&Machine::read(&Root::at(dir.path())));
    }

    #[test]
    fn arbitrary_words_never_stop_the_reader(
        name in proptest::sample::select(&FIXTURES[..]),
        damages in proptest::collection::vec(
            (any::<proptest::sample::Index>(), "[ -~\\n\\t]{0,80}"),
            1..40,
        ),
    ) {
        let (dir, files) = copy(name);
        let paths: Vec<&PathBuf> = files.keys().collect();
        for (index, text) in damages {
            fs::write(dir.path().join(index.get(&paths)), text).unwrap();
        }
        check(&Machine::read(&Root::at(dir.path())));
    }
}
