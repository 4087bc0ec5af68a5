//! `unjank ipc` and `unjank schd-dbg` over the real binder driver, in the
//! virtual phone.
//!
//! Needs the same as `needs_lab.rs`. Times of an emulated phone mean nothing, so
//! they are only compared where they differ by design: calls that wait for the hog
//! or not. The phone counts instructions as time, so a busy machine does not change
//! them. `needs_lab.rs` makes calls on two CPUs that run in parallel.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

#[path = "aosp/keys.rs"]
mod keys;
mod phone;

use std::collections::BTreeSet;

use keys::keys;
use phone::{Ran, compiled, example, in_one_phone, lab};
use serde_json::Value;

const LATENCY: &str = include_str!("aosp/latency.json");
const THROUGHPUT: &str = include_str!("aosp/throughput.json");
const SCHEMA: &str = include_str!("../../../docs/run.schema.json");

/// Becomes the context manager of a device while a command runs.
const MANAGER: &str = include_str!("phone/manager.c");
/// Lists a directory.
const LIST: &str = include_str!("phone/list.c");

/// A probe of one start: a second of an emulated phone takes seconds.
const BRIEF: &str = "--for 200ms --starts 1";

/// The values of `key` in all elements of a list of a record.
fn each<'a>(record: &'a Value, list: &str, key: &str) -> Vec<&'a str> {
    record[list].as_array().unwrap().iter().filter_map(|element| element[key].as_str()).collect()
}

/// The element of a list with this name, and with this label if one is given.
fn named<'a>(record: &'a Value, list: &str, name: &str, label: Option<(&str, &str)>) -> &'a Value {
    let is_it = |element: &&Value| {
        element["name"] == name
            && label.is_none_or(|(label, value)| element["labels"][label] == value)
    };
    let found = record[list].as_array().unwrap().iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {name} {label:?} in {list} of {record:#}"))
}

fn verdict<'a>(record: &'a Value, subject: &str) -> &'a Value {
    let verdicts = record["verdicts"].as_array().unwrap();
    verdicts.iter().find(|verdict| verdict["subject"] == subject).unwrap()
}

/// Powers of two from 4 on.
fn sizes(largest: u64) -> impl Iterator<Item = u64> {
    (2..).map(|power| 1 << power).take_while(move |&size| size <= largest)
}

#[test]
fn throughput_has_aosp_s_sizes_and_more_over_both_devices() {
    if !lab() {
        return;
    }
    let ran = in_one_phone(
        2,
        &[],
        &[
            "unjank ipc throughput --no-store --transport binder --for 5ms --rounds 1",
            "unjank ipc throughput --no-store --transport hwbinder --for 5ms --rounds 1 --largest \
             512KiB --benchmark_format=json",
            "unjank ipc throughput --no-store --transport binder,hwbinder --for 5ms --rounds 2 \
             --largest 8 --benchmark_format=json",
        ],
    );
    let [table, large, rounds] = ran.as_slice() else { panic!("{ran:#?}") };
    assert_eq!([table.code, large.code, rounds.code], [0, 0, 0], "{ran:#?}");
    let rows: Vec<&str> = table
        .stdout
        .lines()
        .filter(|line| line.starts_with("BM_"))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    // AOSP's names of these over /dev/binder and /dev/hwbinder.
    let binder = |size| format!("BM_sendVec_binder/{size}");
    let hwbinder = |size| format!("BM_sendVec_binderize/{size}");
    assert_eq!(rows, sizes(65_536).map(binder).collect::<Vec<_>>());
    assert_eq!(rows.len(), 15);

    let ours = large.json();
    let theirs: Value = serde_json::from_str(THROUGHPUT).unwrap();
    let missing: Vec<_> = keys(&theirs).difference(&keys(&ours)).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let measured = each(&ours, "benchmarks", "name");
    assert_eq!(measured, sizes(512 << 10).map(hwbinder).collect::<Vec<_>>());

    let rounds = rounds.json();
    let measured = each(&rounds, "benchmarks", "name").into_iter().map(str::to_owned);
    let measured: BTreeSet<String> = measured.collect();
    assert_eq!(measured, sizes(8).flat_map(|size| [binder(size), hwbinder(size)]).collect());
    let [large, rounds] = [&ours, &rounds].map(|it| it["benchmarks"].as_array().unwrap());
    assert_eq!(rounds.len(), 2 * 2 * 2, "two rounds of two sizes over two devices");
    for benchmark in large.iter().chain(rounds) {
        assert!(benchmark["iterations"].as_u64().unwrap() > 0, "{benchmark}");
        assert!(benchmark["bytes_per_second"].as_f64().unwrap() > 0.0, "{benchmark}");
    }
}

