//! `unjank launch paper` in a virtual phone, under its real ondemand governor.
//!
//! Needs QEMU and the phone's kernel (`unjank lab fetch`). Fails without them
//! when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod phone;

use phone::{lab, lab_run_counted, texts};
use serde_json::Value;

const RATE: &str = "/sys/devices/system/cpu/cpufreq/ondemand/sampling_rate";

#[test]
fn the_papers_experiments_are_made_and_the_governor_is_as_before() {
    if !lab() {
        return;
    }
    let output = lab_run_counted()
        .args(["--no-store", "--pstates", "exynos4210", "--cpu-count", "2"])
        .args(["--", "unjank", "host", "--json", "--and", "unjank", "launch", "paper"])
        .args(["--quick", "--load", "0,100ms", "--basic", "200ms", "--json"])
        .args(["--and", "unjank", "host", "--json"])
        .output()
        .unwrap();
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

    let verdicts = record["verdicts"].as_array().unwrap();
    for figure in ["Fig. 2", "Fig. 3", "Table 3"] {
        let asked = format!("Does this machine reproduce {figure} of Jo & Suh");
        let is = |verdict: &&Value| verdict["question"].as_str().unwrap().starts_with(&asked);
        assert_eq!(verdicts.iter().filter(is).count(), 1, "{verdicts:#?}");
    }
}
