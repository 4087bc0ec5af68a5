//! Messages and exit codes for arguments that cannot work.

use assert_cmd::Command;

fn unjank() -> Command {
    Command::new(unjank_needs::unjank!())
}

/// Runs unjank with the arguments, expects the exit code, and returns stderr.
fn fails(arguments: &[&str], code: i32) -> String {
    let output = unjank().args(arguments).assert().code(code).get_output().clone();
    assert!(output.stdout.is_empty(), "data on stdout: {:?}", output.stdout);
    String::from_utf8(output.stderr).expect("unjank writes UTF-8")
}

#[test]
fn a_missing_cpu_is_named() {
    for command in [["jitter", "native"], ["launch", "ramp"], ["lock", "probe"]] {
        let stderr = fails(&[command[0], command[1], "--cpus", "1023"], 2);
        assert!(stderr.starts_with("error: CPU 1023 does not exist or is not allowed"), "{stderr}");
    }
    let stderr = fails(&["jitter", "native", "--cpus", "first"], 2);
    assert!(stderr.contains("is not a list of CPUs such as 0-3,8"), "{stderr}");
}

#[test]
fn times_must_be_longer_than_zero() {
    for time in ["0s", "-5ms"] {
        let stderr = fails(&["jitter", "native", "--period", time], 2);
        assert!(stderr.contains("it must be longer than zero"), "{stderr}");
    }
    let stderr = fails(&["jitter", "native", "--period", "soon"], 2);
    assert!(stderr.contains("looks like 1ms, 200us, 10s or 10 (seconds)"), "{stderr}");
    let stderr = fails(&["jitter", "native", "--period", "1us"], 2);
    assert_eq!(stderr, "error: a period of 1.00 µs is too short: the shortest is 20.0 µs\n");
    let stderr = fails(&["jitter", "native", "--for", "100us"], 2);
    assert_eq!(stderr, "error: a run of 100 µs is shorter than the period of 1.00 ms\n");
}

#[test]
fn priorities_have_a_range() {
    for command in
        [["jitter", "native"], ["ipc", "latency"], ["ipc", "inversion"], ["launch", "boost"]]
    {
        let stderr = fails(&[command[0], command[1], "--priority", "0"], 2);
        let message = "for '--priority <1-99>': real-time priority 0 is out of range (1 to 99)";
        assert!(stderr.contains(message), "{stderr}");
    }
    let stderr = fails(&["jitter", "native", "--sched", "fifo", "--priority", "95"], 2);
    assert!(stderr.contains("--force allows it"), "{stderr}");
}

#[test]
fn amounts_have_a_range() {
    let stderr = fails(&["swap", "probe", "--size", "4KiB"], 2);
    assert_eq!(stderr, "error: cannot evict 4KiB; the size is 1MiB to 4GiB\n");
    let stderr = fails(&["ipc", "probe", "--payload", "0"], 2);
    assert_eq!(stderr, "error: a payload of 0 bytes is out of range (1 to 524288)\n");
    let stderr = fails(&["launch", "ramp", "--work", "500us"], 2);
    assert!(stderr.starts_with("error: work of 500 µs per launch"), "{stderr}");
}

#[test]
fn a_recording_needs_an_end_and_a_place() {
    let stderr = fails(&["swap", "record", "--out", "/no/such/x.parquet"], 2);
    assert_eq!(stderr, "error: give a command to record (-- COMMAND) or a time (--for TIME)\n");
    let stderr = fails(&["swap", "record", "--out", "/dev/null", "--for", "1s"], 2);
    assert_eq!(stderr, "error: /dev/null already exists; --replace allows it\n");
    let limited = ["swap", "record", "--out", "x", "--for", "1s", "--memory-limit", "1GiB"];
    let stderr = fails(&limited, 2);
    assert_eq!(stderr, "error: --memory-limit needs a command\n");
}

#[test]
fn a_missing_directory_is_named() {
    let stderr = fails(&["swap", "probe", "--pages", "file", "--directory", "/no/such/dir"], 2);
    assert!(stderr.starts_with("error: cannot create a file in /no/such/dir: "), "{stderr}");
}

