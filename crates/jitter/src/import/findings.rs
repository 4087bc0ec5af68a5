//! Turns another tool's threads into findings like those of `jitter native`.

use std::collections::BTreeSet;

use unjank_host::Nanos;
use unjank_measure::{Fact, Findings, Series, Unit};

use super::document::Thread;
use super::imported::Imported;
use crate::probe::{PERIOD, PERIOD_LABEL};

/// Why there is no distribution although threads woke.
const NO_HISTOGRAM: &str = "no wake-up of the file is in a histogram: cyclictest keeps one with \
                            --histogram=N, for wake-ups less than N late";

/// How late wake-ups beyond a histogram are taken to have been.
#[derive(Debug, Clone, Copy)]
pub(super) enum Beyond {
    /// As late as the latest, which is one of them.
    Latest,
    /// As early as is possible, except the latest.
    Least,
}

impl Imported {
    /// Series like those of `jitter native`: one over all threads and, if there
    /// are several, one for each.
    pub fn findings(&self) -> Findings {
        let mut findings = self.counted(Beyond::Latest);
        self.note_bounds(&mut findings);
        findings
    }

    /// The findings; wake-ups beyond the histograms were as late as `beyond` says.
    pub(super) fn counted(&self, beyond: Beyond) -> Findings {
        let mut findings = Findings { warnings: self.warnings.clone(), ..Findings::default() };
        let name = format!("jitter/native/{}/wakeup", self.policy);
        let has_histogram = self.threads.iter().any(|thread| !thread.counted.buckets.is_empty());
        let mut all = Series::new(&*name).with_label("policy", self.scheduling());
        let mut singles = Vec::new();
        for thread in &self.threads {
            let empty = Series::new(&*name).with_label("policy", self.scheduling());
            let mut single = self.labelled(empty, thread);
            if has_histogram {
                self.count(thread, beyond, &mut single, &mut findings);
            }
            all.absorb(&single);
            singles.push(single.finish());
        }
        if all.n() == 0 {
            let reason = if self.wakeups() > 0 { NO_HISTOGRAM } else { "the file has no wake-up" };
            findings.not_supported(&*name, reason);
            self.note_extremes(&mut findings);
        } else {
            findings.series.push(all.finish());
            if singles.len() > 1 {
                findings.series.append(&mut singles);
            }
        }
        if let Some(period) = self.period {
            findings.facts.push(Fact::new(PERIOD, period.get() as f64, Unit::Nanoseconds));
        }
        let resolution = self.resolution.get() as f64;
        findings.facts.push(Fact::new("jitter/import/resolution", resolution, Unit::Nanoseconds));
        findings
    }

    fn wakeups(&self) -> u64 {
        self.threads.iter().fold(0, |sum, thread| sum.saturating_add(thread.counted.wakeups))
    }

    /// Number of wake-ups beyond the histograms.
    pub(super) fn beyond(&self) -> u64 {
        self.threads.iter().fold(0, |sum, thread| sum.saturating_add(thread.counted.beyond()))
    }

    /// The least latency of a wake-up beyond the histograms, in the file's unit.
    pub(super) fn least_beyond(&self) -> u64 {
        let last = |thread: &Thread| thread.counted.buckets.last().map(|(last, _)| *last + 1);
        let reach = self.threads.iter().filter_map(last).max();
        reach.unwrap_or(0).max(self.histogram.unwrap_or(0))
    }

    pub(super) fn nanos(&self, latency: u64) -> Nanos {
        Nanos(latency.saturating_mul(self.resolution.get()))
    }

    /// Fills the series of one thread.
    fn count(&self, thread: &Thread, beyond: Beyond, series: &mut Series, findings: &mut Findings) {
        let counted = &thread.counted;
        let others = match beyond {
            Beyond::Latest => counted.max,
            Beyond::Least => self.least_beyond().min(counted.max),
        };
        let beyond = counted.beyond();
        // After a late wake-up, cyclictest skips the periods that have passed.
        let period = thread.period.map_or(0, Nanos::get);
        let passed = |time: Nanos| time.get().checked_div(period).unwrap_or(0);
        for &(latency, times) in &counted.buckets {
            let time = self.nanos(latency);
            series.record_many(time, times);
            series.miss(passed(time).saturating_mul(times));
        }
        if beyond > 0 {
            let latest = self.nanos(counted.max);
            series.record_many(latest, 1);
            series.record_many(self.nanos(others), beyond - 1);
            series.miss(passed(latest));
            let inside = 1.0 - beyond as f64 / counted.wakeups.max(1) as f64;
            findings.warn(format!(
                "thread {}: {beyond} of {} wake-ups lay beyond its histogram and count as late as \
                 the latest, {latest}: its quantiles above p{:.2} are upper bounds, and missed \
                 periods beyond the histogram are those of the latest only",
                thread.index,
                counted.wakeups,
                inside * 100.0
            ));
        }
    }

    /// Adds the labels that identify a thread's series, like `jitter native`.
    fn labelled(&self, mut series: Series, thread: &Thread) -> Series {
        let cpus: BTreeSet<_> = self.threads.iter().filter_map(|other| other.cpu).collect();
        let alone = cpus.len() == self.threads.len();
        series = match thread.cpu.filter(|_| alone) {
            Some(cpu) => series.with_label("cpu", cpu.to_string()),
            None => series.with_label("thread", thread.index.to_string()),
        };
        let differ = |of: fn(&Thread) -> Option<u64>| {
            self.threads.iter().any(|other| of(other) != of(thread))
        };
        if let Some(priority) = thread.priority
            && differ(|thread| thread.priority.map(u64::from))
        {
            series = series.with_label("priority", priority.to_string());
        }
        if let Some(period) = thread.period
            && differ(|thread| thread.period.map(Nanos::get))
        {
            series = series.with_label(PERIOD_LABEL, period.get().to_string());
        }
        series
    }

    /// Adds minimum, mean and maximum of threads without histograms.
    fn note_extremes(&self, findings: &mut Findings) {
        for thread in &self.threads {
            let counted = &thread.counted;
            if counted.wakeups == 0 {
                continue;
            }
            let resolution = self.resolution.get() as f64;
            let mean = counted.mean.filter(|mean| mean.is_finite());
            let known = [
                ("earliest", Some(counted.min as f64)),
                ("mean", mean),
                ("latest", Some(counted.max as f64)),
            ];
            for (what, value) in known {
                let Some(value) = value else { continue };
                let name = format!("jitter/import/{what}");
                let mut fact = Fact::new(name, value * resolution, Unit::Nanoseconds)
                    .with_label("thread", thread.index.to_string());
                fact.n = Some(counted.wakeups);
                findings.facts.push(fact);
            }
        }
    }
}
