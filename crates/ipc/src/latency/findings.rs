//! Turns reports into findings.

use unjank_host::{Error, Nanos, Result};
use unjank_measure::stats::proportion;
use unjank_measure::{Fact, Findings, Outlier, Series, SeriesRecord, StartFindings, Unit, pool};

use super::options::{CallPolicy, Caller};
use super::report::{Leg, Miss, PairReport, PriorityCheck};
use super::{Measured, MeasuredStart, Measurements};
use crate::explain::inherited_shares;
use crate::transport::Transport;

impl Measurements {
    /// As findings. Series: `ipc/<transport>/<fifo|other>/round_trip` with the
    /// labels `caller` and `pair` (`all`: all pairs together). Facts for each
    /// caller over all pairs: `…/deadline_missed`, `…/same_cpu` and
    /// `…/client_moved`, shares of calls. Facts for each transport:
    /// `ipc/<transport>/inherited/<real_time|nice>`, shares of the checked calls,
    /// and `ipc/<transport>/failed_pairs`.
    ///
    /// # Errors
    /// `Invalid` if a client process reported a damaged series.
    pub fn findings(&self) -> Result<Findings> {
        let mut findings = self.notes.clone();
        for measured in &self.by_transport {
            measured.note(&mut findings)?;
        }
        Ok(findings)
    }
}

impl Measured {
    fn note(&self, findings: &mut Findings) -> Result<()> {
        let transport = self.transport;
        for (number, pair) in self.starts.iter().flat_map(|start| start.pairs.iter().enumerate()) {
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
        }
        if let Some(why) = self.reports().find_map(|report| report.no_fifo.as_ref()) {
            findings.not_supported(format!("ipc/{transport}/fifo"), why.clone());
        }
        let starts = self.starts.iter().map(|start| start.findings(transport)).collect();
        let pooled = pool(starts).map_err(|error| Error::Invalid(error.to_string()))?;
        let failed = self.failed_pairs();
        if failed > 0 {
            let name = format!("ipc/{transport}/failed_pairs");
            findings.facts.push(Fact::new(name, failed as f64, Unit::Count));
        }
        if self.reports().next().is_some() {
            findings.verdicts.push(self.inheritance.verdict(&pooled.facts));
        }
        findings.merge(pooled);
        if let Some(why) = &self.trace_lost {
            findings.warn(format!("the trace was not kept: {why}"));
        }
        if let Some((pair, miss)) = self.missed() {
            findings.warn(format!(
                "stopped at the first missed deadline: call {} of pair {pair} over {transport} \
                 ({}, {}) took {}",
                self.calls_before(pair, miss) + miss.call,
                miss.policy.name(),
                miss.caller.name(),
                miss.took
            ));
            findings.outliers.push(Outlier {
                series: format!("ipc/{transport}/{}/round_trip", miss.policy.name()),
                labels: [("caller", miss.caller.name().to_owned()), ("pair", pair.to_string())]
                    .map(|(name, value)| (name.to_owned(), value))
                    .into(),
                at: (self.since_the_first_start() + miss.into_the_start).get(),
                value: miss.took.get(),
                cpu: None,
                cause: self.cause.clone(),
            });
        }
        Ok(())
    }

    fn reports(&self) -> impl Iterator<Item = &PairReport> {
        self.starts.iter().flat_map(MeasuredStart::reports)
    }

    /// Calls of a pair like the missed one, in the starts before the last.
    fn calls_before(&self, pair: usize, miss: &Miss) -> u64 {
        let before = self.starts.iter().rev().skip(1);
        let reports = before.filter_map(|start| start.pairs.get(pair)?.as_ref().ok());
        let legs = reports.flat_map(|report| &report.legs);
        let alike = legs.filter(|leg| leg.policy == miss.policy && leg.caller == miss.caller);
        alike.map(|leg| leg.series.n).sum()
    }

    fn since_the_first_start(&self) -> Nanos {
        let ends = self.starts.first().zip(self.starts.last());
        ends.map_or(Nanos::ZERO, |(first, last)| last.at.since(first.at))
    }
}

