//! Oddities of single machines, each in a tree of a few files.
#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;
use std::path::Path;

use unjank_host::machine::{Cgroup, FrequencyPolicy, SwapKind};
use unjank_host::{Bytes, Machine, Nanos, Root};

/// The machine with just these files.
fn machine(files: &[(&str, &str)]) -> Machine {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::at(dir.path());
    for (path, text) in files {
        let path = root.resolve(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Machine::read(&root)
}

const POLICY: &str = "/sys/devices/system/cpu/cpufreq/policy0";

/// The one policy of a machine with these files below `/sys/devices/system/cpu`.
fn policy(files: &[(&str, &str)]) -> FrequencyPolicy {
    let paths: Vec<(String, &str)> = [("cpufreq/policy0/affected_cpus", "0\n")]
        .iter()
        .chain(files)
        .map(|(path, text)| (format!("/sys/devices/system/cpu/{path}"), *text))
        .collect();
    let files: Vec<(&str, &str)> =
        paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let [policy] = <[FrequencyPolicy; 1]>::try_from(machine(&files).frequency).unwrap();
    policy
}

fn reason<'machine>(machine: &'machine Machine, what: &str) -> Option<&'machine str> {
    let note = machine.unsupported.iter().find(|note| note.what == what)?;
    Some(&note.reason)
}

#[test]
fn intel_pstate_tells_its_mode_and_its_turbo() {
    let active = policy(&[
        ("cpufreq/policy0/scaling_driver", "intel_pstate\n"),
        ("cpufreq/policy0/scaling_governor", "powersave\n"),
        ("intel_pstate/status", "active\n"),
        ("intel_pstate/no_turbo", "1\n"),
    ]);
    assert_eq!((active.driver_mode.as_deref(), active.boost), (Some("active"), Some(false)));
    let passive = policy(&[
        ("cpufreq/policy0/scaling_driver", "intel_cpufreq\n"),
        ("cpufreq/policy0/scaling_governor", "schedutil\n"),
        ("cpufreq/policy0/schedutil/rate_limit_us", "2000\n"),
        ("intel_pstate/status", "passive\n"),
        ("intel_pstate/no_turbo", "0\n"),
    ]);
    assert_eq!((passive.driver_mode.as_deref(), passive.boost), (Some("passive"), Some(true)));
    assert_eq!(passive.tunables["rate_limit_us"], "2000");
}

#[test]
fn the_boost_switch_of_a_policy_goes_before_that_of_all() {
    let of_all = ("cpufreq/boost", "1\n");
    assert_eq!(policy(&[of_all]).boost, Some(true));
    assert_eq!(policy(&[of_all, ("cpufreq/policy0/boost", "0\n")]).boost, Some(false));
    assert_eq!(policy(&[]).boost, None);
}

#[test]
fn tunables_of_a_policy_go_before_those_of_all() {
    let governor = ("cpufreq/policy0/scaling_governor", "interactive\n");
    let of_all = ("cpufreq/interactive/hispeed_freq", "1000000\n");
    let own = ("cpufreq/policy0/interactive/hispeed_freq", "1200000\n");
    let global = policy(&[governor, of_all]);
    assert_eq!(
        global.tunables_path.as_deref(),
        Some(Path::new("/sys/devices/system/cpu/cpufreq/interactive"))
    );
    let both = policy(&[governor, of_all, own]);
    assert_eq!(both.tunables_path, Some(Path::new(POLICY).join("interactive")));
    assert_eq!(both.tunables["hispeed_freq"], "1200000");
    assert_eq!(policy(&[of_all]).tunables_path, None);
}

#[test]
fn an_unknown_transition_latency_is_none() {
    let latency = |text| policy(&[("cpufreq/policy0/cpuinfo_transition_latency", text)]);
    assert_eq!(latency("4294967295\n").transition_latency, None);
    assert_eq!(latency("500000\n").transition_latency, Some(Nanos::from_micros(500)));
}

#[test]
fn a_policy_without_online_cpus_is_noted() {
    let machine = machine(&[
        ("/sys/devices/system/cpu/cpufreq/policy4/affected_cpus", "\n"),
        ("/sys/devices/system/cpu/cpufreq/policy4/scaling_driver", "cpufreq-dt\n"),
    ]);
    assert!(machine.frequency.is_empty());
    assert_eq!(reason(&machine, "frequency.policy4"), Some("all its CPUs are offline"));
}

