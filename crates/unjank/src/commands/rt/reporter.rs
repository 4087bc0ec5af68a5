//! Reports changed threads: as sentences, or as JSON lines.

use serde::Serialize;
use unjank_host::journal::RestoreOutcome;
use unjank_host::thread_ledger::ThreadReport;
use unjank_host::{Error, Nanos};
use unjank_jitter::rt::{Changed, Event, Failed, Means, Walk};

use super::change_args::ReportForm;
use crate::output::{self, Stream};

/// The most threads that are reported one by one.
const MOST_LINES: usize = 12;
/// The most names of a larger group.
const MOST_NAMES: usize = 3;

/// Reports changes of threads, and failures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reporter {
    form: ReportForm,
    /// Destination of the JSON lines.
    to: Stream,
}

/// One line of JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    /// All existing threads have been examined.
    Walked {
        schema: &'static str,
        process: u32,
        seen: usize,
        changed: usize,
        already: usize,
        gone: usize,
        took_ns: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        watching: Option<&'a str>,
    },
    Changed {
        process: u32,
        thread: u32,
        name: &'a str,
        before: String,
        now: String,
        means: Means,
        #[serde(skip_serializing_if = "Option::is_none")]
        wanted: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        because: Option<&'a str>,
    },
    Failed {
        thread: u32,
        name: &'a str,
        error: String,
    },
    Demoted {
        busy_ns: u64,
        #[serde(flatten)]
        report: &'a ThreadReport,
    },
    Restored(&'a ThreadReport),
    Remark {
        text: &'a str,
    },
}

impl Reporter {
    pub(super) fn new(form: ReportForm, to: Stream) -> Self {
        Self { form, to }
    }

    /// Reports the first walk, and how new threads are found.
    pub(super) fn walked(
        self,
        process: u32,
        walk: &Walk,
        took: Nanos,
        watching: Option<&str>,
    ) -> anyhow::Result<()> {
        self.changed(&walk.changed)?;
        walk.unlimited.iter().try_for_each(|(process, why)| self.unlimited(*process, why))?;
        let Walk { seen, changed, already, gone, .. } = walk;
        let changed = changed.len();
        if self.form == ReportForm::Json {
            let (already, gone, seen) = (*already, *gone, *seen);
            let (schema, took_ns) = ("unjank.rt/1", took.get());
            return self.line(&Line::Walked {
                schema,
                process,
                seen,
                changed,
                already,
                gone,
                took_ns,
                watching,
            });
        }
        let mut parts =
            vec![format!("process {process}: {changed} of {seen} threads changed in {took}")];
        if *already > 0 {
            parts.push(format!("{already} had it already"));
        }
        if *gone > 0 {
            parts.push(format!("{gone} ended meanwhile"));
        }
        let text = [parts.join(", ")].into_iter().chain(watching.map(str::to_owned));
        let text = text.collect::<Vec<_>>().join("; ");
        self.say(&text);
        Ok(())
    }

    /// Reports threads that got another policy.
    pub(super) fn changed(self, all: &[Changed]) -> anyhow::Result<()> {
        match self.form {
            ReportForm::Quiet => {
                // A policy that is not the wanted one is reported in any case.
                for thread in all.iter().filter(|thread| thread.instead_of.is_some()) {
                    output::remark(&sentence(thread, &thread.name));
                }
            }
            ReportForm::Json => all.iter().try_for_each(|thread| self.line(&line(thread)))?,
            ReportForm::Text if all.len() <= MOST_LINES => {
                for thread in all {
                    output::remark(&sentence(
                        thread,
                        &format!("{} ({})", thread.name, thread.thread),
                    ));
                }
            }
            ReportForm::Text => grouped(all).iter().for_each(|text| output::remark(text)),
        }
        Ok(())
    }

    /// Reports later events.
    pub(super) fn events(self, events: Vec<Event>) -> anyhow::Result<()> {
        let mut all = Vec::new();
        for event in events {
            match event {
                Event::Changed(changed) => all.push(changed),
                Event::Failed(failed) => self.failed(&failed)?,
                Event::Unlimited { process, error } => self.unlimited(process, &error)?,
                Event::Demoted { busy, report } if self.form == ReportForm::Json => {
                    self.line(&Line::Demoted { busy_ns: busy.get(), report: &report })?;
                }
                Event::Demoted { busy, report } => output::remark(&format!(
                    "{} has computed for {busy} without a sleep: {} → {}, permanently",
                    report.name,
                    report.during,
                    report.after.as_deref().unwrap_or(&report.before),
                )),
            }
        }
        self.changed(&all)
    }

