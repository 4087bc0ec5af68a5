//! `lock doctor` on a program of the same user. These tests pass as root, too,
//! although the doctor sees more then.

mod victim;

use unjank_host::{Nanos, Root};
use unjank_lock::doctor::{self, DiagnosisKind, Examined, Options};
use unjank_measure::{Answer, Silent};

use victim::{Victim, kinds, look_at};

#[test]
fn a_spinning_thread_is_diagnosed_and_a_sleeping_one_is_not() {
    let victim = Victim::start("spin");
    let missing = |it: &Examined| {
        let missing = it.findings.unsupported.iter().find(|it| it.what.starts_with("where busy"));
        missing.map(|it| it.reason.clone())
    };
    let spins = |it: &Examined| kinds(it, "spins") == [[DiagnosisKind::Spins]];
    let examined = look_at(victim.id(), false, |it| missing(it).is_some() || spins(it));
    if let Some(reason) = missing(&examined) {
        return unjank_needs::skip(reason);
    }
    assert_eq!(examined.reports[0].observed.name, "spins", "the worst is first");
    assert_eq!(examined.findings.verdicts[0].answer, Answer::No);
    assert!(kinds(&examined, "waits").iter().flatten().all(|kind| *kind == DiagnosisKind::Fine));
}

#[test]
fn what_cannot_be_watched_is_an_error() {
    let watch = |process, millis| {
        let options = Options { process, tree: true, duration: Nanos::from_millis(millis), top: 1 };
        doctor::run(&options, &Root::system(), 7, &Silent).unwrap_err().to_string()
    };
    // Numbers of processes end at 2^22: `proc_sys_kernel(5)`.
    assert_eq!(watch(1 << 23, 1_000), "no such process: 8388608");
    let short = watch(std::process::id(), 499);
    assert_eq!(short, "a watch of 499 ms is too short; watch for at least 500 ms");
}
