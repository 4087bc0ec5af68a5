//! `runs show` prints what the command printed, for the measuring commands that need root.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod shown;
mod watch_service;

use std::os::unix::fs::chown;
use std::process::Command;

use shown::{check, check_by};
use watch_service::{Killed, Pair, Service, stall};

const NOBODY: u32 = 65534;

#[test]
fn runs_that_need_root_are_shown_again() {
    if !unjank_needs::root() {
        return;
    }
    check(&["ipc", "inversion", "--count", "20", "--transport", "unix"]);
    let causes = ["jitter", "native", "--for", "300ms", "--starts", "2", "--trace"];
    assert!(check(&causes).contains("fifo"));
    let cyclictest = Command::new("cyclictest").arg("--help").output().is_ok();
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
    let paper = ["reproduce", "swap", "--quick", "--measured", "--phone", "9-1gib"];
    let paper = check(&[&paper[..], &["--scale", "0.02", "--runs", "1"]].concat());
    assert!(paper.contains("real memory"), "{paper}");
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
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep");
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

#[test]
fn an_incident_is_shown_again() {
    let Some(service) = Service::start(&[]) else { return };
    stall(&mut Pair::new());
    let found = service.mark();
    assert!(found.contains(" has the details"), "{found}");
    let store = service.path("watch.sqlite");
    let unjank = Command::new(unjank_needs::unjank!());
    let shown = check_by(unjank, &store, &["incidents", "show", "last"]);
    assert!(shown.contains("The incident"), "{shown}");
    let again = check(&["why", "--last", "--incident-store", store.to_str().unwrap()]);
    assert!(again.contains("What is explained"), "{again}");
}

#[test]
fn launches_and_threads_that_are_not_recorded_are_shown_again() {
    if !unjank_needs::root() {
        return;
    }
    // The build directory need not be open to others.
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let program = directory.path().join("unjank");
    unjank_needs::copy_program(unjank_needs::unjank!(), &program);
    chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let sleeper = Killed(Command::new("sleep").arg("60").spawn().unwrap());
    let process = sleeper.0.id().to_string();
    let window = ["why", "--pid", &process, "--for", "200ms"];
    for (number, arguments) in [&["why", "--", "true"][..], &window].into_iter().enumerate() {
        let mut as_nobody = Command::new("setpriv");
        as_nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        as_nobody.args(["--inh-caps=-all", "--bounding-set=-all"]).arg(&program);
        as_nobody.env_remove("HOME").env_remove("XDG_CACHE_HOME");
        let store = directory.path().join(format!("{number}.sqlite"));
        let counted = check_by(as_nobody, &store, arguments);
        assert!(counted.contains("What is known without a recording"), "{counted}");
    }
}
