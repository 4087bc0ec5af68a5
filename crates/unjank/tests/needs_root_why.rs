//! `unjank why` explains programs whose parts are known.
//!
//! Fails without root when `UNJANK_TEST_ALL=1`, otherwise says that it was skipped. The tests do
//! not expect the times of a quiet machine: a sleep lasts at least as long as it says, even on a
//! busy machine, and the programs in `known` time their own parts.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod known;

use std::ffi::OsStr;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use known::explained::{cells, of, record, rows};
use known::{Cells, Known};
use serde_json::Value;
use unjank_host::cgroup::cpu::{CpuGroup, Quota};
use unjank_host::journal::Session;
use unjank_host::process::HelperCommand;
use unjank_host::{Nanos, Root, Support};
use unjank_needs::attempts::until_ok;

/// A launch of which at most 2 % are unknown, its nanoseconds by way and activity, and the whole.
fn split(options: &[&str], command: &[impl AsRef<OsStr>]) -> (Value, Cells, u64) {
    until_ok(|| {
        let record = record(options, command);
        let (cells, total) = cells(&record)?;
        Ok((record, cells, total))
    })
}

const MILLISECOND: u64 = 1_000_000;

#[test]
fn a_sleep_is_a_timer_of_the_thread_itself() {
    if !unjank_needs::root() {
        return;
    }
    until_ok(|| {
        let (cells, total) = cells(&record(&[], &["sleep", "0.3"]))?;
        assert!(total >= 300 * MILLISECOND);
        let is_explained = of(&cells, "own", "timer") >= 299 * MILLISECOND;
        is_explained.then_some(()).ok_or_else(|| format!("{cells:?}"))
    });
}

#[test]
fn the_sleep_of_a_child_is_a_timer_of_the_child() {
    if !unjank_needs::root() {
        return;
    }
    // The shell waits for `cat`, which waits for the end of `sleep`: it writes nothing.
    let (_, cells, _) = split(&[], &["sh", "-c", "sleep 0.6 | cat; true"]);
    let asleep = of(&cells, "child", "timer");
    assert!(asleep >= 100 * MILLISECOND, "{cells:?}");
    assert_eq!(of(&cells, "own", "timer"), 0, "{cells:?}");
}

#[test]
fn a_wait_for_a_cpu_names_who_had_it() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    // On a busy machine, others may have its CPU meanwhile.
    until_ok(|| {
        let (hog, _, _) = split(&[], &known.command("hog", &[]));
        let of_row = |row: &Value| row[0].as_str().unwrap().to_owned();
        let who: Vec<String> = rows(&hog, "why/run_queue").map(of_row).collect();
        if who.iter().any(|name| name == "known-hog") { Ok(()) } else { Err(format!("{who:?}")) }
    });
    // That hog belongs to the program itself. Here, other programs compete for the CPUs.
    let _load = known.load();
    let record = record(&[], &known.command("compute", &[]));
    let then = rows(&record, "why/what_if").find(|row| row[0] == "first in the run queue").unwrap();
    assert!(then[2]["value"].as_f64().unwrap() < -0.02, "{then}");
}

#[test]
fn the_quota_of_its_control_group_is_named() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let (root, place) = (Root::system(), tempfile::tempdir().unwrap());
    let keeper =
        HelperCommand::new(unjank_needs::unjank!(), ["keeper".as_ref(), place.path().as_os_str()]);
    let session = Session::open(&root, place.path(), keeper).unwrap();
    // Less than its share of the CPUs, also beside twenty busy threads.
    let quota = Quota { time: Nanos::from_millis(10), period: Nanos::from_millis(100) };
    let group = match CpuGroup::make(&session, &root, quota).unwrap() {
        Support::Yes(group) => group,
        Support::No(reason) => return unjank_needs::skip(reason),
    };
    let mut why = Command::new(unjank_needs::unjank!());
    why.args(["why", "--no-store", "--json", "--"]).args(known.command("compute", &[]));
    group.enter(&mut why).unwrap();
    let output = why.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("its control group /"), "{warnings}");
    assert!(warnings.contains(" used up its CPU quota and was held back for "), "{warnings}");
    drop(group);
    drop(session);
}

#[test]
fn pages_that_are_not_in_memory_are_page_ins() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let fault = known.command("fault", &[&known.file("pages")]);
    let (record, cells, total) = split(&[], &fault);
    assert!(of(&cells, "own", "page-in") > 0, "{cells:?}");
    let page_ins = rows(&record, "why/storage").find(|row| row[1] == "page-in").unwrap();
    assert!(page_ins[3]["value"].as_f64().unwrap() >= 100.0, "{page_ins}");
    let then =
        rows(&record, "why/what_if").find(|row| row[0] == "everything it reads in memory").unwrap();
    assert!(then[1]["value"].as_f64().unwrap() < total as f64, "{then}");
}

