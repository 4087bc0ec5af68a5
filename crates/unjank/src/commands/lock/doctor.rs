//! `unjank lock doctor`: what the threads of a running program do instead of
//! waiting.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use unjank_host::{Nanos, Root};
use unjank_lock::doctor::{self, Certainty, Kind, Options, Patient};
use unjank_measure::{Findings, Monitor, RunRecord};
use unjank_report::{Detail, visible};

use crate::commands::measured::{self, OutputArgs, Settings};
use crate::output::{self, Page};
use crate::values;

/// Arguments of `unjank lock doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo unjank lock doctor 4711
  sudo unjank lock doctor $(pidof java) --for 20s --html java.html
  sudo unjank lock doctor $(head -n 1 /var/lib/postgresql/15/main/postmaster.pid)
  unjank lock doctor 4711 --quick --json | jq '.verdicts[] | {question, answer, reason}'

Watches all threads of a process and of those that it has started, new ones too, and
says of each whether it waits in a sleep loop, with sched_yield, by spinning, by polls
that find nothing, for a contended lock, takes turns with others, or is woken for nothing;
the worst first, with what to do. It says no only where it could have seen a lock.

As root it records system calls in a trace instance of its own, in windows of 25 ms
every 125 ms; it is removed afterwards, and nobody else's tracing is touched. Any user
may watch their own programs, but without system calls it knows and suspects less, and says so.")]
pub(crate) struct Args {
    /// The process
    #[arg(value_name = "PID")]
    process: u32,
    /// How long to watch
    #[arg(long = "for", value_name = "TIME", default_value = "5s", value_parser = values::duration, allow_hyphen_values = true)]
    duration: Nanos,
    /// Watch the processes that it has started, too (the default)
    #[arg(long, overrides_with = "no_tree")]
    tree: bool,
    /// Watch this process alone
    #[arg(long, overrides_with = "tree")]
    no_tree: bool,
    /// Watch for one second
    #[arg(long, conflicts_with = "duration")]
    quick: bool,
    /// How many threads to tell of, the worst first
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    top: u64,
    #[command(flatten)]
    output: OutputArgs,
}

/// Watches and prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let duration = if args.quick { Nanos::from_millis(1_000) } else { args.duration };
    let tree = args.tree || !args.no_tree;
    let options = Options { process: args.process, tree, duration, top: args.top as usize };
    let settings = Settings::default()
        .with("process", options.process)
        .with("tree", options.tree)
        .with("for", options.duration.get())
        .with("top", options.top);
    let command = measured::Command {
        name: "lock doctor",
        output: &args.output,
        settings,
        detail: Detail::Everything,
    };
    let patients: RefCell<Vec<Patient>> = RefCell::default();
    let measure = |root: &Root, seed: u64, monitor: &dyn Monitor| -> Result<Findings> {
        let examined = doctor::run(&options, root, seed, monitor)?;
        *patients.borrow_mut() = examined.patients;
        Ok(examined.findings)
    };
    let code = command
        .run_and_print(measure, |record| Some(text(record, &patients.borrow(), options.top)))?;
    Ok(ExitCode::from(code))
}

