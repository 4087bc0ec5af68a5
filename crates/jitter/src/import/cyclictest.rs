//! cyclictest's `--json`: `rt_write_json` and `write_stats` of rt-tests.

use jiff::Timestamp as Date;
use jiff::fmt::rfc2822;
use serde::Deserialize;
use unjank_host::sched::Priority;
use unjank_host::{Error, Result};

use super::command_line;
use super::document::{SystemInfo, Thread, Threads, machine, resolution};
use super::imported::Imported;

/// Programs of rt-tests that write similar files, but not about wake-ups.
const OTHERS: &[&str] = &[
    "cyclicdeadline",
    "deadline_test",
    "hackbench",
    "oslat",
    "pi_stress",
    "pip_stress",
    "pmqtest",
    "ptsematest",
    "queuelat",
    "rt-migrate-test",
    "signaltest",
    "sigwaittest",
    "ssdd",
    "svsematest",
];

/// The file. Two of its keys end in a colon, at least up to version 2.11.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    #[serde(rename = "cmdline:", alias = "cmdline")]
    command_line: Option<String>,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version")]
    version: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
    #[serde(default)]
    return_code: i64,
    sysinfo: Option<SystemInfo>,
    #[serde(default)]
    resolution_in_ns: u64,
    thread: Threads,
}

pub(super) fn imported(file: File, path: &str) -> Result<Imported> {
    let mut warnings = Vec::new();
    if let Some(other) = file.command_line.as_deref().and_then(other_program) {
        return Err(Error::parse(path, 1, format!("a file of {other}, not of cyclictest")));
    }
    if file.return_code != 0 {
        warnings.push(format!("cyclictest ended with code {}", file.return_code));
    }
    let options =
        command_line::parse(file.command_line.as_deref().unwrap_or_default(), file.thread.0.len());
    if file.command_line.is_none() {
        warnings.push(
            "the file has no command line: cyclictest's default policy and period are assumed"
                .to_owned(),
        );
    }
    if !options.absolute {
        warnings.push(
            "cyclictest slept for relative times (-r, -s or -x): missed periods are not known"
                .to_owned(),
        );
    }
    let priority_of = |index: u64| {
        let below = if options.spread { u8::try_from(index).unwrap_or(u8::MAX) } else { 0 };
        options.priority.map(|first| first.get().saturating_sub(below))
    };
    let threads = file.thread.0.into_iter().map(|(index, counted)| Thread {
        index,
        cpu: counted.cpu.and_then(|cpu| u64::try_from(cpu).ok()),
        priority: priority_of(index),
        period: options.absolute.then(|| options.period + options.distance.times(index)),
        counted,
    });
    Ok(Imported {
        tool: "cyclictest",
        version: file.version,
        policy: options.policy,
        priority: options.priority.and_then(|first| Priority::new(first.get()).ok()),
        period: options.absolute.then_some(options.period),
        resolution: resolution(file.resolution_in_ns, path)?,
        machine: machine(file.sysinfo, "cyclictest"),
        ran: file.start_time.zip(file.end_time).and_then(|(start, end)| ran(&start, &end)),
        warnings,
        histogram: options.histogram,
        threads: threads.collect(),
        command_line: file.command_line,
    })
}

/// The program's name, if it is another program of rt-tests.
fn other_program(command_line: &str) -> Option<&'static str> {
    let program = command_line.split_whitespace().next()?;
    let name = program.rsplit('/').next()?;
    OTHERS.iter().find(|other| **other == name).copied()
}

/// Start and end, in the form of RFC 2822: `Sun, 22 Nov 2026 08:39:36 +0000`.
fn ran(start: &str, end: &str) -> Option<[Date; 2]> {
    let date = |text: &str| Some(rfc2822::parse(text).ok()?.timestamp());
    Some([date(start)?, date(end)?]).filter(|[start, end]| start <= end)
}
