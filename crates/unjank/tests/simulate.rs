//! `unjank launch simulate` on the command line.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::fs;

use assert_cmd::Command;
use serde_json::Value;

fn simulate(arguments: &[&str]) -> Value {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["launch", "simulate", "--no-store", "--json"]).args(arguments);
    serde_json::from_slice(&command.assert().code(0).get_output().stdout).unwrap()
}

fn fails(arguments: &[&str]) -> String {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["launch", "simulate", "--no-store"]).args(arguments);
    String::from_utf8(command.assert().code(2).get_output().stderr.clone()).unwrap()
}

fn fact(record: &Value, name: &str, label: (&str, &str)) -> f64 {
    let facts = record["facts"].as_array().unwrap();
    let found = facts.iter().find(|fact| {
        fact["name"] == format!("launch/simulate/{name}").as_str()
            && fact["labels"][label.0] == label.1
    });
    found.unwrap_or_else(|| panic!("no {name} of {label:?}"))["value"].as_f64().unwrap()
}

#[test]
fn boosts_are_compared_and_everything_is_labelled_modelled() {
    let record = simulate(&["--work", "500ms", "--phases", "20"]);
    assert_eq!(record["labels"], serde_json::json!(["modelled"]));
    assert_eq!(record["settings"]["sampling_rate"], 100_000);
    let boosts = ["none", "plain", "double-tap", "min-freq", "performance"];
    for boost in boosts {
        assert!(fact(&record, "mean_launch", ("boost", boost)) > 0.499e9, "{boost}");
    }
    let gain = |boost| fact(&record, "share_of_gain", ("boost", boost));
    assert!(gain("plain") < gain("double-tap") && gain("double-tap") < gain("min-freq"));
    let again = simulate(&["--work", "500ms", "--phases", "20"]);
    let launches = |record: &Value| fact(record, "mean_launch", ("boost", "none")).to_bits();
    assert_eq!(launches(&record), launches(&again), "the same input, the same output");
}

#[test]
fn the_model_gives_the_papers_values() {
    let record = simulate(&["--paper"]);
    let verdicts = record["verdicts"].as_array().unwrap();
    let answers: Vec<_> = verdicts.iter().map(|verdict| &verdict["answer"]).collect();
    assert_eq!(answers, ["yes", "yes"], "{verdicts:#?}");
    let ours = fact(&record, "paper/fig3/basic_change", ("governor", "ondemand:3.0"));
    let theirs = fact(&record, "paper/fig3/basic_change_in_paper", ("load", "any"));
    assert!((ours - theirs).abs() < 0.005, "{ours} {theirs}");
}

#[test]
fn a_sweep_has_a_pareto_front() {
    let page = tempfile::tempdir().unwrap();
    let html = page.path().join("sweep.html");
    let record = simulate(&[
        "--sweep",
        "sampling_rate=20ms..200ms/4",
        "--sweep",
        "up_threshold=60..95/3",
        "--phases",
        "10",
        "--html",
        html.to_str().unwrap(),
    ]);
    let curve = &record["curves"][0];
    assert_eq!(curve["name"], "launch/simulate/pareto");
    assert!(!curve["points"].as_array().unwrap().is_empty());
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("energy of the CPUs for each launch (modelled)"));
}

#[test]
fn files_of_both_forms_are_read_and_warn_of_ignored_parts() {
    let directory = tempfile::tempdir().unwrap();
    let toml = directory.path().join("mine.toml");
    fs::write(&toml, "name = \"mine\"\n[[task]]\nname = \"a\"\nsteps = [\"run 50ms\"]\n").unwrap();
    let json = directory.path().join("rt.json");
    let rt_app = r#"{"tasks": {"t": {"loop": 2, "run": 20000, "lock": "m", "sleep": 1000}}}"#;
    fs::write(&json, rt_app).unwrap();
    let paths = [toml.to_str().unwrap(), json.to_str().unwrap()];
    let record = simulate(&[paths[0], paths[1], "burst", "--governor", "schedutil"]);
    let profiles: Vec<_> = record["series"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|series| series["labels"]["boost"] == "uclamp")
        .map(|series| series["labels"]["profile"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(profiles, ["mine", paths[1], "burst"]);
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("\\\"lock\\\" is ignored"), "{warnings}");
}

#[test]
fn mistakes_are_reported_with_the_valid_values() {
    assert!(fails(&["nothing"]).contains("unknown profile nothing; expected burst, bursts"));
    assert!(fails(&["--governor", "fast"]).contains("unknown governor \"fast\""));
    assert!(fails(&["--set", "up_threshold=200"]).contains("up_threshold cannot be 200"));
    assert!(fails(&["--set", "speed=2"]).contains("unknown tunable \"speed\""));
    assert!(fails(&["--boost", "plain", "--governor", "schedutil"]).contains("no period"));
    assert!(fails(&["--device", "pixel"]).contains("built in: exynos4210"));
    assert!(fails(&["--cpu-count", "65"]).contains("65 CPUs; 1 to 64 are possible"));
    assert!(
        fails(&["--sweep", "up_threshold=95..60"])
            .contains("a range begins with its smaller value")
    );
    let directory = tempfile::tempdir().unwrap();
    let wrong = directory.path().join("wrong.toml");
    fs::write(&wrong, "name = \"x\"\n[[task]]\nname = \"a\"\nsteps = [\"jump 1ms\"]\n").unwrap();
    let stderr = fails(&[wrong.to_str().unwrap()]);
    assert!(stderr.contains("wrong.toml") && stderr.contains("line 4"), "{stderr}");
}