#[test]
fn latency_reports_inheritance_over_both_devices() {
    if !lab() {
        return;
    }
    let ran = in_one_phone(
        2,
        &[],
        &[
            "unjank ipc latency --transport binder,hwbinder --count 20 --clients 2 --deadline \
             60s --verbose --caller warm,cold --priority 70 --no-store --json",
            "unjank ipc latency --transport binder,hwbinder --count 5 --no-inherit-rt \
             --deadline 1ns --caller warm --no-store --json",
            "unjank ipc latency --transport pi --count 5 --no-store --json",
            "unjank ipc latency --transport binder --count 5 --clients 3 --no-store --json",
        ],
    );
    let [both, not_asked, pi, overloaded] = ran.as_slice() else { panic!("{ran:#?}") };
    assert_eq!(both.code, 0, "{both:#?}");
    let record = both.json();
    assert_eq!(record["settings"]["priority"], 70);
    let tables = record["tables"].as_array().unwrap();
    let threads = tables.iter().find(|table| table["name"] == "ipc/latency/threads").unwrap();
    let rows = threads["rows"].as_array().unwrap();
    for transport in ["binder", "hwbinder"] {
        served_with_nice_only(&record, transport);
        let thread = |pair: &str, role: &str| {
            let place = [transport, pair, role];
            rows.iter().find(|row| (0..3).all(|at| row[at] == place[at])).unwrap()
        };
        assert!(thread("1", "server")[3].as_str().unwrap().parse::<u32>().unwrap() > 0);
        for pair in ["0", "1"] {
            let of = rows.iter().filter(|row| row[0] == transport && row[1] == pair);
            let roles: Vec<&str> = of.map(|row| row[2].as_str().unwrap()).collect();
            let calls = ["fifo-caller", "server", "other-caller", "server"];
            assert_eq!(roles, [&["service", "main", "client"], &calls[..]].concat());
        }
        let caller = thread("0", "fifo-caller");
        assert_eq!((&caller[6], &caller[7]), (&"SCHED_FIFO 70".into(), &"-71".into()));
    }

    assert_eq!(not_asked.code, 0, "{not_asked:#?}");
    let record = not_asked.json();
    for transport in ["binder", "hwbinder"] {
        inheritance(&record, transport, "node_not_opted_in");
        let name = format!("ipc/{transport}/fifo/deadline_missed");
        assert_eq!(named(&record, "facts", &name, None)["value"], 1.0, "nothing takes 1 ns");
    }
    inheritance(&pi.json(), "pi", "inherited");
    assert_eq!(verdict(&pi.json(), "ipc/pi")["answer"], "yes");

    let record = overloaded.json();
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("3 pairs on 2 CPUs: the machine is overloaded"), "{warnings}");
}

/// Checks the record of two pairs with both policies, on a kernel whose binder driver passes
/// on only nice values.
fn served_with_nice_only(record: &Value, transport: &str) {
    for policy in ["fifo", "other"] {
        let name = format!("ipc/{transport}/{policy}/round_trip");
        let series: Vec<&Value> = record["series"].as_array().unwrap().iter().collect();
        let labels: BTreeSet<[&str; 2]> = series
            .iter()
            .filter(|series| series["name"] == name.as_str())
            .map(|series| ["caller", "pair"].map(|label| series["labels"][label].as_str().unwrap()))
            .collect();
        let of_caller = |caller| ["0", "1", "all"].map(|pair| [caller, pair]);
        let expected = ["warm", "cold"].into_iter().flat_map(of_caller);
        assert_eq!(labels, expected.collect(), "{}", record["warnings"]);
        for series in series.iter().filter(|series| series["name"] == name.as_str()) {
            let calls = if series["labels"]["pair"] == "all" { 40 } else { 20 };
            assert_eq!(series["n"], calls);
            let summary = &series["summary"];
            let figures = ["min", "p50", "p90", "p99", "max"].map(|key| summary[key].as_u64());
            assert!(figures.is_sorted() && figures[0] > Some(0), "{summary}");
        }
        for caller in ["warm", "cold"] {
            let of = |what: &str| {
                let name = format!("ipc/{transport}/{policy}/{what}");
                let fact = named(record, "facts", &name, Some(("caller", caller)));
                assert_eq!(fact["n"], 40, "{fact}");
                fact["value"].clone()
            };
            assert!((0.0..=1.0).contains(&of("same_cpu").as_f64().unwrap()));
            assert!((0.0..=1.0).contains(&of("client_moved").as_f64().unwrap()));
            assert_eq!(of("deadline_missed"), 0.0, "nothing takes a minute");
        }
    }
    inheritance(record, transport, "nice_only");
    let share = |what: &str| {
        named(record, "facts", &format!("ipc/{transport}/inherited/{what}"), None)["value"].clone()
    };
    assert_eq!((share("real_time"), share("nice")), (0.0.into(), 1.0.into()));
}

