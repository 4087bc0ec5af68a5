//! Sessions that end normally.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::error::{Error, ErrorClass};
use crate::journal::failpoint;
use crate::journal::{ChangeKind, JournalStatus};

#[test]
fn a_dropped_guard_puts_its_knob_back_and_the_session_reports_it() {
    let bench = Bench::new(&[("a", "60"), ("b", "0")]);
    let session = bench.open();
    let first = session.change("/sys/a", "10").unwrap();
    let second = session.change("/sys/b", "1").unwrap();
    assert_eq!((first.path(), first.before(), first.value()), ("/sys/a", "60", "10".to_owned()));
    assert_eq!((bench.read("a"), bench.read("b")), ("10".to_owned(), "1".to_owned()));
    drop(first);
    assert_eq!((bench.read("a"), bench.read("b")), ("60".to_owned(), "1".to_owned()));
    let reports = session.finish();
    assert_eq!(bench.read("b"), "0");
    drop(second);
    assert_eq!(
        reports[0],
        ChangeReport {
            path: "/sys/a".to_owned(),
            kind: ChangeKind::File,
            before: "60".to_owned(),
            during: "10".to_owned(),
            after: Some("60".to_owned()),
            outcome: RestoreOutcome::PutBack,
        }
    );
    assert_eq!((reports.len(), reports[1].path.as_str()), (2, "/sys/b"));
    assert!(bench.journals().is_empty());
}

#[test]
fn threads_can_share_a_session_and_its_guards() {
    fn shareable<T: Send + Sync>() {}
    shareable::<Session>();
    shareable::<crate::journal::Knob>();
    shareable::<crate::journal::Directory>();
}

#[test]
fn a_nested_batch_that_fails_gives_back_the_outer_values() {
    // Journal, then two steps for the write to the held knob, and two writes
    // of two steps each for the fresh one.
    for refused_step in 0..8 {
        let bench = Bench::new(&[("a", "0"), ("b", "0")]);
        let session = bench.open();
        let outer = session.change("/sys/a", "1").unwrap();
        failpoint::refuse_after(refused_step);
        let batch = session.change_all(&[("/sys/a", "2"), ("/sys/b", "2")]);
        failpoint::disarm();
        assert!(batch.is_err(), "step {refused_step}");
        assert_eq!((bench.read("a"), bench.read("b")), ("1".to_owned(), "0".to_owned()));
        // Nothing is doubtful: another program's value is recognised.
        bench.write("a", "7");
        drop(outer);
        assert_eq!(bench.read("a"), "7", "step {refused_step}");
        let reports = session.finish();
        assert!(!reports.iter().any(|report| report.outcome.is_failure()));
    }
}

#[test]
fn a_dropped_session_is_a_normal_end() {
    let bench = Bench::new(&[("a", "60")]);
    let session = bench.open();
    let knob = session.change("/sys/a", "10").unwrap();
    drop(session);
    assert_eq!(bench.read("a"), "60");
    assert!(message(knob.set("20")).contains("the session has ended"));
    drop(knob);
    assert_eq!(bench.read("a"), "60");
    assert!(bench.journals().is_empty());
}

#[test]
fn a_value_that_another_program_wrote_is_left_alone() {
    let bench = Bench::new(&[("a", "60"), ("b", "60")]);
    let session = bench.open();
    let knobs = session.change_all(&[("/sys/a", "10"), ("/sys/b", "10")]).unwrap();
    bench.write("a", "30");
    bench.write("b", "60");
    drop(knobs);
    let reports = session.finish();
    assert_eq!(outcomes(&reports), [&RestoreOutcome::LeftToOthers, &RestoreOutcome::AlreadyBack]);
    assert_eq!(reports[0].after.as_deref(), Some("30"));
    assert_eq!(bench.read("a"), "30");
}

#[test]
fn one_guard_can_write_many_values() {
    let bench = Bench::new(&[("a", "200")]);
    let session = bench.open();
    let knob = session.change("/sys/a", "1000").unwrap();
    let length = || fs::metadata(&bench.journals()[0]).unwrap().len();
    knob.set("400").unwrap();
    let both_known = length();
    for value in ["1000", "400", "200", "400", "1000"].repeat(3) {
        knob.set(value).unwrap();
        assert_eq!(bench.read("a"), value);
    }
    let with_the_first = length();
    assert!(with_the_first > both_known, "200 was announced once");
    knob.set("200").unwrap();
    assert_eq!(length(), with_the_first, "known values need no journal");
    drop(knob);
    let reports = session.finish();
    assert_eq!((bench.read("a"), reports[0].during.as_str()), ("200".to_owned(), "200"));
}

