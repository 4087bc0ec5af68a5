//! `unjank swap convert` on the command line.

mod asserted;

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use asserted::{fails, stdout};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../swap/fixtures").join(name)
}

fn convert() -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["swap", "convert"]);
    command
}

#[test]
fn the_summary_reports_events_and_skipped_lines() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("game.parquet");
    let text = stdout(convert().arg(fixture("mobile.csv")).arg(&table));
    let expected = format!(
        "{}: mobile, 5 events\n  \
         skipped 1: the names of the columns, first at line 1\n  \
         skipped 1: the mark preconditioning_ended, first at line 3\n  \
         skipped 1: a request of no bytes, first at line 5\n\
         5 events over 500 ms: 2 processes, 1 devices and files\n\
         3 read, 2 write\n\
         {}: 5 events written\n",
        fixture("mobile.csv").display(),
        table.display()
    );
    assert_eq!(text, expected);
    let json = dir.path().join("game.oracleGeneral");
    let summary = stdout(convert().arg("--json").arg(&table).arg(&json));
    let summary: Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["events"], 5);
    assert_eq!(summary["span_ns"], 500_001_000);
    assert_eq!(summary["operations"]["write"], 2);
    assert_eq!(summary["inputs"][0]["format"], "parquet");
    assert_eq!(summary["inputs"][0]["skipped"], serde_json::json!([]));
    assert_eq!(fs::metadata(json).unwrap().len(), 5 * 24);
}

#[test]
fn stdin_and_stdout_work_like_files() {
    let trace = fs::read(fixture("ariadne-swapin.txt")).unwrap();
    let mut command = convert();
    command.args(["-", "-", "--to", "csv", "--format", "ariadne"]).write_stdin(trace);
    let output = command.assert().code(0).get_output().clone();
    let expected = "time_ns,process,pid,space,page,operation,backing,cgroup,launch_id,command_pid\n\
                    0,10123,,swap,2,page-in,anonymous,,,\n\
                    0,10123,,swap,1,page-in,anonymous,,,\n\
                    0,10130,,swap,512,page-in,anonymous,,,\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(
        talk.starts_with("stdin: ariadne, 3 events\n3 events over 0 ns: 2 processes"),
        "{talk}"
    );
}

#[test]
fn requests_to_a_swap_device_are_page_ins_and_page_outs() {
    let mut command = convert();
    command.arg(fixture("blkparse-names.txt")).args(["-", "--to", "csv", "--swap-device", "8,16"]);
    let csv = stdout(&mut command);
    assert!(csv.contains("0,game thread,4162,\"8,16\",256,page-in,anonymous,,,\n"), "{csv}");
    assert!(csv.contains(",kswapd0,71,\"8,16\",513,page-out,anonymous,,,\n"), "{csv}");
}

#[test]
fn an_output_is_replaced_only_with_force() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there.csv");
    fs::write(&there, "page\n1\n").unwrap();
    let error = fails(convert().arg(fixture("spc.csv")).arg(&there), 2);
    assert!(error.ends_with("there.csv already exists; --replace allows it\n"), "{error}");
    assert_eq!(fs::read(&there).unwrap(), b"page\n1\n");
    stdout(convert().arg("--replace").arg(fixture("spc.csv")).arg(&there));
    assert!(fs::read(&there).unwrap().starts_with(b"time_ns,"));
    let error = fails(convert().arg("--replace").arg(&there).arg(&there), 2);
    assert!(error.contains("is an input; the output would replace it"), "{error}");
}

#[test]
fn wrong_options_are_rejected_before_anything_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.xyz");
    let error = fails(convert().arg(fixture("spc.csv")).arg(&out), 2);
    assert!(error.contains("end the name in .parquet, .csv or .oracleGeneral, or use"), "{error}");
    let error = fails(convert().arg("-").arg("-").arg(dir.path().join("o.csv")), 2);
    assert!(error.contains("stdin can be read only once"), "{error}");
    let error = fails(convert().args(["-", "-", "--to", "oracleGeneral"]), 2);
    assert!(error.contains("write it to a file"), "{error}");
    let error = fails(convert().args(["--format", "lcs", "-", "x.csv"]), 2);
    assert!(error.contains("unknown format \"lcs\"; expected one of ariadne, blkparse"), "{error}");
}

#[test]
fn a_malformed_trace_is_an_error_with_its_line_and_leaves_no_output() {
    let dir = tempfile::tempdir().unwrap();
    let (bad, out) = (dir.path().join("bad.csv"), dir.path().join("out.parquet"));
    fs::write(&bad, "time_ns,page\n1,2\n2,many\n3,4\n").unwrap();
    let error = fails(convert().args(["--format", "csv"]).arg(&bad).arg(&out), 1);
    let expected = format!(
        "error: cannot parse {}, line 3: the page is not a number: “2,many”\n",
        bad.display()
    );
    assert_eq!(error, expected);
    assert!(!out.exists());
    let mut command = convert();
    let text = stdout(command.args(["--format", "csv", "--skip-bad"]).arg(&bad).arg(&out));
    assert!(text.contains("skipped 1: the page is not a number, first at line 3\n"), "{text}");
    let missing = dir.path().join("missing");
    let error = fails(convert().arg(&missing).arg(dir.path().join("x.csv")), 2);
    assert!(error.contains("cannot read ") && error.contains("missing: No such file"), "{error}");
}
