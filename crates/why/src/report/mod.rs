//! Findings about launches: a verdict, the split, the longest waits, the threads that had
//! the CPU, and the predicted savings of changes.

mod about;
mod agreement;
mod apps;
mod best;
mod calibration;
mod calls;
mod commands;
mod culprit;
mod delays;
mod explained;
mod family;
mod handoff;
mod kin;
mod launches;
mod locks;
mod names;
mod next;
mod page_in;
mod proof;
mod quota;
mod ready;
mod run_queue;
#[cfg(test)]
mod scripted;
mod sentence;
mod servers;
mod shell;
mod split;
mod spread;
mod stacks;
mod storage;
mod timeline;
mod verdict;
mod waits;
mod what_if;
mod window;

use unjank_host::Support;
use unjank_host::input::Stop;
use unjank_measure::record::Fact;
use unjank_measure::{Findings, Series, SeriesRecord, Unit};
use unjank_units::Nanos;

use crate::split::Cell;
use agreement::Agreement;
use launches::LaunchSummary;

pub use about::{About, Remedy};
pub use apps::{NamedSlice, app_frames, app_launches, named_slices};
pub use best::{BestChange, best};
pub use calibration::{Proved, calibration};
pub use culprit::Culprit;
pub use delays::{DelayCost, delays};
pub use explained::{Clocks, Explained, Server, Subject};
pub use family::Family;
pub use handoff::Handoff;
pub use launches::Launches;
pub(crate) use names::{ended_by, evidence, operation, place, thread_name};
pub use page_in::shown_files;
pub use proof::{Prediction, ProofOutcome, Shift, predictions, proof};
pub use ready::{LastStep, Noticed, last_step};
pub use shell::line as shell_line;
pub use spread::Spread;
pub use window::window_table;

/// The findings about launches of one program. Most tables are about the
/// [`typical`](Launches::typical) launch.
pub fn findings(launches: &Launches, about: &About) -> Findings {
    said(launches, about, &Stop::default())
}

/// As `findings`; `None` after a stop request.
pub fn findings_until(launches: &Launches, about: &About, stop: &Stop) -> Option<Findings> {
    let findings = said(launches, about, stop);
    (!stop.is_requested()).then_some(findings)
}

fn said(launches: &Launches, about: &About, stop: &Stop) -> Findings {
    let mut findings = Findings::default();
    let Some(typical) = launches.typical() else {
        findings.warn(launches.missing().unwrap_or_default());
        return findings;
    };
    let (all, summary) = (launches.all(), launches.typical_summary());
    let totals = totals(typical, all);
    findings.facts = facts(typical);
    let savings = launches.savings();
    let agreement = summary.map(|summary| Agreement::of(summary, all)).unwrap_or_default();
    findings.verdicts.push(verdict::verdict(typical, agreement, &totals, &savings, about));
    findings.series.push(totals);
    findings.tables.extend(next::table(&savings, all.len(), about));
    findings.tables.push(timeline::path(typical));
    findings.tables.push(split::table(typical));
    if let Some((table, facts)) = summary.and_then(|summary| agreement::table(summary, all)) {
        findings.tables.push(table);
        findings.facts.extend(facts);
    }
    findings.tables.push(waits::table(typical));
    let predicted = what_if::table(typical, &savings, all.len(), about);
    findings.tables.extend(predicted.map(|table| agreement.noted(table)));
    findings.tables.extend(locks::table(typical));
    findings.tables.extend(run_queue::table(typical, stop));
    findings.tables.extend(page_in::table(typical));
    findings.tables.extend(storage::table(typical));
    findings.tables.extend(timeline::clock(typical));
    findings.tables.extend(timeline::requests(typical));
    warn(typical, &mut findings);
    let of_all = launches.left_out_warning().into_iter().chain(launches.median_warning());
    for warning in of_all.chain(launches.warnings.iter().chain(&typical.warnings).cloned()) {
        findings.warn(warning);
    }
    findings
}

/// The lengths of all launches; if all were cut short, that of the recorded beginning.
fn totals(typical: &Explained, all: &[LaunchSummary]) -> SeriesRecord {
    let mut totals = Series::new("why/total");
    if typical.is_cut {
        totals.record(typical.total());
        return totals.with_label(CUT_SHORT.0, CUT_SHORT.1).finish();
    }
    for launch in all {
        totals.record(launch.total());
    }
    totals.finish()
}

