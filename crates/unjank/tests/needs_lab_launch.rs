//! The paper's experiment in a virtual phone, under its real ondemand governor, and a program whose
//! memory is protected by control groups of version 2.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod phone;

use phone::{RunPhone as _, compiled, in_one_phone, lab, lab_run_counted, texts};
use serde_json::Value;

const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";

#[test]
fn a_sampling_rate_is_compared_and_put_back() {
    if !lab() {
        return;
    }
    let loads = ["--load", "100ms,300ms", "--basic", "200ms", "--emulated-clock"];
    let output = lab_run_counted()
        .args(["--no-store", "--pstates", "exynos4210", "--cpu-count", "2"])
        .args(["--", "unjank", "host", "--json", "--and", "unjank", "launch", "bench"])
        .args(loads)
        .args(["--b", "sampling_rate=50ms", "--pairs", "3", "--meter", "model"])
        .args(["--device", "exynos4210", "--energy-window", "2s", "--json"])
        .args(["--and", "unjank", "host", "--json"])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let documents = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(Result::unwrap).collect();
    let [before, record, after] = documents.as_slice() else { panic!("{stdout}") };

    let rate = |host: &Value| host["frequency"][0]["tunables"]["sampling_rate"].clone();
    assert_eq!(rate(before), rate(after), "put back");
    assert_eq!(record["host"]["frequency"][0]["governor"], "ondemand");
    let change = &record["changes"][0];
    assert_eq!((&change["knob"], &change["during"]), (&RATE.into(), &"50000".into()));
    assert_eq!((&change["before"], &change["after"]), (&rate(before), &rate(after)));

    let counted = |name: &str| -> Vec<(u64, u64)> {
        let all = record["series"].as_array().unwrap().iter();
        let own = all.filter(|series| series["name"] == name);
        own.map(|one| (one["n"].as_u64().unwrap(), one["missed"].as_u64().unwrap())).collect()
    };
    assert_eq!(counted("launch/bench/load-100ms/total"), [(3, 0); 2]);
    assert_eq!(counted("launch/bench/load-300ms/total"), [(3, 0); 2]);
    assert_eq!(counted("launch/bench/basic"), [(6, 0); 2]);
    let shortest = |name: &str| {
        let all = record["series"].as_array().unwrap().iter();
        let own = all.filter(|series| series["name"] == name);
        own.map(|one| one["summary"]["min"].as_u64().unwrap()).min().unwrap()
    };
    // At the highest frequency, these cycles take this long; nothing is faster.
    assert!(shortest("launch/bench/basic") >= 200_000_000);
    assert!(shortest("launch/bench/load-300ms/total") >= 500_000_000);

    let facts = record["facts"].as_array().unwrap();
    let energies = facts.iter().filter(|fact| fact["unit"] == "joules");
    let energies: Vec<&Value> = energies.collect();
    assert_eq!(energies.len(), 4, "two loads, two arms");
    assert!(energies.iter().all(|fact| fact["labels"]["origin"] == "modelled"), "{energies:?}");
    assert!(energies.iter().all(|fact| fact["value"].as_f64().unwrap() > 1.0), "{energies:?}");
    assert_eq!(record["labels"], serde_json::json!(["emulated", "icount", "modelled"]));
}

#[test]
fn a_programs_memory_is_protected_while_its_condition_holds() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let low = compiled(directory.path(), "low", include_str!("phone/low.c"));
    let list = compiled(directory.path(), "list", include_str!("phone/list.c"));
    let bench = "unjank launch bench --a memory.low=64MiB,env:LOW=67108864 --b \
                 memory.low=max,env:LOW=max --pairs 2 --gap 10ms --json --no-store -- low";
    let ran = in_one_phone(1, &[low, list], &[bench, "list /sys/fs/cgroup"]);
    let [bench, groups] = ran.as_slice() else { panic!("{ran:#?}") };
    let record = bench.json();
    assert_eq!((bench.code, &record["warnings"].to_string().contains("failed")), (0, &false));
    let launches = record["series"].as_array().unwrap().iter();
    let launches = launches.filter(|series| series["name"] == "launch/bench/total");
    let (n, missed) = launches.fold((0, 0), |(n, missed), series| {
        (n + series["n"].as_u64().unwrap(), missed + series["missed"].as_u64().unwrap())
    });
    assert_eq!((n, missed), (4, 0), "{record}");
    assert!(groups.stdout.contains("memory.stat"), "{groups:#?}");
    assert!(!groups.stdout.contains("unjank-"), "the group is gone: {groups:#?}");
}
