//! `unjank launch power` from the outside, on trees that represent machines.

#![expect(clippy::unwrap_used, reason = "the setup of a test may panic")]

mod machine;
mod shown;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use machine::Machine;
use serde_json::Value;
use unjank_needs::printed::{stderr, stdout};
use unjank_needs::wait::until;

const POLICY: &str = "devices/system/cpu/cpufreq/policy0";
const RATE: &str = "devices/system/cpu/cpufreq/ondemand/sampling_rate";

/// Two CPUs with one clock, both busy at 1200 MHz, under `ondemand`.
fn phone() -> Machine {
    let machine = Machine::new(&[]);
    let write = |path: &str, text: &str| {
        let path = machine.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    };
    write("proc/stat", "cpu  0 0 0 0 0\ncpu0 0 0 0 0 0\ncpu1 0 0 0 0 0");
    write("sys/devices/system/cpu/online", "0-1");
    for (file, text) in [
        ("affected_cpus", "0 1"),
        ("scaling_driver", "acpi-cpufreq"),
        ("scaling_governor", "ondemand"),
        ("scaling_cur_freq", "1200000"),
        ("stats/time_in_state", "1200000 7\n200000 0"),
    ] {
        write(&format!("sys/{POLICY}/{file}"), text);
    }
    write(&format!("sys/{RATE}"), "100000");
    machine
}

fn power(machine: &Machine) -> Command {
    let mut command = Command::new(unjank_needs::unjank!());
    command.args(["launch", "power", "--root"]).arg(machine.root());
    command.arg("--state-dir").arg(machine.state_dir()).stdin(Stdio::null());
    command
}

fn run(machine: &Machine, arguments: &[&str]) -> Output {
    power(machine).args(arguments).arg("--no-store").output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(stdout(output)).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

const MODEL: [&str; 4] = ["--meter", "model", "--device", "exynos4210"];

fn facts<'a>(record: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    record["facts"].as_array().unwrap().iter().filter(move |fact| fact["name"] == name)
}

fn warnings(record: &Value) -> String {
    record["warnings"].to_string()
}

