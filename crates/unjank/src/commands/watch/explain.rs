//! Explains a frozen recording, and keeps the incident.

use unjank_host::input::Stop;
use unjank_host::machine::throttling;
use unjank_host::process::pid;
use unjank_host::sched::ThreadId;
use unjank_host::thread_pattern::ThreadPattern;
use unjank_host::{Machine, Root, Timestamp, threads};
use unjank_measure::record::{Run, Start};
use unjank_measure::{Findings, RunRecord};
use unjank_watch::incident::{self, Context, Incident};
use unjank_watch::recorder::Frozen;
use unjank_watch::redact::Redaction;
use unjank_watch::trigger::Trigger;
use unjank_why::history::History;
use unjank_why::late::{Delay, HeldUp, delays};
use unjank_why::live;
use unjank_why::report::{About, Culprit, Explained};

use crate::commands::incidents::{COMMAND, Kept};
use crate::commands::measured::{Settings, tool};
use crate::output;

/// Explains a frozen recording and keeps the incident. Returns it, or `None` if no thread was held
/// up for long. An incident comes with its id.
pub(super) fn explain(
    trigger: &Trigger,
    frozen: Frozen,
    redaction: Option<&Redaction>,
    kept: &mut Kept,
    root: &Root,
) -> anyhow::Result<Option<(String, Incident)>> {
    let start = Start::now();
    let Frozen { mut trace, at } = frozen;
    if let Some(redaction) = redaction {
        redaction.apply(&mut trace);
    }
    let stop = Stop::default();
    let history = History::of(&trace);
    let own = threads::ids(root, std::process::id()).unwrap_or_default();
    let is_own = |thread| own.contains(&thread);
    let from = at.as_nanos().saturating_sub(trigger.reaches_back(at).get());
    let time = (Timestamp::from_nanos(from), at);
    let delays = delays(&trace, &history, time, is_own, &stop);
    let has_run = |explained: &Explained, culprit: &Culprit| {
        culprit.by_itself || culprit.by_nobody && !is_limited(root, explained.thread)
    };
    let accepts = |explained: &Explained, delay: &Delay| {
        // A signal, or a lost packet, is no part of a path.
        if delay.by.needs_no_path() {
            return true;
        }
        let culprit = Culprit::of(explained);
        culprit.is_some_and(|it| !it.is_unknown && !has_run(explained, &it))
    };
    let of_process = match trigger {
        Trigger::Silence(server) => threads::ids(root, server.process).unwrap_or_default(),
        Trigger::Mark(Some(process)) => threads_of(process, &history, root),
        _ => Vec::new(),
    };
    drop(history);
    let begun = trace.span().map_or(at, |(first, _)| first);
    let fitting = trigger.fitting(&delays, &of_process, (begun, at));
    let state = live::state(root);
    let found = live::explain_delays(trace, &fitting, accepts, state, root);
    let Some((explained, delay)) = found else { return Ok(None) };
    // It seems to wait for a CPU that is idle or its own: the recording lacks its run.
    let culprit = Culprit::of(&explained);
    let is_a_wait = matches!(delay.by, HeldUp::RunQueue | HeldUp::Blocked);
    if is_a_wait && culprit.is_some_and(|culprit| has_run(&explained, &culprit)) {
        return Ok(None);
    }
    let sleeps_in = sleeps_in(root, delay.thread);
    let incident = Incident::of(trigger, &delay, &explained, sleeps_in.as_deref());
    let machine = Machine::read(root);
    let seen_before = kept.with_cause(&incident.cause)?;
    let id = start.id();
    if let Err(error) = kept.keep_recording(&id, &explained) {
        output::remark(&format!("the recording of an incident is not kept: {error:#}"));
    }
    let about = About { process: threads::process_of(root, delay.thread), ..About::default() };
    let context = Context { delays: &delays, machine: &machine, seen_before };
    let findings = incident::findings(&incident, explained, &context, &about);
    let record = record(start, &incident, machine, findings);
    kept.keep(&record)?;
    Ok(Some((id, incident)))
}

/// The threads of the process with this number, or of all processes with this name, and recorded
/// threads of this name, which may have ended.
fn threads_of(process: &str, history: &History, root: &Root) -> Vec<ThreadId> {
    let of = |number: u32| threads::ids(root, number).unwrap_or_default();
    if let Ok(number) = process.parse() {
        return of(number);
    }
    let Ok(pattern) = ThreadPattern::new(process) else { return Vec::new() };
    let processes = pid::named(root, |name| pattern.matches(name));
    let mut all: Vec<ThreadId> = processes.into_iter().flat_map(|(number, _)| of(number)).collect();
    let recorded = history.lives().map(|(thread, _)| thread);
    all.extend(recorded.filter(|thread| {
        history.name(*thread).is_some_and(|name| pattern.matches(&name.to_string()))
    }));
    all
}

/// The function of the kernel in which a thread sleeps, if the kernel tells.
fn sleeps_in(root: &Root, thread: ThreadId) -> Option<String> {
    let function = root.read(format!("/proc/{}/wchan", thread.0)).ok()?;
    let function = function.trim();
    (!function.is_empty() && function != "0").then(|| function.to_owned())
}

/// Whether a thread's control group has a limit of CPU time that it has used up before.
fn is_limited(root: &Root, thread: ThreadId) -> bool {
    let limit = threads::process_of(root, thread).map(|process| throttling(root, process));
    limit.and_then(|limit| limit.ok().flatten()).is_some_and(|limit| limit.periods > 0)
}

fn record(start: Start, incident: &Incident, host: Machine, findings: Findings) -> RunRecord {
    let settings = Settings::default()
        .with("trigger", incident.trigger.name())
        .with("thread", incident.thread.as_str())
        .with("length", incident.length.get())
        .with("by", incident.by.name())
        .with("cause", incident.cause.as_str());
    start.finish(
        Timestamp::now(),
        Run {
            tool: tool(),
            command: COMMAND.to_owned(),
            host,
            settings: settings.into_values(),
            findings,
            labels: Vec::new(),
        },
    )
}