#[test]
fn a_batch_that_fails_changes_nothing_and_names_what_failed() {
    // Journal, then two writes of two steps each for every knob.
    for refused_step in 0..14 {
        let bench = Bench::new(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let session = bench.open();
        let batch = [("/sys/a", "10"), ("/sys/b", "20"), ("/sys/c", "30")];
        failpoint::refuse_after(refused_step);
        let error = session.change_all(&batch).expect_err("a step was refused");
        failpoint::disarm();
        let failed = match refused_step {
            1..=4 => "/sys/a",
            5..=8 => "/sys/b",
            9..=12 => "/sys/c",
            _ => "/unjank/journal/",
        };
        assert!(error.to_string().contains(failed), "step {refused_step}: {error}");
        assert_eq!(["a", "b", "c"].map(|name| bench.read(name)), ["1", "2", "3"]);
        assert!(!session.finish().iter().any(|report| report.outcome.is_failure()));
        assert!(bench.journals().is_empty());
    }
}

#[test]
fn a_refused_value_keeps_the_former_one() {
    let bench = Bench::new(&[("a", "1")]);
    let session = bench.open();
    let knob = session.change("/sys/a", "2").unwrap();
    // The announcement works, the write does not.
    failpoint::refuse_after(1);
    let error = knob.set("3").unwrap_err();
    assert_eq!(error.class(), ErrorClass::Usage);
    assert!(error.to_string().starts_with("the kernel refuses \"3\" for /sys/a: "), "{error}");
    assert_eq!((bench.read("a"), knob.value()), ("2".to_owned(), "2".to_owned()));
    // The refused write is settled: another program's value is recognised.
    bench.write("a", "7");
    drop(knob);
    assert_eq!(outcomes(&session.finish()), [&RestoreOutcome::LeftToOthers]);
}

#[test]
fn a_value_that_cannot_be_journaled_is_not_written() {
    let bench = Bench::new(&[("a", "1")]);
    let session = bench.open();
    let knob = session.change("/sys/a", "2").unwrap();
    // Journal, two steps of writing, and then the journal again.
    for refused_step in [0, 3] {
        failpoint::refuse_after(refused_step);
        knob.set("3").unwrap_err();
        assert_eq!((bench.read("a"), knob.value()), ("2".to_owned(), "2".to_owned()));
    }
    drop(knob);
    assert_eq!(outcomes(&session.finish()), [&RestoreOutcome::PutBack]);
    assert_eq!(bench.read("a"), "1");
}

#[test]
fn nested_guards_unwind_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let bench = Bench::new(&[("a", "0")]);
        let session = bench.open();
        let guards = ["1", "2", "3"].map(|value| Some(session.change("/sys/a", value).unwrap()));
        let mut guards = guards;
        let befores: Vec<_> =
            guards.iter().flatten().map(|guard| guard.before().to_owned()).collect();
        assert_eq!(befores, ["0", "1", "2"]);
        for (dropped, index) in order.into_iter().enumerate() {
            guards[index] = None;
            let top = guards.iter().flatten().next_back();
            let expected = top.map_or("0".to_owned(), super::super::Knob::value);
            assert_eq!(bench.read("a"), expected, "{order:?}, {dropped}");
        }
        assert_eq!(outcomes(&session.finish()), [&RestoreOutcome::PutBack]);
    }
}

#[test]
fn a_value_set_under_a_later_guard_takes_effect_when_that_is_dropped() {
    let bench = Bench::new(&[("a", "0")]);
    let session = bench.open();
    let lower = session.change("/sys/a", "1").unwrap();
    let upper = session.change("/sys/a", "2").unwrap();
    lower.set("3").unwrap();
    assert_eq!(bench.read("a"), "2");
    drop(upper);
    assert_eq!(bench.read("a"), "3");
    drop(lower);
    assert_eq!(bench.read("a"), "0");
}

#[test]
fn a_choice_is_put_back_by_its_word() {
    let bench = Bench::new(&[("thp", "always [madvise] never")]);
    let session = bench.open();
    let knob = session.change("/sys/thp", "never").unwrap();
    assert_eq!(knob.before(), "madvise");
    bench.write("thp", "always madvise [never]");
    drop(knob);
    assert_eq!(bench.read("thp"), "madvise");
}

