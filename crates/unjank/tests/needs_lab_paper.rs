//! `unjank reproduce launch` in a virtual phone, under its real ondemand governor, and what a
//! machine without binder gets from a phone.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod claimed;
mod phone;

use std::path::Path;
use std::process::Command;

use claimed::claims;
use phone::{RunPhone as _, lab, lab_run_counted, texts};
use serde_json::Value;

const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";

#[test]
fn the_papers_experiments_are_made_and_the_governor_is_as_before() {
    if !lab() {
        return;
    }
    let output = lab_run_counted()
        .args(["--no-store", "--pstates", "exynos4210", "--cpu-count", "2"])
        .args(["--", "unjank", "host", "--json", "--and", "unjank", "reproduce"])
        .args(["launch", "--quick", "--load", "0,100ms", "--basic", "200ms", "--json"])
        .args(["--and", "unjank", "host", "--json"])
        .run_phone();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let documents = serde_json::Deserializer::from_str(&stdout).into_iter::<Value>();
    let documents: Vec<Value> = documents.map(Result::unwrap).collect();
    let [before, record, after] = documents.as_slice() else { panic!("{stdout}") };

    let rate = |host: &Value| host["frequency"][0]["tunables"]["sampling_rate"].clone();
    assert!(rate(before).is_string());
    assert_eq!(rate(before), rate(after), "put back");
    let changes = record["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["knob"] == RATE), "{changes:?}");
    assert!(changes.iter().all(|change| change["after"] == rate(before)), "{changes:?}");
    assert_eq!(record["labels"], serde_json::json!(["emulated", "icount", "modelled"]));

    let facts = record["facts"].as_array().unwrap();
    let values = |name: &str| -> Vec<f64> {
        let own = facts.iter().filter(|fact| fact["name"] == name);
        own.map(|fact| fact["value"].as_f64().unwrap()).collect()
    };
    // Fig. 2 and 3: the measured, the published and the predicted values.
    assert_eq!(values("launch/bench/load-0/total/difference").len(), 1);
    assert_eq!(values("launch/bench/load-100ms/total/difference").len(), 1);
    assert_eq!(values("launch/bench/basic/median").len(), 2);
    assert_eq!(values("launch/paper/fig2/launch_change_in_paper"), [-0.02, -0.05]);
    assert_eq!(values("launch/paper/fig3/basic_change_in_paper"), [-0.0334]);
    let predicted = values("launch/paper/fig2/launch_change_predicted");
    assert!(predicted.len() == 2 && predicted.iter().all(|change| *change < 0.0), "{predicted:?}");
    // Table 3, the paper's energies scaled from a minute to a second.
    assert_eq!(values("launch/power/energy").len(), 4);
    let theirs = values("launch/paper/table3/energy_in_paper");
    assert!((theirs[2] - 16.126 * 3.6 / 60.0).abs() < 1e-9, "{theirs:?}");
    assert_eq!(values("launch/paper/table3/energy_change_in_paper").len(), 3);

    let claims = claims(record);
    let of = |place: &str| claims.iter().filter(|claim| claim.source.ends_with(place)).count();
    assert_eq!(["Fig. 2", "Fig. 3", "Table 3"].map(of), [3, 1, 7]);
    assert!(claims.iter().any(|claim| claim.published == "−3.34 %"), "{claims:?}");
    let how = |how: &str| claims.iter().filter(|claim| claim.how == how).count();
    assert_eq!([how("emulated"), how("modelled")], [4, 7], "launches, and energy: {claims:?}");
    assert!(claims.iter().all(|claim| claim.ours.is_some()), "{claims:?}");
}

#[test]
fn calls_over_a_binder_that_this_machine_lacks_are_made_in_a_phone() {
    if !lab() || Path::new("/dev/hwbinder").exists() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("runs.sqlite");
    let unjank = || Command::new(env!("CARGO_BIN_EXE_unjank"));
    let mut command = unjank();
    command.args(["reproduce", "binder", "--quick", "--json", "--store"]).arg(&store);
    let output = command.output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    let claims = claims(&record);
    assert!(claims.iter().all(|claim| claim.how == "emulated"), "{claims:?}");
    let answer = |what: &str| {
        let claim = claims.iter().find(|claim| claim.what.contains(what));
        claim.unwrap_or_else(|| panic!("no {what} in {claims:?}")).answer.clone()
    };
    assert_eq!(answer("payloads with Time, CPU and iterations"), "holds");
    assert_eq!(answer("inheritance"), "fails", "this kernel's driver ignores the flag");
    assert_eq!(answer("kinds of line that -v prints"), "holds");
    assert_eq!(answer("meetR"), "cannot tell", "it is emulated");
    // The phone's own record is kept beside it.
    let output = unjank().args(["runs", "list", "--json", "--store"]).arg(&store).output().unwrap();
    let kept: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let commands: Vec<&Value> = kept.iter().map(|run| &run["command"]).collect();
    assert_eq!(commands, ["reproduce binder"; 2], "{kept:?}");
}