/// The answer, the threads, and what to do about each.
fn text(record: &RunRecord, patients: &[Patient], top: usize) -> String {
    let mut page = Page::new(output::width());
    if let Some(verdict) = record.findings.verdicts.first() {
        page.line(&format!("{} {}", visible(&verdict.question), verdict.answer.words()));
        page.fact("", visible(&verdict.reason));
    }
    let shown = &patients[..top.min(patients.len())];
    let processes: BTreeSet<u32> = patients.iter().map(|it| it.seen.owner.process).collect();
    let several = processes.len() > 1;
    page.section("Threads, the most wasteful first");
    let rows: Vec<_> = shown.iter().map(|patient| row(patient, several)).collect();
    page.table(if several { &HEADINGS } else { &HEADINGS[1..] }, &rows);
    if patients.len() > shown.len() {
        page.line(&format!("  {} more threads: --top shows them", patients.len() - shown.len()));
    }
    let unwell = |it: &&Patient| it.worst().kind != Kind::Fine;
    let unwell: Vec<&Patient> = shown.iter().filter(unwell).collect();
    for alike in unwell.chunk_by(|one, other| illness(one) == illness(other)) {
        let [patient, others @ ..] = alike else { continue };
        let seen = &patient.seen;
        let more = match others.len() {
            0 => String::new(),
            more => format!(", and {more} more like it"),
        };
        let process =
            || format!(" of process {} ({})", seen.owner.process, visible(&seen.owner.program));
        let of = if several { process() } else { String::new() };
        page.section(&format!("{} ({}){of}{more}", seen.thread, visible(&seen.name)));
        for it in &patient.diagnoses {
            let doubt = if it.certainty == Certainty::Suspected { ", suspected" } else { "" };
            page.line(&format!("  {}{doubt}", it.kind.words()));
            page.fact("  seen", visible(&it.evidence));
            if let Some(action) = it.action {
                page.fact("  to do", action);
            }
        }
    }
    page.line("");
    for line in costs(record).into_iter().chain(output::notes(record)) {
        page.line(&visible(&line));
    }
    page.finish()
}

/// What threads have in common that are told of once.
fn illness(patient: &Patient) -> (&str, Vec<Kind>) {
    let numbered = |last: char| last.is_ascii_digit() || matches!(last, '-' | '#' | '_' | ' ');
    let name = patient.seen.name.trim_end_matches(numbered);
    (name, patient.diagnoses.iter().map(|it| it.kind).collect())
}

/// The first one only where there are several processes.
const HEADINGS: [&str; 11] = [
    "process",
    "name",
    "thread",
    "diagnosis",
    "wasted",
    "CPU",
    "ready",
    "yields/s",
    "naps/s",
    "futex/s",
    "switches/s",
];

fn row(patient: &Patient, several: bool) -> Vec<String> {
    let seen = &patient.seen;
    let per_second = |count: u64, time: Nanos| match count {
        0 => String::new(),
        _ => format!("{:.0}", count as f64 / time.as_secs_f64().max(1e-9)),
    };
    let called = |count: fn(&doctor::Calls) -> u64| {
        seen.calls
            .as_ref()
            .map_or_else(String::new, |calls| per_second(count(calls), calls.watched))
    };
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let worst = patient.worst();
    let doubt = if worst.certainty == Certainty::Suspected { "?" } else { "" };
    let process = format!("{} {}", visible(&seen.owner.program), seen.owner.process);
    let cells = [
        visible(&seen.name).into_owned(),
        seen.thread.0.to_string(),
        format!("{}{doubt}", worst.kind.words()),
        if worst.kind.is_bad() { share(patient.wasted()) } else { String::new() },
        share(seen.cpu_share()),
        seen.ready_share().map_or_else(String::new, share),
        called(|calls| calls.yields),
        called(|calls| calls.naps.count() + calls.empty_polls),
        called(|calls| calls.waits.woken + calls.waits.changed + calls.wakes),
        per_second(seen.voluntary + seen.involuntary, seen.watched),
    ];
    several.then_some(process).into_iter().chain(cells).collect()
}

/// What watching has cost.
fn costs(record: &RunRecord) -> Vec<String> {
    let fact = |name: &str| {
        let fact = record.findings.fact_named(&format!("lock/doctor/{name}"))?;
        Some(fact.unit.show(fact.value))
    };
    let own = fact("own_cpu").map(|own| format!("Watching took {own} of a CPU."));
    let traced = fact("yield").zip(fact("yield_while_traced")).map(|(plain, traced)| {
        format!(
            "While its system calls were traced, a sched_yield of it took {traced} instead of {plain}."
        )
    });
    own.into_iter().chain(traced).collect()
}