    fn unlimited(self, process: u32, why: &Error) -> anyhow::Result<()> {
        self.remark(&format!(
            "process {process} has no limit in the kernel, so only unjank watches it: {why}"
        ))
    }

    fn failed(self, failed: &Failed) -> anyhow::Result<()> {
        let Failed { thread, name, error } = failed;
        if self.form == ReportForm::Json {
            let error = error.to_string();
            return self.line(&Line::Failed { thread: thread.0, name, error });
        }
        output::remark(&format!("{name} ({thread}) is not changed: {error}"));
        Ok(())
    }

    /// Reports what was put back. Returns the first failure.
    pub(super) fn restored(self, reports: &[ThreadReport]) -> anyhow::Result<Option<Error>> {
        let open = |report: &&&ThreadReport| report.outcome.is_open();
        // Ended threads are not reported.
        let there = reports.iter().filter(|report| report.outcome != RestoreOutcome::Gone);
        let reports: Vec<&ThreadReport> = there.collect();
        if self.form == ReportForm::Json {
            reports.iter().try_for_each(|report| self.line(&Line::Restored(report)))?;
        } else if self.form == ReportForm::Text && reports.len() <= MOST_LINES {
            for report in &reports {
                output::remark(&report.to_string());
            }
        } else {
            let good = reports.iter().filter(|report| !open(report)).count();
            self.say(&format!("{good} of {} changes are put back", reports.len()));
            reports.iter().filter(open).for_each(|report| output::remark(&report.to_string()));
        }
        let failed = reports.iter().find(|report| report.outcome.is_failure());
        Ok(failed.map(|report| Error::Busy(report.to_string())))
    }

    /// Prints any other message.
    pub(super) fn remark(self, text: &str) -> anyhow::Result<()> {
        if self.form == ReportForm::Json {
            return self.line(&Line::Remark { text });
        }
        self.say(text);
        Ok(())
    }

    fn say(self, text: &str) {
        if self.form == ReportForm::Text {
            output::remark(text);
        }
    }

    fn line(self, line: &Line<'_>) -> anyhow::Result<()> {
        let mut text = unjank_report::json(&serde_json::to_string(line)?).into_owned();
        text.push('\n');
        self.to.pass_on(text.as_bytes())
    }
}

fn line(thread: &Changed) -> Line<'_> {
    let Changed { process, thread, name, before, now, means, instead_of } = thread;
    Line::Changed {
        process: *process,
        thread: thread.0,
        name,
        before: before.to_string(),
        now: now.to_string(),
        means: *means,
        wanted: instead_of.as_ref().map(|instead| instead.wanted.to_string()),
        because: instead_of.as_ref().map(|instead| instead.because.as_str()),
    }
}

/// `meas (thread 79): other → fifo:80`, with the wanted policy if it differs.
fn sentence(thread: &Changed, who: &str) -> String {
    let text = format!("{who}: {} → {}", thread.before.policy, thread.now.policy);
    match &thread.instead_of {
        None => text,
        Some(instead) => {
            let wanted = instead.wanted.policy;
            format!("{text} by {} instead of {wanted}: {}", thread.means, instead.because)
        }
    }
}

/// A sentence for each group of threads that had and got the same policy.
fn grouped(all: &[Changed]) -> Vec<String> {
    let mut groups: Vec<(&Changed, Vec<&str>)> = Vec::new();
    for thread in all {
        let like = |(first, _): &&mut (&Changed, Vec<&str>)| {
            (first.before.policy, first.now.policy, first.means)
                == (thread.before.policy, thread.now.policy, thread.means)
        };
        match groups.iter_mut().find(like) {
            Some((_, names)) => names.push(&thread.name),
            None => groups.push((thread, vec![&thread.name])),
        }
    }
    let who = |names: &[&str]| {
        let more = if names.len() > MOST_NAMES { ", …" } else { "" };
        let some = names[..names.len().min(MOST_NAMES)].join(", ");
        format!("{} threads ({some}{more})", names.len())
    };
    groups.iter().map(|(first, names)| sentence(first, &who(names))).collect()
}