#[test]
fn a_directory_exists_as_long_as_its_guard() {
    let bench = Bench::new(&[]);
    let path = bench.dir.path().join("sys/kernel/unjank-1");
    let session = bench.open();
    let made = session.make_directory("/sys/kernel/unjank-1").unwrap();
    assert!(path.is_dir());
    assert_eq!(made.path(), "/sys/kernel/unjank-1");
    made.open().unwrap();
    let error = session.make_directory("/sys/kernel/unjank-1").unwrap_err();
    assert_eq!(error.to_string(), "/sys/kernel/unjank-1 already exists");
    drop(made);
    assert!(!path.exists());
    let reports = session.finish();
    assert_eq!(
        reports[0].to_string(),
        "/sys/kernel/unjank-1: removed again",
        "one report: the failed change was never made"
    );
    assert_eq!(reports.len(), 1);
}

#[test]
fn two_sessions_do_not_hold_the_same_knob() {
    let bench = Bench::new(&[("a", "0"), ("b", "0")]);
    let (first, second) = (bench.open(), bench.open());
    let held = first.change("/sys/a", "1").unwrap();
    let error = second.change_all(&[("/sys/b", "2"), ("/sys/a", "2")]).unwrap_err();
    let pid = std::process::id();
    assert!(matches!(error, Error::Busy(_)));
    assert_eq!(error.to_string(), format!("/sys/a is held by another unjank, process {pid}"));
    assert_eq!(bench.read("b"), "0");
    let other = second.change("/sys/b", "2").unwrap();
    drop(held);
    let taken_over = second.change("/sys/a", "2").unwrap();
    assert_eq!(taken_over.before(), "0");
    drop((other, taken_over, first, second));
    assert_eq!((bench.read("a"), bench.read("b")), ("0".to_owned(), "0".to_owned()));
}

#[test]
fn impossible_changes_are_refused_with_the_right_class() {
    let bench = Bench::new(&[("a", "0"), ("fixed", "0")]);
    let fixed = bench.dir.path().join("sys/fixed");
    fs::set_permissions(fixed, fs::Permissions::from_mode(0o444)).unwrap();
    fs::write(bench.dir.path().join("knob"), "0").unwrap();
    let session = bench.open();
    let class = |path: &str, value: &str| session.change(path, value).unwrap_err().class();
    assert_eq!(class("/sys/nothing", "1"), ErrorClass::Unsupported);
    assert_eq!(class("/sys/fixed", "1"), ErrorClass::Unsupported);
    assert_eq!(class("/sys/kernel", "1"), ErrorClass::Usage);
    assert_eq!(class("/knob", "1"), ErrorClass::Usage);
    assert_eq!(class("/sys/a", "a\0b"), ErrorClass::Usage);
    assert_eq!(class("/sys/a", &"x".repeat(1 << 20)), ErrorClass::Usage);
    let twice = session.change_all(&[("/sys/a", "1"), ("/sys/a", "2")]);
    assert_eq!(message(twice), "/sys/a is given two values");
    assert_eq!(session.change_all(&[("/sys/a", "1"), ("/sys/a", "1")]).unwrap().len(), 1);
    assert_eq!(session.finish().len(), 1);
    assert_eq!(bench.read("a"), "0");
}

#[test]
fn without_a_keeper_there_is_no_session() {
    let bench = Bench::new(&[("a", "0")]);
    let open =
        |command| message(Session::open(&bench.root(), &bench.state_dir(), command).map(drop));
    let missing = open(HelperCommand::new("/nonexistent", [""; 0]));
    assert!(missing.starts_with("cannot start the keeper /nonexistent: "), "{missing}");
    let silent = open(HelperCommand::new("/bin/true", [""; 0]));
    assert!(silent.ends_with("it ended before it was ready"), "{silent}");
    let unhappy = "read order; echo no room left >&0";
    let unhappy = open(HelperCommand::new("/bin/sh", ["-c", unhappy]));
    assert!(unhappy.ends_with("no room left"), "{unhappy}");
    let late = open(HelperCommand::new("/bin/sh", ["-c", "read order; echo up >&0; read watch"]));
    assert!(late.ends_with("it ended before it was ready"), "{late}");
    assert!(bench.journals().is_empty());
}

