//! Facts and warnings about a recording.

use std::os::unix::process::ExitStatusExt as _;

use unjank_host::Nanos;
use unjank_host::memory::page_size;
use unjank_host::tracefs::Lost;
use unjank_measure::number::grouped;
use unjank_measure::record::{Answer, Quantity};
use unjank_measure::{Fact, Findings, Unit, Verdict};

use crate::trace::{MAX_SPACES, PAGE};

use super::command::Ended;
use super::converter::Converter;
use super::counters::{Growth, get};

/// The tolerated difference between the trace and the kernel's counters.
const AGREE: f64 = 0.02;
/// The minimum number of pages for a comparison: unrelated programs can move fewer.
const ENOUGH: u64 = 1_000;
/// The maximum number of processes with facts about their page-ins and page-outs.
const MAX_PROCESSES: usize = 10;

pub(super) struct Recorded<'a> {
    pub(super) converter: &'a Converter,
    /// Events in the trace.
    pub(super) written: u64,
    /// The size of the file.
    pub(super) bytes: u64,
    pub(super) lost: Lost,
    pub(super) length: Nanos,
    /// The growth of the machine's counters.
    pub(super) growth: Growth,
    pub(super) ended: Ended,
    pub(super) cut_short: bool,
}

impl Recorded<'_> {
    /// Adds all facts, warnings and the verdict.
    pub(super) fn note(&self, findings: &mut Findings) {
        let counts = &self.converter.counts;
        // Counters are in the kernel's pages.
        let pages = |count: u64| count as f64 * PAGE as f64 / page_size().get() as f64;
        let mut fact = |name: &str, value: f64, unit| {
            findings.facts.push(Fact::new(format!("swap/record/{name}"), value, unit));
        };
        fact("length", self.length.get() as f64, Unit::Nanoseconds);
        fact("events", self.written as f64, Unit::Count);
        fact("file_size", self.bytes as f64, Unit::Bytes);
        fact("page_ins", pages(counts.page_ins), Unit::Pages);
        fact("page_outs", pages(counts.page_outs), Unit::Pages);
        fact("read_requests", counts.requests_in as f64, Unit::Count);
        fact("write_requests", counts.requests_out as f64, Unit::Count);
        fact("launches", counts.launches as f64, Unit::Count);
        fact("exits", counts.exits as f64, Unit::Count);
        let lost = self.lost.overwritten + self.lost.dropped;
        fact("lost_events", lost as f64, Unit::Count);
        for (name, count) in [
            ("file_page_ins", counts.file_page_ins),
            ("file_clean_drops", counts.file_drops),
            ("other_requests", counts.others),
            ("discards", counts.no_transfers),
        ] {
            if count > 0 {
                fact(name, count as f64, Unit::Count);
            }
        }
        if let Some(code) = self.ended.status.and_then(|status| status.code()) {
            fact("exit_code", f64::from(code), Unit::Count);
        }
        for (name, value) in &self.growth {
            let name = format!("swap/vmstat/{name}");
            findings.facts.push(Fact::new(name, *value as f64, Unit::Count));
        }
        for (name, value) in self.ended.growth.iter().flatten() {
            let name = format!("swap/memory_stat/{name}");
            findings.facts.push(Fact::new(name, *value as f64, Unit::Count));
        }
        self.note_command(findings);
        self.note_processes(findings);
        self.note_warnings(lost, findings);
        self.note_agreement([pages(counts.page_ins), pages(counts.page_outs)], findings);
    }

    /// Facts about the command's part of the trace, if there is a command.
    fn note_command(&self, findings: &mut Findings) {
        let Some([ins, outs]) = self.of_command() else { return };
        for (name, count) in [("command_page_ins", ins), ("command_page_outs", outs)] {
            let name = format!("swap/record/{name}");
            findings.facts.push(Fact::new(name, count as f64, Unit::Count));
        }
        let counts = &self.converter.counts;
        let [all_ins, all_outs] = [counts.page_ins, counts.page_outs];
        let others = (all_ins - ins) + (all_outs - outs);
        if others as f64 > AGREE * (all_ins + all_outs) as f64 {
            findings.warn(format!(
                "{} of {all_ins} page-ins and {} of {all_outs} page-outs are by other processes than \
                 the command, because swap areas belong to the whole machine; the column \
                 command_pid marks the command's",
                all_ins - ins,
                all_outs - outs,
            ));
        }
    }

    /// Page-ins and page-outs by the command and its descendants.
    fn of_command(&self) -> Option<[u64; 2]> {
        self.converter.has_command().then(|| {
            let names = &self.converter.names;
            let by = self.converter.counts.by_process.iter();
            let of_command = by.filter(|(who, _)| names.process(**who).command.is_some());
            of_command.fold([0, 0], |[ins, outs], (_, [i, o])| [ins + i, outs + o])
        })
    }

    /// Facts about the processes that paged most.
    fn note_processes(&self, findings: &mut Findings) {
        let mut all: Vec<_> = self.converter.counts.by_process.iter().collect();
        all.sort_by_key(|(who, [ins, outs])| (std::cmp::Reverse(ins + outs), **who));
        for (who, counts) in all.into_iter().take(MAX_PROCESSES) {
            let process = self.converter.names.process(*who);
            for (name, count) in ["page_ins_of", "page_outs_by"].into_iter().zip(counts) {
                let mut fact = Fact::new(format!("swap/record/{name}"), *count as f64, Unit::Count);
                fact.labels.insert("process".to_owned(), process.name.clone());
                if let Some(pid) = process.pid {
                    fact.labels.insert("pid".to_owned(), pid.to_string());
                }
                findings.facts.push(fact);
            }
        }
    }

    fn note_warnings(&self, lost: u64, findings: &mut Findings) {
        if self.cut_short {
            findings.warn("interrupted: the trace has the events before that");
        }
        if lost > 0 {
            findings.warn(format!(
                "the kernel lost {lost} events because its buffers were full; --buffer makes them \
                 larger"
            ));
        }
        if let Some(status) = self.ended.status {
            match (status.code(), status.signal()) {
                (Some(0), _) => {}
                (Some(code), _) => findings.warn(format!("the command ended with code {code}")),
                (None, signal) => findings
                    .warn(format!("signal {} ended the command", signal.unwrap_or_default())),
            }
        }
        let left_out = self.converter.counts.files_left_out;
        if left_out > 0 {
            findings.warn(format!(
                "{left_out} page-cache events are left out: a trace holds at most {MAX_SPACES} files"
            ));
        }
        if get(&self.growth, "oom_kill").is_some_and(|kills| kills > 0) {
            findings.warn("memory and swap were full, and the kernel killed a process");
        }
        if get(&self.growth, "zswpout").is_some_and(|pages| pages > 0) {
            findings.warn(
                "zswap kept pages before they reached a swap area; these are not in the trace",
            );
        }
    }

    /// Compares the trace with the kernel's own counters.
    fn note_agreement(&self, traced: [f64; 2], findings: &mut Findings) {
        let mut worst: Option<(f64, &str, u64)> = None;
        for (name, traced) in ["pswpin", "pswpout"].into_iter().zip(traced) {
            let Some(counted) = get(&self.growth, name) else { continue };
            if counted < ENOUGH {
                continue;
            }
            let share = traced / counted as f64;
            let fact = format!("swap/record/traced_of_{name}");
            findings.facts.push(Fact::new(fact, share, Unit::Ratio));
            if worst.is_none_or(|(other, ..)| (share - 1.0).abs() > (other - 1.0).abs()) {
                worst = Some((share, name, counted));
            }
        }
        let answer = match worst {
            None => Answer::CannotTell,
            Some((share, ..)) if (share - 1.0).abs() <= AGREE => Answer::Yes,
            Some(_) => Answer::No,
        };
        let reason = match worst {
            None => format!("the kernel counted fewer than {} pages each way", grouped(ENOUGH)),
            Some((share, name, counted)) => format!(
                "the trace has {:.2} % of the {} pages that the kernel counted as {name}",
                share * 100.0,
                grouped(counted)
            ),
        };
        if answer == Answer::No {
            findings
                .warn(format!("{reason}; a difference above 2 % means that events are missing"));
        }
        findings.verdicts.push(Verdict {
            measured: worst.map(|(share, name, counted)| Quantity {
                name: format!("traced pages, of {name}"),
                value: share,
                unit: Unit::Ratio,
                interval: None,
                at_least: None,
                n: counted,
            }),
            ..Verdict::new(
                "swap/record",
                "Does the trace have what the kernel counted?",
                answer,
                reason,
            )
        });
    }
}