/// The text in one line: its words, with one space between them.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_list_has_a_reason_for_every_meter_that_is_not_here() {
    let machine = Machine::new(&[]);
    let output =
        Command::new(unjank_needs::unjank!()).args(["launch", "power", "--list"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for meter in ["rapl", "perf", "hwmon", "battery", "smartpower2", "smartpower3", "csv", "model"]
    {
        let line = stdout(&output).lines().find(|line| line.starts_with(meter));
        let words = line.unwrap().split_whitespace().count();
        assert!(words > 4, "{output:?}");
    }
    let sensor = machine.root().join("sys/class/hwmon/hwmon1");
    fs::create_dir_all(&sensor).unwrap();
    fs::write(sensor.join("name"), "ina226\n").unwrap();
    fs::write(sensor.join("power1_input"), "3000000\n").unwrap();
    let list = json(&power(&machine).args(["--list", "--json"]).output().unwrap());
    let here = |line: &&Value| line["reason"].is_null();
    let here: Vec<&Value> = list.as_array().unwrap().iter().filter(here).collect();
    assert_eq!(here.len(), 1, "{list}");
    assert_eq!(here[0]["about"]["covers"], "ina226 power1");

    fs::remove_dir_all(sensor).unwrap();
    let output = run(&machine, &["--for", "1s"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("there is no meter here (rapl: "), "{output:?}");
}

#[test]
fn the_model_computes_the_power_of_the_device() {
    let output = run(&phone(), &[&MODEL[..], &["--for", "100ms", "--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let record = json(&output);
    assert!(record["labels"].as_array().unwrap().contains(&"modelled".into()), "{record}");
    let value = |name| facts(&record, name).next().unwrap()["value"].as_f64().unwrap();
    // Two busy CPUs of 629 mW, and 952 mW of the rest.
    assert!((value("launch/power/power") - 2.21).abs() < 1e-6, "{record}");
    assert!((value("launch/power/cpu_power") - 1.258).abs() < 1e-6);
    assert!(warnings(&record).contains("every energy is modelled"));
}

#[test]
fn periods_are_compared_and_the_former_one_is_put_back() {
    let machine = phone();
    let options = ["--rates", "50ms,100ms", "--for", "30ms", "--discard", "10ms", "--rounds", "6"];
    let output = run(&machine, &[&MODEL[..], &options, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let record = json(&output);
    let energies: Vec<&Value> = facts(&record, "launch/power/energy").collect();
    assert_eq!(energies.len(), 2);
    for energy in energies {
        assert_eq!((energy["n"].as_u64(), energy["interval"].is_array()), (Some(6), true));
        assert!((energy["value"].as_f64().unwrap() - 2.21 * 0.020).abs() < 1e-6, "{energy}");
    }
    let verdict = &record["verdicts"][0];
    assert_eq!(
        verdict["question"],
        "Does sampling every 50.0 ms take less energy than every 100 ms?"
    );
    let rounds = facts(&record, "launch/power/rounds").next().unwrap();
    assert_eq!(rounds["labels"]["order"].as_str().unwrap().split(" | ").count(), 6);
    let change = &record["changes"][0];
    assert_eq!((&change["before"], &change["after"]), (&"100000".into(), &"100000".into()));
    assert_eq!((machine.read(RATE).as_str(), machine.journals()), ("100000", 0));
}

#[test]
fn the_table_has_the_papers_figures_beside_ours() {
    let options = ["--rates", "10ms,100ms", "--for", "3ms", "--discard", "1ms", "--rounds", "6"];
    let output = run(&phone(), &[&MODEL[..], &options].concat());
    let text = stdout(&output);
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("10.0 ms").ends_with("−0.53 %"), "{text}");
    assert!(line("100 ms *").contains("Wh"), "{text}");
    assert!(line("unjank launch power").contains("[modelled]"), "{text}");
    assert!(flat(text).contains("and no spread"), "{text}");
}

#[test]
fn a_comparison_of_periods_and_an_average_are_shown_again() {
    let machine = phone();
    let [root, state] = [machine.root().clone(), machine.state_dir().clone()]
        .map(|path| path.into_os_string().into_string().unwrap());
    let places = ["launch", "power", "--root", &root, "--state-dir", &state];
    let options = ["--rates", "50ms,100ms", "--for", "30ms", "--discard", "10ms", "--rounds", "6"];
    let text = shown::check(&[&places[..], &MODEL, &options].concat());
    assert!(text.contains("100 ms *"), "{text}");
    shown::check(&[&places[..], &MODEL, &["--for", "100ms"]].concat());
}

#[test]
fn a_governor_without_a_period_is_not_supported() {
    let machine = phone();
    machine.write(&format!("{POLICY}/scaling_governor"), "schedutil");
    let output = run(&machine, &[&MODEL[..], &["--rates", "50ms,100ms"]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(stdout(&output).contains("\"schedutil\", which has no sampling_rate"), "{output:?}");
}

#[test]
fn a_change_by_another_program_ends_it_and_keeps_the_results() {
    for disturb in ["governor", "unplug"] {
        let machine = phone();
        let options = ["--rates", "50ms,100ms", "--for", "50ms", "--discard=10ms", "--rounds=400"];
        let child = power(&machine)
            .args(MODEL)
            .args(options)
            .args(["--json", "--no-store"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("it has begun", || machine.journals() > 0);
        // Some rounds: each writes both rates.
        let mut seen = String::new();
        let mut changes = 0;
        until("some rounds", || {
            let rate = machine.read(RATE);
            changes += u32::from(rate != seen);
            seen = rate;
            changes > 6
        });
        let policy = machine.root().join("sys").join(POLICY);
        if disturb == "governor" {
            machine.write(&format!("{POLICY}/scaling_governor"), "performance");
        } else {
            fs::rename(&policy, policy.with_file_name("gone")).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let record = json(&output);
        let message = warnings(&record);
        let reason = match disturb {
            "governor" => "is performance now, not ondemand",
            _ => "policy0 is gone",
        };
        assert!(message.contains("stopped after") && message.contains(reason), "{message}");
        assert!(facts(&record, "launch/power/energy").count() == 2, "{record}");
        assert_eq!((machine.read(RATE).as_str(), machine.journals()), ("100000", 0));
    }
}

#[test]
fn a_recording_is_read_without_waiting() {
    let machine = Machine::new(&[]);
    let log: PathBuf = machine.root().join("log.csv");
    // 1 W for a minute, then 0.968 W: 16.133 mWh a minute.
    fs::write(&log, "time_s,power_mW\n0,1000\n60,1000\n60.001,968\n120,968\n").unwrap();
    let meter = format!("csv:{}", log.display());
    let output = run(&machine, &["--meter", &meter, "--for", "2m", "--discard", "61s", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let record = json(&output);
    let energy = facts(&record, "launch/power/energy").next().unwrap();
    assert!((energy["value"].as_f64().unwrap() - 0.968 * 59.0).abs() < 1e-6, "{energy}");
    assert_eq!(energy["labels"]["origin"], "measured");

    let output = run(&machine, &["--meter", &meter, "--for", "3m", "--json"]);
    assert!(warnings(&json(&output)).contains("the recording ended after 120 s"), "{output:?}");

    let output = run(&phone(), &["--meter", &meter, "--rates", "50ms,100ms"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("csv is a recording"), "{output:?}");
}

#[test]
fn options_that_cannot_work_are_usage_errors() {
    for (arguments, message) in [
        (vec!["--meter", "watt"], "unknown meter \"watt\""),
        (vec!["--meter", "model"], "--device exynos4210"),
        (vec!["--meter", "smartpower3"], "smartpower3:udp"),
        (vec!["--for", "1s", "--discard", "1s"], "nothing is left"),
        (vec!["--rates", "10ms,50ms"], "the reference 100 ms is not among"),
        (vec!["--rates", "100ms"], "nothing to compare"),
        (vec!["--rates", "100ms,100ms"], "given twice"),
        (
            vec!["--rates", "100ms,50ms", "--min-effect", "-1"],
            "expected a share such as 5% or 0.05",
        ),
        (vec!["--rounds", "5"], "--rates"),
    ] {
        let model: &[&str] = if arguments[0] == "--meter" { &[] } else { &MODEL };
        let output = run(&phone(), &[model, &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(stderr(&output).contains(message), "{arguments:?}: {output:?}");
    }
}
