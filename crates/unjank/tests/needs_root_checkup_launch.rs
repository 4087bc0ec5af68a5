//! `unjank checkup --launch` as root: what each delay cost launches of a program.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. Times are
//! compared with lower bounds only (a sleep lasts at least as long as it says), and with the time
//! limit that a checkup promises.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

use std::process::{Command, Output};

use serde_json::Value;
use unjank_needs::attempts::until_ok;

/// The fewest launches whose median has an interval.
const ENOUGH: u64 = 6;

fn unjank(launch: &str) -> Command {
    let mut unjank = Command::new(unjank_needs::unjank!());
    unjank.args(["checkup", "--quick", "--json", "--no-store", "--launch", launch]);
    unjank
}

fn checkup(launch: &str) -> Output {
    unjank(launch).output().unwrap()
}

#[test]
fn each_row_has_its_part_of_the_launches() {
    if !unjank_needs::root() {
        return;
    }
    until_ok(each_row_is_judged);
}

/// Of few launches, the interval of the median is all of them: the ring buffer sometimes lacks the
/// shell's read of one, and then its wait is not known to be for the child's answer.
fn each_row_is_judged() -> Result<(), String> {
    // The shell reads from a child that sleeps before it writes.
    let output = checkup("sh -c 'line=$(sleep 0.2; echo x)'");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["settings"]["ready"], "exit");
    let totals = record["series"].as_array().unwrap();
    let totals = totals.iter().find(|series| series["name"] == "why/total").unwrap();
    let launches = totals["n"].as_u64().unwrap();
    assert!(launches >= 1, "{totals}");
    let verdicts = record["verdicts"].as_array().unwrap();
    for subject in ["launch", "swap", "jitter", "lock", "ipc"] {
        let row = verdicts.iter().find(|verdict| verdict["subject"] == subject).unwrap();
        assert!(row["question"].as_str().unwrap().ends_with("delay the launch?"), "{row:#}");
        assert!(row["reason"].as_str().unwrap().contains("the machine itself: "), "{row:#}");
        if row["answer"] == "not_available" {
            assert_eq!(subject, "launch", "only the clock may be unknown: {row:#}");
            continue;
        }
        let measured = &row["measured"];
        assert_eq!(
            (&measured["unit"], &measured["n"]),
            (&"ns".into(), &launches.into()),
            "{row:#}"
        );
        assert!(row["healthy"]["at_most"].as_f64().unwrap() > 0.0, "{row:#}");
        if subject == "ipc" {
            assert_ne!(row["answer"], "healthy", "{row:#}");
            let answer = if launches >= ENOUGH { "slow" } else { "cannot_tell" };
            if row["answer"] != answer || measured["value"].as_f64().unwrap() < 100e6 {
                return Err(format!("{row:#}"));
            }
        }
    }
    Ok(())
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_to_keep_the_time_limit() {
    if !unjank_needs::root() {
        return;
    }
    until_ok(|| {
        let launch = "sh -c \"trap '' TERM; echo ready; while :; do sleep 0.1; done\"";
        let output = unjank(launch).args(["--ready", "stdout:ready"]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("sh was not ready within ") {
            return Err(stderr.into_owned());
        }
        let record: Value = serde_json::from_slice(&output.stdout).unwrap();
        // The product's own promise, for a machine that lets it run at all.
        if record["elapsed"].as_u64().unwrap() > 15_000_000_000 {
            return Err(format!("it took {} ns", record["elapsed"]));
        }
        let warnings = record["warnings"].as_array().unwrap();
        let killed =
            |warning: &&Value| warning.as_str().unwrap().ends_with(" of SIGTERM, and was killed");
        assert_eq!(warnings.iter().filter(killed).count(), 1, "{warnings:#?}");
        Ok(())
    });
}

#[test]
fn a_program_that_does_not_start_or_is_not_ready_is_named() {
    if !unjank_needs::root() {
        return;
    }
    for (launch, says) in [
        ("/no/such/program", "command not found: /no/such/program"),
        ("sleep 600", "sleep was not ready within "),
    ] {
        let output = checkup(launch);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{launch}");
        assert!(stderr.contains(says), "{stderr}");
    }
}