#[test]
fn a_value_that_is_no_number_is_explained() {
    for (value, expected) in [
        ("abc", "expected a whole number"),
        ("-1", "expected a whole number"),
        ("", "expected a whole number"),
        ("99999999999999999999", "the number is too large"),
    ] {
        let stderr = fails(&["launch", "bench", "--pairs", value, "--", "true"], 2);
        assert!(stderr.contains(&format!(": {expected}\n")), "{stderr}");
    }
}

#[test]
fn an_unwritable_file_is_refused_before_measuring() {
    let place = "/no/such/dir/x";
    for command in [
        &["lock", "probe", "--for", "1h", "--html", place][..],
        &["lock", "probe", "--for", "1h", "--markdown", place],
        &["jitter", "native", "--for", "1h", "--break-above", "1s", "--trace-file", place],
        &["ipc", "latency", "--trace", "--trace-file", place],
        &["swap", "mrc", "-", "--csv", place],
        &["swap", "sweep", "--preset", "all", "--out", place],
        &["swap", "record", "--for", "1h", "--out", place],
    ] {
        let stderr = fails(command, 2);
        assert_eq!(
            stderr,
            format!("error: cannot write {place}: No such file or directory\n"),
            "{command:?}"
        );
    }
    let stderr = fails(&["lock", "probe", "--for", "1h", "--store", "/tmp"], 2);
    assert!(stderr.contains("it is a directory"), "{stderr}");
}

#[test]
fn stdout_has_one_output_and_some_outputs_must_be_files() {
    let both = "both write to stdout\n";
    for (command, message) in [
        (&["lock", "probe", "--html", "-", "--markdown", "-"][..], both),
        (&["lock", "probe", "--html", "/dev/stdout", "--json"], both),
        (&["swap", "mrc", "-", "--csv", "-", "--html", "-"], both),
        (&["why", "--folded", "-", "--perfetto", "-", "--", "true"], both),
        (&["swap", "sweep", "--preset", "all", "--out", "-"], "it is not a regular file\n"),
        (
            &["jitter", "native", "--break-above", "1s", "--trace-file", "-"],
            "it is not a regular file\n",
        ),
        (&["launch", "boost", "--metrics-file", "-"], "it is not a regular file\n"),
    ] {
        let stderr = fails(command, 2);
        assert!(stderr.ends_with(message), "{command:?}: {stderr}");
    }
}