/// The label of times of a launch that was cut short. They are not compared with others.
const CUT_SHORT: (&str, &str) = ("launch", "cut short");

/// `why/total`, and its parts `why/time`, which add up to it.
fn facts(launch: &Explained) -> Vec<Fact> {
    let nanos = |name: &str, time: Nanos| Fact::new(name, time.get() as f64, Unit::Nanoseconds);
    let mut facts = vec![nanos("why/total", launch.total())];
    for ((way, cell), time) in &launch.split.cells {
        let mut fact = nanos("why/time", *time);
        fact.labels.insert("way".to_owned(), way.name().to_owned());
        fact.labels.insert("activity".to_owned(), cell.name().to_owned());
        facts.push(fact);
    }
    if launch.is_cut {
        let labelled = facts.into_iter().map(|fact| fact.with_label(CUT_SHORT.0, CUT_SHORT.1));
        return labelled.collect();
    }
    facts
}

/// The share of switches behind a missing one that has a warning.
const MISSING: f64 = 0.01;

fn warn(launch: &Explained, findings: &mut Findings) {
    let lost = launch.trace.lost;
    if lost.overwritten + lost.dropped > 0 {
        findings.warn(format!(
            "the kernel lost {} trace events; parts of the path may be unknown",
            lost.overwritten + lost.dropped
        ));
    }
    let switches = launch.trace.switches(launch.from, launch.to);
    if switches.unconnected as f64 > MISSING * switches.recorded as f64 {
        findings.warn(format!(
            "the kernel did not record all switches: before {} of {} there is at least one missing, \
             so that parts of the path may be wrong",
            switches.unconnected, switches.recorded
        ));
    }
    match &launch.stacks {
        Some(Support::Yes(stacks)) if stacks.lost > 0 => findings.warn(format!(
            "the kernel lost {} stacks: functions of some waits are not known",
            stacks.lost
        )),
        Some(Support::No(reason)) => findings.not_supported("why/stacks", reason.clone()),
        _ => {}
    }
    let unknown = launch.split.of_cell(Cell::Of(crate::path::Activity::Unknown));
    let share = unknown.get() as f64 / (launch.total().get() as f64).max(1.0);
    if share > 0.02 {
        findings.warn(format!("{:.0} % of the time is unknown", 100.0 * share));
    }
    if let Some(why) = launch.without_clocks() {
        findings.not_supported("slow-clock", format!("{why}; it is part of computing"));
    } else if let Some(why) = &launch.no_clocks {
        findings.warn(format!("{why}: computing there counts as if at the highest clock"));
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::Script;

    use super::*;

    #[test]
    fn a_clock_that_is_known_for_some_cpus_has_a_warning() {
        let script = Script::new().runs(0, 0, 9, 7).sleeps(0, 400, 7, 0);
        let clocks = Clocks {
            highest: [(0, 2_000)].into(),
            missing: Some("cpu1 has no cpufreq".to_owned()),
            ..Clocks::default()
        };
        let about = About::default();
        let launch = scripted::explained_with(&script, 400, clocks);
        let findings = findings(&Launches::single(launch, &about), &about);
        assert!(findings.warnings.iter().any(|it| it.starts_with("cpu1 has no cpufreq: ")));
    }

    #[test]
    fn a_clock_that_is_not_known_has_the_reason() {
        let reason = |missing: Option<&str>| {
            let script = Script::new().runs(0, 0, 9, 7).sleeps(0, 400, 7, 0);
            let clocks = Clocks { missing: missing.map(str::to_owned), ..Clocks::default() };
            let launch = scripted::explained_with(&script, 400, clocks);
            let about = About::default();
            findings(&Launches::single(launch, &about), &about).unsupported.remove(0).reason
        };
        let itself = "the processor chooses its clock itself (amd-pstate-epp)";
        assert_eq!(reason(Some(itself)), format!("{itself}; it is part of computing"));
        assert!(reason(None).starts_with("this machine does not report clock frequencies; "));
    }
}