impl MeasuredStart {
    /// Its series, and its shares of calls.
    fn findings(&self, transport: Transport) -> StartFindings {
        let mut findings = Findings::default();
        for (number, pair) in self.pairs.iter().enumerate() {
            let legs = pair.iter().flat_map(|report| &report.legs);
            let series = legs.map(|leg| &leg.series).filter(|series| series.n > 0);
            findings.series.extend(series.map(|series| labelled(series, number)));
        }
        for policy in [CallPolicy::Fifo, CallPolicy::Other] {
            for caller in [Caller::Warm, Caller::Cold] {
                self.note_legs(transport, policy, caller, &mut findings);
            }
        }
        let checks: Vec<PriorityCheck> =
            self.reports().flat_map(|report| report.checks.iter().copied()).collect();
        findings.facts.extend(inherited_shares(transport, &checks));
        StartFindings { at: self.at, findings }
    }

    /// Shares of the calls of one kind, over all pairs.
    fn note_legs(
        &self,
        transport: Transport,
        policy: CallPolicy,
        caller: Caller,
        findings: &mut Findings,
    ) {
        let legs = self.reports().flat_map(|report| &report.legs);
        let legs: Vec<&Leg> =
            legs.filter(|leg| leg.policy == policy && leg.caller == caller).collect();
        let sum = |count: fn(&Leg) -> u64| legs.iter().map(|leg| count(leg)).sum::<u64>();
        let calls = sum(|leg| leg.series.n);
        if calls == 0 {
            return;
        }
        let share = |what: &str, count: u64| {
            let name = format!("ipc/{transport}/{}/{what}", policy.name());
            Fact::new(name, count as f64 / calls as f64, Unit::Ratio)
                .with_label("caller", caller.name())
                .with_interval(proportion::interval(count, calls), calls)
                .averaged()
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

#[cfg(test)]
mod tests {
    use unjank_host::Timestamp;

    use super::*;
    use crate::explain::{Inheritance, InheritanceVerdict, Share};

    /// A start of 100 calls, of which `late` miss the deadline.
    fn start(at: u64, late: u64) -> MeasuredStart {
        let mut series = Series::new("ipc/unix/other/round_trip").with_label("caller", "warm");
        for call in 0..100 {
            series.record(Nanos::from_micros(if call < late { 5_000 } else { 20 }));
        }
        let leg = Leg {
            policy: CallPolicy::Other,
            caller: Caller::Warm,
            series: series.finish(),
            total: 0,
            late,
            same_cpu: 0,
            moved: 0,
            raw: Vec::new(),
        };
        let report = PairReport { legs: vec![leg], ..PairReport::default() };
        MeasuredStart { at: Timestamp::from_nanos(at), pairs: vec![Ok(report)] }
    }

    fn late_share(late: [u64; 5]) -> [f64; 2] {
        let inheritance = InheritanceVerdict {
            transport: Transport::Unix,
            answer: Inheritance::NotTestable,
            reason: String::new(),
            real_time: Share::default(),
            nice: Share::default(),
        };
        let starts = (0..).zip(late).map(|(at, late)| start(at, late)).collect();
        let measured = Measured {
            transport: Transport::Unix,
            starts,
            inheritance,
            cause: None,
            trace_lost: None,
        };
        let measurements =
            Measurements { by_transport: vec![measured], notes: Findings::default() };
        let findings = measurements.findings().unwrap();
        let series = findings.series_named("ipc/unix/other/round_trip").unwrap();
        assert_eq!((series.n, series.repetitions.len()), (500, 5));
        let share = findings.fact_named("ipc/unix/other/deadline_missed").unwrap();
        assert!((share.value - 0.1).abs() < 1e-12);
        share.interval.unwrap()
    }

    #[test]
    fn a_share_that_differs_between_starts_has_a_wider_interval() {
        let [[alike_low, alike_high], [low, high]] = [[10; 5], [50, 0, 0, 0, 0]].map(late_share);
        assert!(alike_high - alike_low < 0.06, "{alike_low} {alike_high}");
        assert!(low < 0.02 && high > 0.3, "{low} {high}");
    }
}
