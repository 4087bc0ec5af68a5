//! The delay that an incident is about, its cause, and the findings about it.

use std::collections::BTreeSet;

use unjank_host::machine::Machine;
use unjank_measure::record::{Cell, Column, Table, Verdict};
use unjank_measure::{Answer, Findings, Unit};
use unjank_units::Nanos;
use unjank_why::late::{Delay, HeldUp};
use unjank_why::report::{self, About, Culprit, Explained, Launches};

use crate::surroundings;
use crate::trigger::{Trigger, TriggerKind};

/// The most other delays that are listed.
const OTHERS: usize = 8;

/// An incident: a delay, and its cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// What froze the recording.
    pub trigger: TriggerKind,
    /// The name of the thread that was held up.
    pub thread: String,
    /// How long it was held up.
    pub length: Nanos,
    /// What held it up.
    pub by: HeldUp,
    /// The cause, by which incidents are counted together.
    pub cause: String,
    /// Whether the recording shows the cause.
    pub is_known: bool,
    /// The usual length of a slow launch, if it is known.
    pub usual: Option<Nanos>,
}

/// The function in which a thread that a signal has stopped sleeps (`kernel/signal.c`).
const STOPPED: &str = "do_signal_stop";

impl Incident {
    /// The incident of an explained delay. `sleeps_in` is the function of the kernel in which its
    /// thread sleeps, for the cause of a silent server that the recording does not show.
    pub fn of(
        trigger: &Trigger,
        delay: &Delay,
        explained: &Explained,
        sleeps_in: Option<&str>,
    ) -> Self {
        let name = explained.history().name(delay.thread);
        let thread = name.map_or_else(|| delay.thread.to_string(), |name| name.to_string());
        let culprit = Culprit::of(explained);
        let (cause, is_known) = match (delay.by, &culprit) {
            // The path leads to the stopped thread, which did nothing.
            (HeldUp::Stopped, _) => ("stopped by a signal".to_owned(), true),
            (HeldUp::Stalled, _) => {
                let who = delay.behind.and_then(|behind| explained.history().name(behind));
                let who = who.map_or_else(|| "another thread".to_owned(), |who| who.to_string());
                (format!("{who} was stopped by a signal"), true)
            }
            (HeldUp::Network, _) => ("network: TCP sent a packet again".to_owned(), true),
            // The kernel has not recorded the stop.
            (HeldUp::Silence, _) if sleeps_in == Some(STOPPED) => {
                ("stopped by a signal".to_owned(), true)
            }
            (HeldUp::Silence, Some(culprit)) if culprit.is_unknown => {
                let cause = sleeps_in.map(|function| format!("asleep in {function}"));
                let is_known = cause.is_some();
                (cause.unwrap_or_else(|| culprit.key()), is_known)
            }
            (_, Some(culprit)) => (culprit.key(), !culprit.is_unknown),
            (_, None) => ("unknown".to_owned(), false),
        };
        let usual = match trigger {
            Trigger::Launch(launch) => launch.usual,
            _ => None,
        };
        let (trigger, length) = (trigger.kind(), delay.length());
        Self { trigger, thread, length, by: delay.by, cause, is_known, usual }
    }

    /// `pipewire was held up for 84.0 ms: waiting for a CPU (stress-ng)`.
    pub fn sentence(&self) -> String {
        let Self { thread, length, cause, .. } = self;
        match (self.by, self.usual) {
            (HeldUp::Launch, Some(usual)) => {
                format!("{thread} took {length} to start (usually {usual}): {cause}")
            }
            (HeldUp::Launch, None) => format!("{thread} took {length} to start: {cause}"),
            (HeldUp::Silence, _) => {
                format!("{thread} did not read a socket for {length}: {cause}")
            }
            _ => format!("{thread} was held up for {length}: {cause}"),
        }
    }
}

/// What else is said about an incident.
#[derive(Debug)]
pub struct Context<'a> {
    /// All delays of the time, the longest first.
    pub delays: &'a [Delay],
    /// The machine at that time.
    pub machine: &'a Machine,
    /// Stored incidents with the same cause.
    pub seen_before: u64,
}

/// The findings about an incident, with those about its explained delay.
pub fn findings(
    incident: &Incident,
    explained: Explained,
    context: &Context<'_>,
    about: &About,
) -> Findings {
    let others = others(&explained, context.delays);
    let launches = Launches::single(explained, about);
    let mut findings = report::findings(&launches, about);
    let answer = if incident.is_known { Answer::Yes } else { Answer::CannotTell };
    let question = "Does the recording show the cause?";
    let mut reason = incident.sentence();
    if context.seen_before > 0 {
        reason = format!("{reason}. {}", before(context.seen_before));
    }
    // What a change would have saved is part of the one answer.
    let why = std::mem::take(&mut findings.verdicts).into_iter().next();
    let mut verdict = Verdict::new("watch", question, answer, reason);
    if let Some(why) = why {
        verdict.also(&why.reason);
        (verdict.measured, verdict.next) = (why.measured, why.next);
    }
    findings.verdicts.push(verdict);
    findings.tables.insert(0, summary(incident, context));
    findings.tables.extend(others);
    findings
}

fn before(times: u64) -> String {
    match times {
        1 => "It happened once before".to_owned(),
        times => format!("It happened {times} times before"),
    }
}

fn summary(incident: &Incident, context: &Context<'_>) -> Table {
    let columns = [Column::text("what"), Column::text("it is")];
    let mut table = Table::new("watch/incident", "The incident", columns);
    let mut row = |what: &str, text: String| table.push([what.into(), text.into()]);
    row("noticed by", incident.trigger.name().to_owned());
    row("held up", format!("{} for {}", incident.thread, incident.length));
    row("by", incident.cause.clone());
    row("seen before", context.seen_before.to_string());
    let machine = context.machine;
    let pressure = machine.pressure.as_ref().map(surroundings::pressure);
    let memory = surroundings::memory(&machine.memory);
    let clocks = surroundings::limited_clocks(&machine.frequency);
    for (what, text) in pressure.into_iter().chain(memory).chain(clocks) {
        row(what, text);
    }
    table
}

/// The delays of other threads at that time; `None` without any.
fn others(explained: &Explained, delays: &[Delay]) -> Option<Table> {
    let mut seen = BTreeSet::from([explained.thread]);
    let longest = delays.iter().filter(|delay| seen.insert(delay.thread));
    let others: Vec<&Delay> = longest.take(OTHERS).collect();
    if others.is_empty() {
        return None;
    }
    let columns =
        [Column::text("thread"), Column::of("held up", Unit::Nanoseconds), Column::text("by")];
    let mut table = Table::new("watch/others", "Others that were held up meanwhile", columns);
    for delay in others {
        let name = explained.history().name(delay.thread);
        let name = name.map_or_else(
            || delay.thread.to_string(),
            |name| format!("{name} ({})", delay.thread.0),
        );
        let length = Cell::number(delay.length().get() as f64);
        table.push([name.into(), length, delay.by.name().into()]);
    }
    Some(table)
}