#[test]
fn a_keeper_that_was_killed_is_replaced_before_the_next_change() {
    let bench = Bench::new(&[("a", "0"), ("b", "0")]);
    let starts = bench.dir.path().join("starts");
    let once = format!(
        "echo x >> {}; read order; echo up >&0; read watch; echo ready >&0",
        starts.display()
    );
    let keeper = HelperCommand::new("/bin/sh", ["-c", &once]);
    let session = Session::open(&bench.root(), &bench.state_dir(), keeper).unwrap();
    // This keeper ends at once; wait for that without looking at a clock.
    while fs::read_to_string(&starts).unwrap().lines().count() < 2 {
        drop(session.change("/sys/a", "1").unwrap());
    }
    assert_eq!(bench.read("a"), "0");
}

#[test]
fn a_state_directory_that_cannot_be_made_is_named() {
    let bench = Bench::new(&[("a", "0")]);
    let file = bench.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let opened = Session::open(&bench.root(), &file.join("journal"), idle_keeper());
    let error = message(opened.map(drop));
    assert!(error.starts_with("cannot make the state directory "), "{error}");
}

#[test]
fn a_session_beside_a_live_one_recovers_nothing() {
    let bench = Bench::new(&[("a", "0")]);
    let first = bench.open();
    let _held = first.change("/sys/a", "1").unwrap();
    assert!(bench.open().recovered().is_empty(), "a live session is not cleared");
    let found = bench.restore();
    assert_eq!((found.len(), &found[0].status), (1, &JournalStatus::Live));
    assert_eq!(bench.read("a"), "1");
}

/// Does what the kernel does in a change of governor: removes the old tunables,
/// and creates the new ones with its defaults.
fn change_governor(bench: &Bench, from: &str, to: &str) {
    let place =
        |governor: &str| bench.root().resolve("/sys/devices/system/cpu/cpufreq").join(governor);
    let _had_none = fs::remove_dir_all(place(from));
    if to == "ondemand" {
        fs::create_dir_all(place(to)).unwrap();
        fs::write(place(to).join("sampling_rate"), "8000\n").unwrap();
        fs::write(place(to).join("up_threshold"), "95\n").unwrap();
    }
}

const GOVERNOR: &str = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";

fn with_ondemand() -> Bench {
    let bench = Bench::new(&[]);
    fs::create_dir_all(bench.root().resolve(GOVERNOR).parent().unwrap()).unwrap();
    fs::write(bench.root().resolve(GOVERNOR), "ondemand\n").unwrap();
    change_governor(&bench, "none", "ondemand");
    bench.write("devices/system/cpu/cpufreq/ondemand/sampling_rate", "100000");
    bench
}

#[test]
fn tunables_come_back_with_their_governor() {
    let bench = with_ondemand();
    let session = bench.open();
    let governor = session.change(GOVERNOR, "performance").unwrap();
    change_governor(&bench, "ondemand", "performance");
    // The kernel creates the tunables between the write of the governor and
    // that of its tunables; here they exist before.
    change_governor(&bench, "performance", "ondemand");
    drop(governor);
    let read = |name| bench.read(&format!("devices/system/cpu/cpufreq/{name}"));
    assert_eq!(read("policy0/scaling_governor"), "ondemand");
    assert_eq!(read("ondemand/sampling_rate"), "100000");
    assert_eq!(read("ondemand/up_threshold"), "95");
    let reports = session.finish();
    assert_eq!(reports.len(), 2, "only changes that had to be put back are reported: {reports:?}");
}

#[test]
fn tunables_come_back_after_a_kill_too() {
    let bench = with_ondemand();
    let session = bench.open();
    let governor = session.change(GOVERNOR, "performance").unwrap();
    change_governor(&bench, "ondemand", "performance");
    change_governor(&bench, "performance", "ondemand");
    failpoint::kill_after(0);
    drop((governor, session));
    assert!(failpoint::disarm());
    bench.restore();
    let read = |name| bench.read(&format!("devices/system/cpu/cpufreq/{name}"));
    assert_eq!(
        (read("policy0/scaling_governor"), read("ondemand/sampling_rate")),
        ("ondemand".to_owned(), "100000".to_owned())
    );
}

#[test]
fn tunables_that_another_policy_still_uses_are_left_alone() {
    let bench = with_ondemand();
    let session = bench.open();
    // Another policy keeps ondemand, and with it the tunables that both share.
    let other = bench.root().resolve("/sys/devices/system/cpu/cpufreq/policy4");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("scaling_governor"), "ondemand\n").unwrap();
    let governor = session.change(GOVERNOR, "performance").unwrap();
    bench.write("devices/system/cpu/cpufreq/ondemand/sampling_rate", "20000");
    drop(governor);
    assert_eq!(bench.read("devices/system/cpu/cpufreq/ondemand/sampling_rate"), "20000");
}