fn inheritance(record: &Value, transport: &str, answer: &str) {
    let verdict = verdict(record, &format!("ipc/{transport}"));
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.starts_with(&format!("inheritance: {answer}, ")), "{verdict}");
}

#[test]
fn schd_dbg_is_aosp_s() {
    if !lab() {
        return;
    }
    let ran = in_one_phone(
        2,
        &[],
        &[
            "unjank schd-dbg -i 50 -pair 2 -deadline_us 2500 -v --no-store",
            "unjank schd-dbg -i 50 -pair 2 -deadline_us 2500 -v -transport hwbinder --no-store",
        ],
    );
    let theirs: Value = serde_json::from_str(LATENCY).unwrap();
    for (ran, transport) in ran.iter().zip(["binder", "hwbinder"]) {
        let ours = ran.json();
        assert_eq!(keys(&ours), keys(&theirs), "{ran:#?}");
        assert_eq!((&ours["inheritance"], ran.code), (&"UNSUPPORTED".into(), 3));
        assert_eq!(ours["P1"]["I"], 100);
        assert!(ran.stderr.contains("inheritance: nice_only, "), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("{transport} P1 server: pid ")), "{}", ran.stderr);
    }
}

#[test]
fn a_missed_deadline_ends_a_traced_run_and_leaves_no_trace_instance() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let list = compiled(directory.path(), "list", LIST);
    // One CPU: when a kernel begins to trace, it changes its own code, which can
    // crash it on several CPUs that QEMU translates in parallel.
    let ran = in_one_phone(
        1,
        &[list],
        &[
            "unjank schd-dbg -trace -deadline_us 1 -i 1000 --no-store",
            "unjank ipc latency --transport hwbinder --count 5 --deadline 1ns --trace --trace-file \
             late.txt --no-store --json",
            "list /root",
            "list /sys/kernel/tracing/instances",
        ],
    );
    let [schd_dbg, latency, files, instances] = ran.as_slice() else { panic!("{ran:#?}") };
    let ours = schd_dbg.json();
    assert_eq!(schd_dbg.code, 5, "{schd_dbg:#?}");
    // The first call of all, at real-time priority, takes longer than 1 µs.
    assert_eq!(ours["P0"]["I"], 1);
    assert_eq!(ours["P0"]["fifo_ms"]["miss"], 1);
    let stderr = &schd_dbg.stderr;
    assert!(stderr.contains("cause of the missed deadline: "), "{stderr}");
    assert!(stderr.contains("stopped at the first missed deadline"), "{stderr}");

    let record = latency.json();
    let warnings = record["warnings"].to_string();
    let stopped = "stopped at the first missed deadline: call 0 of pair 0 over hwbinder";
    assert!(warnings.contains(stopped), "{warnings}");
    assert!(record["outliers"][0]["cause"].is_string(), "{}", record["outliers"]);

    let files: Vec<&str> = files.stdout.lines().collect();
    assert!(["unjank-trace.txt", "late.txt"].iter().all(|file| files.contains(file)), "{files:?}");
    assert_eq!((instances.stdout.as_str(), instances.code), ("", 0));
}