#[test]
fn page_ins_tell_swap_from_a_file_and_name_both() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let from = |record: &Value, source: &str, names: &[String]| {
        let is_one = |name: &Value| names.iter().any(|it| *name == it.as_str());
        let mut rows = rows(record, "why/page_in");
        let row = rows.find(|row| row[0] == source && is_one(&row[1])).cloned();
        let row = row.unwrap_or_else(|| panic!("{source} {names:?}: {}", record["tables"]));
        assert!(row[2].as_str().unwrap().starts_with("fault ("), "{row}");
        row[4]["value"].as_f64().unwrap()
    };
    let file = known.file("pages");
    let of_file = record(&[], &known.command("fault", &[&file]));
    assert!(from(&of_file, "file", std::slice::from_ref(&file)) >= 100.0);
    let longest = rows(&of_file, "why/waits").find(|row| row[2].as_str().unwrap().contains(&file));
    assert!(longest.is_some(), "{of_file}");
    let _swap = known.swap();
    let of_swap = record(&[], &known.command("fault", &["swap"]));
    // The kernel puts pages also into areas that other programs have added.
    let areas = std::fs::read_to_string("/proc/swaps").unwrap();
    let areas: Vec<String> =
        areas.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    assert!(areas.contains(&known.file("swap-area")), "{areas:?}");
    assert!(from(&of_swap, "swap", &areas) > 0.0);
    let saved = |record: &Value| {
        let row = rows(record, "why/what_if").find(|row| row[0] == "enough memory").unwrap();
        row[2]["value"].as_f64()
    };
    assert!(saved(&of_swap).unwrap() < 0.0, "{of_swap}");
    // Without a swap area, it is n/a.
    assert!(saved(&of_file).is_none_or(|saved| saved > -0.02), "{of_file}");
}

#[test]
fn a_timer_names_the_thread_that_armed_it() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    // The ring buffer sometimes lacks a switch or a system call.
    let is_ended_by = |command: &[String], is_expected: fn(&str) -> bool| {
        until_ok(|| {
            let record = record(&[], command);
            let longest = rows(&record, "why/waits").next();
            let by = longest.map_or("", |row| row[3].as_str().unwrap());
            is_expected(by).then_some(()).ok_or_else(|| by.to_owned())
        });
    };
    is_ended_by(&known.command("timer", &[]), |by| {
        by.starts_with("a timer that timer (") && by.ends_with(") armed")
    });
    is_ended_by(&known.command("sleep", &[]), |by| by == "its own timer");
}

#[test]
fn locks_are_handed_over_as_fast_as_the_stored_probe_says() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let store = known.file("runs.sqlite");
    let unjank = |arguments: &[&str], command: &[String]| {
        let mut unjank = Command::new(unjank_needs::unjank!());
        unjank.args(arguments).args(["--json", "--store", &store]);
        let output = unjank.args(command).assert().success();
        serde_json::from_slice::<Value>(&output.get_output().stdout).unwrap()
    };
    let command = [&["--".to_owned()][..], &known.command("lock", &[])].concat();
    // The ring buffer sometimes lacks a switch or a system call: then no lock may be known.
    let note = || {
        until_ok(|| {
            let record = unjank(&["why"], &command);
            let tables = record["tables"].as_array().unwrap();
            let what_if = tables.iter().find(|table| table["name"] == "why/what_if").unwrap();
            let notes = what_if["notes"].as_array().unwrap().iter();
            let notes = notes.filter_map(Value::as_str).filter(|note| note.contains("hand-off"));
            let notes = notes.collect::<Vec<_>>().join("\n");
            if notes.is_empty() { Err(tables[0].to_string()) } else { Ok(notes) }
        })
    };
    let assumed = note();
    assert!(assumed.contains("after unjank lock probe, the measured"), "{assumed}");
    let probe = unjank(&["lock", "probe", "--quick"], &[]);
    let id = probe["id"].as_str().unwrap();
    let measured = note();
    assert!(measured.ends_with(&format!("as lock probe measured in run {id}")), "{measured}");
}

#[test]
fn what_another_change_would_save_is_never_more_than_there_is() {
    if !unjank_needs::root() {
        return;
    }
    let record = record(&["-n", "2", "--gap", "0"], &["sh", "-c", "ls / | sort; ls /usr"]);
    assert_eq!(rows(&record, "why/what_if").count(), 8);
    for row in rows(&record, "why/what_if").filter(|row| row[1] != "n/a") {
        let saved = row[2]["value"].as_f64().unwrap();
        assert!((-1.0..=1e-9).contains(&saved), "{row}");
        assert!(row[2]["interval"].is_null(), "{row}");
        let [least, most] = [3, 4].map(|at| row[at]["value"].as_f64().unwrap());
        assert!(most <= saved && saved <= least, "{row}");
    }
    let reason = record["verdicts"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("Launching sh -c 'ls / | sort; ls /usr' took "), "{reason}");
    let all = rows(&record, "why/launches").last().unwrap();
    let times = [3, 2, 4].map(|at| all[at]["value"].as_f64().unwrap());
    assert!(times.is_sorted() && times[0] > 0.0, "least, median, most: {all}");
}