#[test]
fn cpus_that_share_an_old_policy_are_one_policy() {
    let old = |cpu: &str, file: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}");
    let paths: Vec<String> = ["0", "1"]
        .iter()
        .flat_map(|cpu| [old(cpu, "affected_cpus"), old(cpu, "scaling_driver")])
        .collect();
    let mut files = vec![("/sys/devices/system/cpu/online", "0-1\n")];
    for pair in paths.chunks(2) {
        files.extend([(pair[0].as_str(), "0 1\n"), (pair[1].as_str(), "exynos4210\n")]);
    }
    let machine = machine(&files);
    assert_eq!(machine.frequency.len(), 1);
    assert_eq!(
        (machine.frequency[0].name.as_str(), machine.frequency[0].cpus.as_str()),
        ("cpu0", "0-1")
    );
}

#[test]
fn a_cpuidle_driver_called_none_is_none() {
    let machine = machine(&[("/sys/devices/system/cpu/cpuidle/current_driver", "none\n")]);
    assert_eq!(machine.idle, None);
    assert!(reason(&machine, "idle").unwrap().starts_with("no cpuidle driver"));
}

#[test]
fn an_old_zram_tells_its_sizes_one_by_one() {
    let machine = machine(&[
        ("/sys/block/zram0/disksize", "536870912\n"),
        ("/sys/block/zram0/orig_data_size", "8192\n"),
        ("/sys/block/zram0/mem_used_total", "4096\n"),
        ("/sys/block/zram1/disksize", "0\n"),
        ("/proc/swaps", "Filename\n/dev/block/zram0 partition 524284 8 100\n"),
    ]);
    let [zram] = machine.memory.zram.as_slice() else { panic!("{:?}", machine.memory.zram) };
    assert_eq!((zram.original, zram.memory), (Bytes(8192), Bytes(4096)));
    assert_eq!((zram.algorithm.as_str(), zram.backing_device.as_deref()), ("", None));
    assert_eq!(machine.memory.swap[0].kind, SwapKind::Zram);
}

#[test]
fn throttling_ends_where_the_runtime_reaches_the_period() {
    let throttled = |runtime: &str| {
        let machine = machine(&[
            ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("/proc/sys/kernel/sched_rt_runtime_us", runtime),
        ]);
        (machine.realtime.throttled, machine.realtime.runtime)
    };
    assert_eq!(throttled("950000\n"), (true, Some(Nanos::from_millis(950))));
    assert_eq!(throttled("1000000\n"), (false, Some(Nanos::from_millis(1000))));
    assert_eq!(throttled("-1\n"), (false, None));
}

#[test]
fn a_container_with_a_quota_sees_it_at_its_mount_point() {
    let machine = machine(&[
        ("/proc/self/cgroup", "0::/\n"),
        ("/proc/self/mountinfo", "40 30 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n"),
        ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
        ("/sys/fs/cgroup/memory.max", "536870912\n"),
        ("/sys/fs/cgroup/memory.current", "1048576\n"),
        ("/run/.containerenv", ""),
    ]);
    let expected = Cgroup {
        version: 2,
        path: "/".to_owned(),
        memory_path: "/".to_owned(),
        cpuset_path: "/".to_owned(),
        cpu_quota: Some(1.5),
        cpu_period: Some(Nanos::from_millis(100)),
        memory_limit: Some(Bytes::from_mib(512)),
        memory_used: Some(Bytes::from_mib(1)),
        ..Cgroup::default()
    };
    assert_eq!(machine.cgroup, Some(expected));
    assert_eq!(machine.virtualisation.container.as_deref(), Some("podman"));
}

#[test]
fn what_cannot_be_understood_is_noted_with_file_and_line() {
    let machine = machine(&[
        ("/proc/meminfo", "MemTotal: 1 kB\nMemFree: much kB\n"),
        ("/sys/devices/system/cpu/online", "all\n"),
        ("/proc/sys/vm/swappiness", "sixty\n"),
    ]);
    assert_eq!(
        reason(&machine, "memory"),
        Some("cannot parse /proc/meminfo, line 2: expected a name and a number of kB")
    );
    assert_eq!(
        reason(&machine, "cpu.online"),
        Some(
            "cannot parse /sys/devices/system/cpu/online, line 1: \"all\" is not a list of CPUs \
             such as 0-3,8"
        )
    );
    assert_eq!(
        reason(&machine, "memory.swappiness"),
        Some("cannot parse /proc/sys/vm/swappiness, line 1: expected a number, found \"sixty\"")
    );
}
