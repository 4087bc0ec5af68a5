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
    let causes = ["jitter", "native", "--for", "300ms", "--repetitions", "2", "--trace"];
    assert!(check(&causes).contains("fifo"));
    check(&["jitter", "bench", "--pairs", "6", "--trial", "50ms"]);
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("trace.parquet").display().to_string();
    check(&["swap", "record", "--for", "300ms", "--out", &trace]);
    check(&["launch", "verify", "burst"]);
    let why = check(&["why", "--", "sh", "-c", "ls / | cat"]);
    assert!(why.contains("The critical path") && why.contains("Where the time went"), "{why}");
    let several = check(&["why", "-n", "2", "--gap", "0", "--", "true"]);
    assert!(several.contains("The same over 2 launches"), "{several}");
    let checkup = ["checkup", "--quick", "--only", "jitter", "--launch", "sh -c 'ls / | cat'"];
    // Lines are wrapped anywhere.
    let checkup = check(&checkup).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(checkup.contains("Did waits for a CPU delay the launch?"), "{checkup}");
    assert!(checkup.contains("the machine itself: "), "{checkup}");
}