#[test]
fn inversion_and_checkup_measure_both_devices() {
    if !lab() {
        return;
    }
    let ran = in_one_phone(
        2,
        &[],
        &[
            "unjank ipc inversion --count 15 --transport unix,binder,hwbinder,pi --json --no-store",
            "unjank checkup --quick --only ipc --json --no-store",
        ],
    );
    let [inversion, checkup] = ran.as_slice() else { panic!("{ran:#?}") };
    assert_eq!(inversion.code, 0, "{inversion:#?}");
    let record = inversion.json();
    let all = ["unix", "binder", "hwbinder", "pi"];
    assert_eq!(
        each(&record, "verdicts", "subject"),
        all.map(|transport| format!("ipc/{transport}"))
    );
    let beside_hog = |transport: &str| {
        let name = format!("ipc/{transport}/inversion/round_trip");
        let series = named(&record, "series", &name, Some(("load", "hog")));
        assert_eq!(series["n"], record["settings"]["count"]);
        series["summary"]["p50"].as_u64().unwrap()
    };
    // The hog takes four fifths of the CPU time, and precedes servers that inherit no
    // priority.
    for transport in ["unix", "binder", "hwbinder"] {
        let answer = &verdict(&record, &format!("ipc/{transport}"))["answer"];
        assert_eq!(answer, "no", "{transport}");
        assert!(beside_hog("pi") < beside_hog(transport), "{transport}");
    }
    assert_ne!(verdict(&record, "ipc/pi")["answer"], "no");

    assert_eq!(checkup.code, 0, "{checkup:#?}");
    let record = checkup.json();
    for transport in ["binder", "hwbinder"] {
        for placement in ["one-cpu", "two-cpus"] {
            let name = format!("ipc/{transport}/round_trip");
            let series = named(&record, "series", &name, Some(("placement", placement)));
            assert!(series["n"].as_u64().unwrap() > 0, "{series}");
        }
    }
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    for record in ran.iter().map(Ran::json) {
        let errors: Vec<_> = schema.iter_errors(&record).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn another_context_manager_is_pinged_and_not_replaced() {
    if !lab() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let manager = compiled(directory.path(), "manager", MANAGER);
    let ran = in_one_phone(
        2,
        &[manager],
        &[
            &format!(
                "manager /dev/binder unjank ipc probe {BRIEF} --transport binder --json --no-store"
            ),
            "manager /dev/hwbinder unjank ipc latency --transport hwbinder --no-store --json",
            "manager /dev/binder unjank schd-dbg --no-store",
            "manager /dev/binder unjank ipc throughput --transport binder,unix --largest 8 \
             --rounds 1 --for 20ms --no-store",
            "manager /dev/binder unjank ipc inversion --quick --transport binder --no-store",
            &format!("unjank ipc probe {BRIEF} --transport binder,hwbinder --json --no-store"),
        ],
    );
    let [probe, latency, schd_dbg, throughput, inversion, after] = ran.as_slice() else {
        panic!("{ran:#?}")
    };
    let record = probe.json();
    let pings = named(&record, "series", "ipc/binder/round_trip", Some(("call", "ping")));
    assert!(pings["n"].as_u64().unwrap() > 0, "{pings}");
    assert_eq!((&pings["labels"]["payload"], probe.code), (&"0".into(), 0));

    let record = latency.json();
    assert_eq!((latency.code, &record["series"]), (3, &serde_json::json!([])));
    let [missing] = record["unsupported"].as_array().unwrap().as_slice() else {
        panic!("{record}")
    };
    assert_eq!(missing["what"], "ipc/hwbinder");
    let reason = missing["reason"].as_str().unwrap();
    assert!(reason.contains("already has a context manager"), "{reason}");

    assert_eq!((&schd_dbg.json()["inheritance"], schd_dbg.code), (&"UNSUPPORTED".into(), 3));
    assert!(schd_dbg.stderr.contains("already has a context manager"), "{}", schd_dbg.stderr);

    assert_eq!(throughput.code, 0, "{throughput:#?}");
    assert!(throughput.stdout.contains("BM_sendVec_unix/8 "), "{}", throughput.stdout);
    assert!(throughput.stdout.contains("ipc/binder: n/a (the device already has a context"));
    assert_eq!(inversion.code, 3, "{inversion:#?}");

    let record = after.json();
    for name in ["ipc/binder/round_trip", "ipc/hwbinder/round_trip"] {
        named(&record, "series", name, Some(("call", "echo")));
    }
}

/// Kills over each device. `peer_death.rs` kills more, but an emulated phone is a thousand times
/// slower.
const KILLS: u64 = 3;

#[test]
fn kills_during_calls_are_reported_and_the_driver_goes_on() {
    if !lab() {
        return;
    }
    let ran = in_one_phone(
        2,
        &[example("peer_death"), example("exercise")],
        &[
            &format!("peer_death /bin/unjank binder,hwbinder {KILLS} 200 100"),
            &format!("unjank ipc probe {BRIEF} --transport binder,hwbinder --json --no-store"),
            "exercise /dev/binder",
            "exercise /dev/hwbinder",
        ],
    );
    let [killed, probe, exercises @ ..] = ran.as_slice() else { panic!("{ran:#?}") };
    assert_eq!(killed.code, 0, "{killed:#?}");
    let record = probe.json();
    for transport in ["binder", "hwbinder"] {
        let start = format!("{transport}: {KILLS} killed: ");
        let line = killed.stdout.lines().find(|line| line.starts_with(&start)).unwrap();
        assert!(line.ends_with("each was reported, and no process was left behind"), "{line}");
        assert!(!line.contains("(0 during calls"), "{line}");
        named(&record, "series", &format!("ipc/{transport}/round_trip"), None);
    }
    for exercise in exercises {
        assert_eq!(exercise.code, 0, "{exercise:#?}");
        assert!(exercise.stdout.ends_with("all passed\n"), "{exercise:#?}");
    }
}
