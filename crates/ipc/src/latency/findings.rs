//! Turns reports into findings.

use std::collections::BTreeMap;

use unjank_measure::stats::proportion;
use unjank_measure::{Fact, Findings, Outlier, Series, SeriesRecord, Unit};

use super::options::{CallPolicy, Caller};
use super::report::Leg;
use super::{Measured, Measurements};

impl Measurements {
    /// As findings. Series: `ipc/<transport>/<fifo|other>/round_trip` with the
    /// labels `caller` and `pair` (`all`: all pairs together). Facts for each
    /// caller over all pairs: `…/deadline_missed`, `…/same_cpu` and
    /// `…/client_moved`, shares of calls. Facts for each transport:
    /// `ipc/<transport>/inherited/<real_time|nice>`, shares of the checked calls,
    /// and `ipc/<transport>/failed_pairs`.
    pub fn findings(&self) -> Findings {
        let mut findings = self.notes.clone();
        for measured in &self.by_transport {
            measured.note(&mut findings);
        }
        findings
    }
}

impl Measured {
    fn note(&self, findings: &mut Findings) {
        let transport = self.transport;
        for (number, pair) in self.pairs.iter().enumerate() {
            let report = match pair {
                Ok(report) => report,
                Err(why) => {
                    findings.warn(format!("pair {number} over {transport} failed: {why}"));
                    continue;
                }
            };
            if let Some(why) = &report.failure {
                findings.warn(format!("pair {number} over {transport} ended early: {why}"));
            }
            if let Some(why) = &report.no_fifo {
                findings.not_supported(format!("ipc/{transport}/fifo"), why.clone());
            }
            for leg in report.legs.iter().filter(|leg| leg.series.n > 0) {
                findings.series.push(labelled(&leg.series, number));
            }
        }
        let failed = self.failed_pairs();
        if failed > 0 {
            let name = format!("ipc/{transport}/failed_pairs");
            findings.facts.push(Fact::new(name, failed as f64, Unit::Count));
        }
        for policy in [CallPolicy::Fifo, CallPolicy::Other] {
            for caller in [Caller::Warm, Caller::Cold] {
                self.note_legs(policy, caller, findings);
            }
        }
        findings.facts.extend(self.inheritance.facts());
        if !self.pairs.iter().all(Result::is_err) {
            findings.verdicts.push(self.inheritance.verdict());
        }
        if let Some(why) = &self.trace_lost {
            findings.warn(format!("the trace was not kept: {why}"));
        }
        if let Some((pair, miss)) = self.missed() {
            findings.warn(format!(
                "stopped at the first missed deadline: call {} of pair {pair} over {transport} \
                 ({}, {}) took {}",
                miss.call,
                miss.policy.name(),
                miss.caller.name(),
                miss.took
            ));
            findings.outliers.push(Outlier {
                series: format!("ipc/{transport}/{}/round_trip", miss.policy.name()),
                labels: BTreeMap::new(),
                at: miss.into_the_run.get(),
                value: miss.took.get(),
                cpu: None,
                cause: self.cause.clone(),
            });
        }
    }

    /// Shares of the calls of one kind, over all pairs.
    fn note_legs(&self, policy: CallPolicy, caller: Caller, findings: &mut Findings) {
        let reports = self.pairs.iter().flatten().flat_map(|report| &report.legs);
        let legs: Vec<&Leg> =
            reports.filter(|leg| leg.policy == policy && leg.caller == caller).collect();
        let sum = |count: fn(&Leg) -> u64| legs.iter().map(|leg| count(leg)).sum::<u64>();
        let calls = sum(|leg| leg.series.n);
        if calls == 0 {
            return;
        }
        let share = |what: &str, count: u64| {
            let name = format!("ipc/{}/{}/{what}", self.transport, policy.name());
            Fact::new(name, count as f64 / calls as f64, Unit::Ratio)
                .with_label("caller", caller.name())
                .with_interval(proportion::interval(count, calls), calls)
        };
        if legs.len() > 1 {
            findings.series.extend(pooled(&legs));
        }
        findings.facts.push(share("deadline_missed", sum(|leg| leg.late)));
        findings.facts.push(share("same_cpu", sum(|leg| leg.same_cpu)));
        findings.facts.push(share("client_moved", sum(|leg| leg.moved)));
    }
}

/// Merges the calls of all pairs into one series.
fn pooled(legs: &[&Leg]) -> Option<SeriesRecord> {
    let first = &legs.first()?.series;
    let caller = first.labels.get("caller")?;
    let mut all = Series::new(&first.name).with_label("caller", caller).with_label("pair", "all");
    for leg in legs {
        // They were written by this program a moment ago.
        all.absorb_record(&leg.series).ok()?;
    }
    Some(all.finish())
}

fn labelled(series: &SeriesRecord, pair: usize) -> SeriesRecord {
    let mut series = series.clone();
    series.labels.insert("pair".to_owned(), pair.to_string());
    series
}
