//! `unjank rt list`: threads and their scheduling.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde::Serialize;
use unjank_host::sched::{Policy, policy_of};
use unjank_host::threads::{self, Status, Thread};
use unjank_host::{Nanos, Root};

use crate::{exit, output};

/// Arguments of `unjank rt list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  unjank rt list 4711
  unjank rt list --all-realtime
  unjank rt list 4711 --json | jq '.threads[] | select(.policy != \"other\")'

The kernel keeps 15 bytes of a thread's name. CPU time counts from the thread's
start.")]
pub(crate) struct Args {
    /// The process
    #[arg(value_name = "PID", required_unless_present = "all_realtime")]
    process: Option<u32>,
    /// All threads of this machine with a real-time policy, including the kernel's own
    #[arg(long, conflicts_with = "process")]
    all_realtime: bool,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    threads: Vec<Row>,
    /// Threads that ended while they were looked at.
    gone: usize,
}

/// One thread.
#[derive(Debug, Serialize)]
struct Row {
    process: u32,
    thread: u32,
    name: String,
    /// `None` for a policy that unjank does not know.
    policy: Option<String>,
    nice: i32,
    /// `None` if it is the kernel's own.
    slice_ns: Option<u64>,
    /// `None` if the thread has ended meanwhile.
    cpus: Option<String>,
    cpu_time_ns: u64,
}

/// Lists the threads.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root = Root::system();
    let mut document = Document { schema: "unjank.rt.list/1", threads: Vec::new(), gone: 0 };
    match args.process {
        Some(process) => {
            let listed = threads::list(&root, process)?;
            document.gone = listed.gone;
            document.threads.extend(listed.threads.into_iter().map(|t| row(&root, process, t)));
        }
        None => realtime(&root, &mut document)?,
    }
    if args.json {
        output::print(&output::json(&document)?)?;
    } else {
        output::print(&text(&document, args.all_realtime))?;
    }
    Ok(ExitCode::from(exit::FINE))
}

/// The real-time threads of all processes. A process that ends meanwhile has none.
fn realtime(root: &Root, document: &mut Document) -> Result<()> {
    let all = root.list("/proc").context("while looking for processes")?;
    let mut processes: Vec<u32> = all.iter().filter_map(|name| name.parse().ok()).collect();
    processes.sort_unstable();
    for process in processes {
        let listed = threads::list(root, process).unwrap_or_default();
        document.gone += listed.gone;
        let is_realtime = |thread: &Thread| thread.policy.is_some_and(Policy::is_realtime);
        let found = listed.threads.into_iter().filter(is_realtime);
        document.threads.extend(found.map(|thread| row(root, process, thread)));
    }
    Ok(())
}

fn row(root: &Root, process: u32, thread: Thread) -> Row {
    let cpus = threads::status(root, process, thread.id).map(|Status { cpus, .. }| cpus);
    let cpu_time = threads::cpu_time(root, process, thread.id).unwrap_or(thread.cpu_time);
    // `stat` has no slices and deadlines; sched_getattr(2) does.
    let policy = policy_of(thread.id).ok().map(|(policy, _)| policy).or(thread.policy);
    let slice = policy.and_then(Policy::fair).and_then(|fair| fair.slice);
    Row {
        process,
        thread: thread.id.0,
        name: thread.name,
        policy: policy.map(without_nice),
        nice: thread.nice,
        slice_ns: slice.map(Nanos::get),
        cpus: cpus.map(|cpus| cpus.to_string()),
        cpu_time_ns: cpu_time.get(),
    }
}

/// The policy without the nice value and the slice, which have their own columns.
fn without_nice(policy: Policy) -> String {
    match policy {
        Policy::Other(_) => Policy::other(0).to_string(),
        Policy::Batch(_) => Policy::batch(0).to_string(),
        policy => policy.to_string(),
    }
}

fn text(document: &Document, with_process: bool) -> String {
    if document.threads.is_empty() {
        return "no thread has a real-time policy".to_owned();
    }
    let rows = document.threads.iter().map(|row| {
        [
            row.name.clone(),
            if with_process { row.process.to_string() } else { String::new() },
            row.thread.to_string(),
            row.policy.clone().unwrap_or_else(|| "unknown".to_owned()),
            row.nice.to_string(),
            row.slice_ns.map_or_else(|| "default".to_owned(), |slice| Nanos(slice).to_string()),
            row.cpus.clone().unwrap_or_else(|| "n/a".to_owned()),
            Nanos(row.cpu_time_ns).to_string(),
        ]
    });
    let header = ["name", "process", "thread", "policy", "nice", "slice", "CPUs", "CPU time"];
    let mut lines = output::grid(rows, header);
    if document.gone > 0 {
        lines.push(format!("{} more threads ended meanwhile", document.gone));
    }
    lines.join("\n")
}
