//! `unjank launch power` under the kernel's own `ondemand`, in a virtual
//! phone.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod phone;

use phone::{RunPhone as _, lab, lab_run_counted, texts};
use serde_json::Value;

const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";

#[test]
fn sampling_periods_of_the_kernels_governor_are_compared_and_put_back() {
    if !lab() {
        return;
    }
    let compare = "unjank launch power --meter model --device exynos4210 --discard 1s --for 2s \
                   --rates 10ms,50ms,100ms,200ms --rounds 3 --json --no-store";
    let refused = "unjank launch power --meter model --device exynos4210 --for 300ms \
                   --rates 1ms,50ms,100ms --rounds 6 --json --no-store";
    let output = lab_run_counted()
        .args(["--no-store", "--pstates", "exynos4210"])
        .args(["--", "unjank", "host", "--json", "--and"])
        .args(compare.split_whitespace())
        .arg("--and")
        .args(refused.split_whitespace())
        .args(["--and", "unjank", "host", "--json"])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    let documents = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(Result::unwrap).collect();
    let [before, compared, refused, after] = documents.as_slice() else { panic!("{stdout}") };

    let labels = compared["labels"].as_array().unwrap();
    assert!(labels.contains(&"emulated".into()) && labels.contains(&"modelled".into()));
    let energies = energies(compared);
    assert_eq!(energies.len(), 4, "{compared}");
    for energy in &energies {
        // The bounds: 1 s of two idle CPUs, and 1 s of two CPUs that are busy at 1200 MHz.
        let joules = energy["value"].as_f64().unwrap();
        assert!((0.961..=2.211).contains(&joules), "{energy}");
        assert_eq!(energy["n"], 3);
    }
    let change = &compared["changes"][0];
    assert_eq!(change["knob"], RATE);
    assert_eq!(change["before"], change["after"]);

    let reason = &refused["unsupported"][0];
    assert_eq!(reason["what"], "launch/power/energy every 1.00 ms");
    assert!(reason["reason"].as_str().unwrap().contains("refuses \"1000\""), "{reason}");
    assert_eq!(self::energies(refused).len(), 2, "{refused}");

    let rate = |host: &Value| host["frequency"][0]["tunables"]["sampling_rate"].clone();
    assert!(rate(before).is_string());
    assert_eq!(rate(before), rate(after));
}

fn energies(record: &Value) -> Vec<&Value> {
    let facts = record["facts"].as_array().unwrap().iter();
    facts.filter(|fact| fact["name"] == "launch/power/energy").collect()
}
