//! `runs show` prints what the command printed, for the measuring commands that need root.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

mod shown;

use shown::check;

#[test]
fn runs_that_need_root_are_shown_again() {
    if !unjank_needs::root() {
        return;
    }
    check(&["ipc", "inversion", "--count", "20", "--transport", "unix"]);
    let causes = ["jitter", "native", "--for", "300ms", "--starts", "2", "--trace"];
    assert!(check(&causes).contains("fifo"));
    let cyclictest = std::process::Command::new("cyclictest").arg("--help").output().is_ok();
    if unjank_needs::is_there("cyclictest", cyclictest) {
        check(&["jitter", "bench", "--pairs", "6", "--trial", "50ms"]);
    }
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("trace.parquet").display().to_string();
    check(&["swap", "record", "--for", "300ms", "--out", &trace]);
    let turn = unjank_needs::turns::swap();
    let zram = std::path::Path::new("/sys/class/zram-control/hot_add").exists();
    if unjank_needs::is_there("zram", zram) {
        check(&["swap", "tune", "--sample-size", "1MiB"]);
    }
    let bench = ["swap", "bench", "--scale", "0.02", "--pinned", "0", "--memory", "64MiB"];
    check(&[&bench[..], &["--arm", "swap,no-swap", "--runs", "1"]].concat());
    drop(turn);
    check(&["launch", "verify", "burst"]);
    let why = check(&["why", "--", "sh", "-c", "ls / | cat"]);
    assert!(why.contains("The critical path") && why.contains("Where the time went"), "{why}");
    let several = check(&["why", "-n", "2", "--gap", "0", "--", "true"]);
    assert!(several.contains("The same over 2 launches"), "{several}");
    check(&["why", "-n", "6", "--gap", "0", "--cost", "--", "true"]);
    let turn = unjank_needs::turns::autogroups();
    check(&["why", "--prove=cpu", "-n", "2", "--pairs", "2", "--gap", "0", "--", "true"]);
    drop(turn);
    let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
    let process = sleeper.id().to_string();
    let window = check(&["why", "--pid", &process, "--for", "300ms"]);
    assert!(window.contains("Where the time went"), "{window}");
    sleeper.kill().and_then(|()| sleeper.wait()).expect("sleep ends");
    let checkup = ["checkup", "--quick", "--only", "jitter", "--launch", "sh -c 'ls / | cat'"];
    // Lines are wrapped anywhere.
    let checkup = check(&checkup).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(checkup.contains("Did waits for a CPU delay the launch?"), "{checkup}");
    assert!(checkup.contains("the machine itself: "), "{checkup}");
}
