//! `unjank reproduce`: the papers' claims that any machine can judge or must leave open.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod claimed;

use std::path::Path;
use std::process::{Command, Output};

use claimed::{Claim, claims};
use serde_json::Value;
use unjank_needs::printed::{stderr, stdout};

fn reproduce(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unjank"));
    command.arg("reproduce").args(arguments).arg("--no-store").output().unwrap()
}

fn record(arguments: &[&str], code: i32) -> Value {
    let output = reproduce(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn all_values_of_bahn_and_kim_come_out_except_those_that_depend_on_the_end_of_a_trace() {
    let record = record(&["swap", "--quick"], 0);
    let claims = claims(&record);
    assert_eq!(claims.len(), 20);
    for Claim { source, what, how, answer, .. } in &claims {
        assert!(source.starts_with("Bahn & Kim, "), "{source}");
        assert!(how == "modelled" || what.contains("the least tier"), "{what}");
        // Parity depends on whether pages that are still to be written count; the paper does not
        // say.
        let open = what.ends_with("writes to come counted") && !what.contains("64 MiB");
        assert_eq!(answer, if open { "cannot tell" } else { "holds" }, "{what}");
    }
    assert_eq!(record["verdicts"][0]["subject"], "reproduce/swap");
    assert_eq!(record["verdicts"].as_array().unwrap().len(), 1);
    let bars = record["facts"].as_array().unwrap().iter();
    assert_eq!(bars.filter(|fact| fact["labels"]["part"].is_string()).count(), 8);
}

#[test]
fn locks_say_what_the_machine_lacks() {
    let arguments = ["locks", "--quick", "--rounds", "2", "--trial", "4ms"];
    let claims = claims(&record(&arguments, 0));
    let what: Vec<&str> = claims.iter().map(|claim| &*claim.what).collect();
    assert!(what[0].contains("8 threads") && what[1].contains("32 threads"), "{what:?}");
    assert_eq!([&*claims[0].published, &*claims[1].published], ["up to 4 times", "about 3 times"]);
    assert!(claims.iter().all(|claim| claim.answer == "cannot tell"), "two rounds decide nothing");
    assert!(claims[2].published.starts_with("less (−"), "{claims:?}");
    let idle = claims.iter().filter(|claim| claim.source.ends_with("idle workers"));
    assert!(idle.clone().count() == 3 && idle.clone().all(|claim| claim.ours.is_some()));
    let output = reproduce(&arguments);
    let printed = stdout(&output);
    assert!(printed.contains("idle: operations per second relative to sleep0"), "{printed}");
    assert!(printed.contains("coarse grain 100 µs") && printed.contains("fine grain 100 ns"));
}

#[test]
fn without_ondemand_there_are_predictions() {
    if Path::new("/sys/devices/system/cpu/cpufreq/policy0").exists() {
        return;
    }
    let output = reproduce(&["launch", "--no-phone"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let printed = stdout(&output);
    assert!(printed.contains("unjank reproduce launch [modelled]"), "{printed}");
    assert!(printed.contains("−3.34 %") && printed.contains("16.126 mWh"), "{printed}");

    let record = record(&["launch", "--no-phone"], 3);
    assert_eq!(record["unsupported"][0]["what"], "launch/paper");
    let facts = record["facts"].as_array().unwrap();
    let is = |fact: &&Value| fact["name"] == "launch/paper/fig2/launch_change_predicted";
    assert_eq!(facts.iter().filter(is).count(), 4);
    let claims = claims(&record);
    assert!(claims.iter().all(|claim| claim.answer == "cannot tell"), "{claims:?}");
    assert_eq!(claims.iter().filter(|claim| claim.how == "modelled").count(), 5);
}

#[test]
fn without_a_binder_every_claim_says_so() {
    if Path::new("/dev/binderfs/hwbinder").exists() || Path::new("/dev/hwbinder").exists() {
        return;
    }
    let record = record(&["binder", "--no-phone"], 3);
    let claims = claims(&record);
    assert!(claims.len() > 15, "{claims:?}");
    assert!(claims.iter().all(|claim| claim.answer == "cannot tell" && claim.how.is_empty()));
    assert!(claims.iter().any(|claim| claim.published == "PASS"), "{claims:?}");
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let wrong = |arguments: &[&str]| reproduce(arguments).status.code();
    assert_eq!(wrong(&["launch", "--quick", "--pairs", "3"]), Some(2));
    assert_eq!(wrong(&["launch", "--load", "fast"]), Some(2));
    assert_eq!(wrong(&["swap", "--quick", "--seeds", "3"]), Some(2));
    assert_eq!(wrong(&["binder", "--quick", "--count", "3"]), Some(2));
    assert_eq!(wrong(&["rt", "--quick", "--count", "300"]), Some(2));
    assert_eq!(wrong(&["--quick", "swap"]), Some(2), "options of all are not those of one");
}