#[test]
fn a_file_named_minus_is_stdout() {
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/fixtures/trace-file/launch.v6.dat");
    let directory = tempfile::tempdir().expect("a directory");
    let run = |option: &str| {
        let mut command = unjank();
        command.current_dir(&directory).args(["why", trace, "--process", "sh", "--no-store"]);
        let output = command.args([option, "-"]).assert().success().get_output().clone();
        let [out, err] = [output.stdout, output.stderr];
        (out, String::from_utf8(err).expect("unjank writes UTF-8"))
    };
    let text = "Where the time went";
    let (page, messages) = run("--html");
    let page = String::from_utf8(page).expect("a page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(!messages.contains(text), "{messages}");
    let (markdown, _) = run("--markdown");
    assert!(markdown.starts_with(b"# unjank why\n"));
    let (folded, messages) = run("--folded");
    let folded = String::from_utf8(folded).expect("folded stacks");
    let is_stack =
        |line: &str| line.rsplit_once(' ').is_some_and(|(_, time)| time.parse::<u64>().is_ok());
    assert!(folded.lines().count() > 3 && folded.lines().all(is_stack), "{folded}");
    assert!(messages.contains(text), "the text is on stderr: {messages}");
    let (perfetto, _) = run("--perfetto");
    let file = directory.path().join("trace");
    let mut command = unjank();
    command.args(["why", trace, "--process", "sh", "--no-store", "--perfetto"]).arg(&file);
    command.assert().success();
    assert!(perfetto == std::fs::read(&file).expect("a trace"), "{} bytes", perfetto.len());
    let entries = std::fs::read_dir(&directory).expect("a directory").count();
    assert_eq!(entries, 1, "no file is called -");
}

#[test]
fn a_missing_file_is_a_usage_error_in_every_command() {
    let missing = "/no/such/file.json";
    for command in [
        &["swap", "analyze", missing][..],
        &["swap", "mrc", missing],
        &["swap", "simulate", missing],
        &["swap", "sweep", missing],
        &["swap", "convert", missing, "/no/such/out.parquet"],
        &["jitter", "import", missing],
        &["runs", "show", missing],
        &["runs", "compare", missing, missing],
        &["runs", "export", missing],
        &["runs", "import", missing],
        &["launch", "simulate", "app", missing],
        &["launch", "boost", "plan", "--config", missing],
        &["launch", "power", "--meter", "csv:/no/such/file.json", "--for", "1s"],
        &["lock", "bench", "--no-store", "--pool", "--quick", "--meter", "csv:/no/such/file.csv"],
        &["lab", "run", "--pstates", missing, "--", "true"],
        &["lab", "run", "--no-store", "--kernel", missing, "--", "true"],
        &["why", "--no-store", missing],
        &["jitter", "jvm", "--no-store", "--jar", missing],
        &["with", "--root", missing, "vm.swappiness=1", "--", "true"],
        &["host", "--root", missing],
    ] {
        let stderr = fails(command, 2);
        assert!(stderr.contains("/no/such/"), "{command:?}: {stderr}");
    }
    // A directory is refused as well.
    for command in [["swap", "analyze", "/proc"], ["runs", "show", "/proc"]] {
        assert!(fails(&command, 2).contains("/proc"));
    }
}

#[test]
fn the_error_of_a_negative_value_names_its_option() {
    for (command, message) in [
        (&["swap", "simulate", "--preset", "games", "--tier", "-5"][..], "'--tier <SIZE>'"),
        (&["launch", "bench", "--pairs", "-5", "--", "true"], "'--pairs <N>'"),
        (&["launch", "load", "-5"], "'<LENGTH>'"),
        (&["jitter", "native", "--count", "-1"], "'--count <N>'"),
    ] {
        let stderr = fails(command, 2);
        assert!(stderr.contains("invalid value '-") && stderr.contains(message), "{stderr}");
    }
    // An unknown option is still an error.
    assert!(fails(&["checkup", "-5"], 2).contains("unexpected argument '-5'"));
}

/// A kernel's trace has names of threads that may contain escape sequences.
#[test]
fn a_trace_is_not_written_to_a_terminal() {
    for command in [
        &["ipc", "latency", "--no-store", "--trace", "--trace-file", "-"][..],
        &["schd-dbg", "--no-store", "--trace", "--trace_file", "-"],
        &["why", "--no-store", "--trace-file", "-", "--", "true"],
    ] {
        // script(1) gives its command a terminal.
        let typed = [&[unjank_needs::unjank!()], command].concat().join(" ");
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &typed, "/dev/null"]);
        let output = script.assert().code(2).get_output().clone();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("to a terminal: redirect stdout, or name a file"), "{said}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for command in [
        &["checkup"][..],
        &["host"],
        &["launch", "ramp"],
        &["swap", "probe"],
        &["swap", "record"],
        &["swap", "analyze"],
        &["swap", "mrc"],
        &["swap", "convert"],
        &["swap", "simulate"],
        &["swap", "sweep"],
        &["reproduce", "swap"],
        &["swap", "synth"],
        &["jitter", "native"],
        &["rt", "list"],
        &["rt", "set"],
        &["rt", "exec"],
        &["rt", "restore"],
        &["rt", "profiles"],
        &["lock", "probe"],
        &["ipc", "probe"],
    ] {
        let output = unjank().args(command).arg("--help").assert().success().get_output().clone();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("Examples:\n  "), "{command:?}: {help}");
    }
}