#[test]
fn the_path_over_time_fills_the_launch_and_its_page_draws_it() {
    if !unjank_needs::root() {
        return;
    }
    // Sixty processes, which are more than there are lanes.
    let loops = "i=0; while [ $i -lt 60 ]; do ls / | cat > /dev/null; i=$((i+1)); done";
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("why.html");
    let (record, _, total) = split(&["--html", page.to_str().unwrap()], &["sh", "-c", loops]);
    let number = |row: &Value, at: usize| row[at]["value"].as_f64().unwrap() as u64;
    let mut end = 0;
    for row in rows(&record, "why/path") {
        assert_eq!(number(row, 0), end, "{row}");
        end += number(row, 1);
    }
    assert_eq!(end, total);
    let pieces = rows(&record, "why/path").count();
    assert!((60..=400).contains(&pieces), "{pieces} rows");
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["The critical path", "class=\"a-computing\"", "Closer: ", "As text: "] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn the_next_commands_can_be_typed() {
    if !unjank_needs::root() {
        return;
    }
    let known = Known::new();
    let words = ["sh", "-c", "exec \"$@\"", "a 'quoted' word"].map(str::to_owned);
    let options = ["--timeout", "2m", "--max-memory", "64MiB"];
    let command = [&words[..], &known.command("compute", &[])].concat();
    let proof = "why --prove=cpu --timeout 120s --max-memory 64MiB --no-store -- ";
    // Other programs compete for its CPU: its waits for them are worth a change.
    let _load = known.load();
    // Where events are lost, no change is proposed.
    let commands = until_ok(|| {
        let record = record(&options, &command);
        let tables = record["tables"].as_array().unwrap();
        let next = tables.iter().find(|table| table["name"] == "why/next");
        let rows = next.ok_or_else(|| record["warnings"].to_string())?["rows"].as_array().unwrap();
        let commands: Vec<String> =
            rows.iter().map(|row| row[1].as_str().unwrap().to_owned()).collect();
        let has_proof = commands.iter().any(|command| command.contains(proof));
        has_proof.then_some(()).ok_or_else(|| format!("{commands:?}"))?;
        Ok(commands)
    });
    for command in commands {
        let words = shlex::split(&command).unwrap();
        let own = words.iter().skip_while(|word| *word != "unjank").skip(1);
        let own: Vec<&String> = own.take_while(|word| *word != "--" && *word != "&&").collect();
        let own: Vec<&String> = own.into_iter().filter(|word| *word != "$!").collect();
        let help = Command::new(unjank_needs::unjank!()).args(own).arg("--help").output();
        assert!(help.unwrap().status.success(), "{command}");
    }
}

#[test]
fn the_beginning_of_a_program_that_does_not_end_is_explained() {
    if !unjank_needs::root() {
        return;
    }
    // The ring buffer sometimes lacks a switch or a system call.
    until_ok(|| {
        let record = record(&["--timeout", "300ms", "-n", "3"], &["sleep", "60"]);
        let warnings = record["warnings"].as_array().unwrap();
        let late = "the program had not ended within 300 ms (--timeout): the recording ended then";
        assert!(warnings.iter().any(|warning| warning == late), "{warnings:?}");
        let reason = record["verdicts"][0]["reason"].as_str().unwrap();
        assert!(reason.starts_with("The first "), "{reason}");
        let (cells, total) = cells(&record)?;
        assert!(total <= 300_000_000, "{cells:?}");
        assert!(of(&cells, "own", "timer") > 0, "{cells:?}");
        Ok(())
    });
}

#[test]
fn a_program_that_is_never_ready_or_not_there_is_said() {
    if !unjank_needs::root() {
        return;
    }
    let fails = |options: &[&str], command: &[&str]| {
        let output = Command::new(unjank_needs::unjank!())
            .args(["why", "--no-store"])
            .args(options)
            .arg("--")
            .args(command)
            .assert()
            .failure();
        String::from_utf8_lossy(&output.get_output().stderr).into_owned()
    };
    assert!(fails(&[], &["/no/such/program"]).contains("command not found: /no/such/program"));
    let late = fails(&["--timeout", "300ms", "--ready", "stdout:never"], &["sleep", "60"]);
    assert!(late.contains("sleep was not ready within 300 ms"), "{late}");
    let over = fails(&["--ready", "stdout:never"], &["sh", "-c", "echo oh >&2; exit 7"]);
    assert!(over.contains("ended before it was ready"), "{over}");
    assert!(over.contains("exit status: 7"), "{over}");
}
