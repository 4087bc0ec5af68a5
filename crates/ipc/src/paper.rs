//! The figures of AOSP's binder and hwbinder performance tests beside ours.
//!
//! Source: <https://source.android.com/docs/core/tests/vts/performance>. Its two example
//! outputs are from a phone of 2017; times of another device are shown, not judged.

use unjank_measure::claim::{Claim, Means};
use unjank_measure::stats::order;
use unjank_measure::{Answer, Fact, Findings, Unit};

use crate::explain::Inheritance;
use crate::latency::{self, CallPolicy, Leg, PairReport};
use crate::throughput::Cell;
use crate::transport::Transport;

const LATENCY: &str = "latency";
const THROUGHPUT: &str = "throughput";
const ANOTHER_DEVICE: &str = "a time of another device";
const EMULATED: &str = "an emulated machine's times say nothing about hardware";

/// The payloads of the example, in bytes: 4, 8, … 64 Ki.
const PAYLOADS: std::ops::RangeInclusive<u32> = 2..=16;

/// Payload in bytes and `Time` in nanoseconds: lines of the example.
const TIMES: [(usize, f64); 5] =
    [(4, 70_302.0), (8, 69_974.0), (1 << 10, 69_714.0), (4 << 10, 81_955.0), (64 << 10, 214_796.0)];

/// `avg`, `wst`, `bst` of the first pair in milliseconds, and its `meetR`.
const LEGS: [(CallPolicy, [f64; 3], f64); 2] =
    [(CallPolicy::Other, [0.2, 2.8, 0.053], 0.9996), (CallPolicy::Fifo, [0.16, 1.5, 0.067], 1.0)];

/// The page expects that most calls meet the deadline: in its example, at least 0.9988.
const MOST: f64 = 0.998;

/// Kinds of line that `-v` prints in the example.
const LINES: usize = 7;

/// Above this share of calls on the caller's CPU, the tool prints `GOOD`.
const GOOD_SYNC: f64 = 0.6;

/// The calls that the claims stand beside.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// hwbinder as on the page, or binder.
    pub transport: Transport,
    /// Calls back to back.
    pub throughput: &'a [Cell],
    /// Calls at two policies.
    pub latency: Option<&'a latency::Measured>,
    /// Their findings, with the shares of calls.
    pub findings: &'a Findings,
    /// How they were measured.
    pub means: Means,
}

/// The claims beside what was measured. `reason` says why something was not.
pub fn claims(measured: &Measured<'_>, reason: &str) -> Vec<Claim> {
    let no_fifo = measured.pairs().find_map(|pair| pair.no_fifo.as_deref());
    let reason = no_fifo.unwrap_or(reason);
    let mut claims = vec![measured.payloads(reason)];
    claims.extend(TIMES.map(|published| measured.time(published, reason)));
    claims.push(measured.formula(reason));
    for (policy, times, met) in LEGS {
        claims.push(measured.synced(policy, reason));
        claims.extend(measured.leg_times(policy, times, reason));
        claims.push(measured.deadline(policy, met, reason));
    }
    claims.push(measured.real_time_first(reason));
    claims.push(measured.inherited(reason));
    claims.push(measured.verbose(reason));
    claims
}

impl Measured<'_> {
    fn claim(&self, test: &str, what: impl Into<String>, published: impl Into<String>) -> Claim {
        let source = format!("AOSP, {} {test}", self.transport);
        Claim::new(source, what, published).by(self.means)
    }

    /// The pairs of all starts.
    fn pairs(&self) -> impl Iterator<Item = &PairReport> {
        let starts = self.latency.map_or(&[][..], |measured| &measured.starts);
        starts.iter().flat_map(|start| &start.pairs).filter_map(|pair| pair.as_ref().ok())
    }

    fn legs(&self, policy: CallPolicy) -> impl Iterator<Item = &Leg> {
        self.pairs().flat_map(|pair| &pair.legs).filter(move |leg| leg.policy == policy)
    }

    fn cell(&self, payload: usize) -> Option<&Cell> {
        self.throughput.iter().find(|cell| cell.payload == payload)
    }

    /// A share of the calls at `policy` over all starts.
    fn share(&self, policy: CallPolicy, what: &str) -> Option<&Fact> {
        self.findings.fact_named(&format!("ipc/{}/{}/{what}", self.transport, policy.name()))
    }

    fn payloads(&self, reason: &str) -> Claim {
        let published = format!("{} lines, 4 B to 64 KiB", PAYLOADS.count());
        let claim = self.claim(THROUGHPUT, "payloads with Time, CPU and iterations", published);
        let is_whole =
            |cell: &Cell| cell.time().is_some() && cell.cpu().is_some() && cell.calls() > 0;
        let there = PAYLOADS.filter(|power| self.cell(1 << power).is_some_and(is_whole)).count();
        if there == 0 {
            return claim.untold(reason);
        }
        let n = self.throughput.iter().map(Cell::calls).sum();
        let answer = if there == PAYLOADS.count() { Answer::Yes } else { Answer::No };
        claim.with(there as f64, Unit::Count, None, n).answered(answer, "payloads are missing")
    }

    fn time(&self, (payload, nanos): (usize, f64), reason: &str) -> Claim {
        let what = format!("round trip with {}", Unit::Bytes.show(payload as f64));
        let claim = self.claim(THROUGHPUT, what, Unit::Nanoseconds.show(nanos));
        match self.cell(payload).and_then(|cell| Some((cell, cell.time()?))) {
            None => claim.untold(reason),
            Some((cell, time)) => claim
                .with(time.value, Unit::Nanoseconds, time.interval, cell.calls())
                .untold(ANOTHER_DEVICE),
        }
    }

    /// The page multiplies the bytes of one call by the number of all calls, and divides by
    /// the time of one.
    fn formula(&self, reason: &str) -> Claim {
        let published = "2.268 Gb/s = 8 × 21,296 ÷ 69,974 ns";
        let claim = self.claim(THROUGHPUT, "throughput with 8 B", published);
        let rate = self.cell(8).and_then(|cell| Some((cell, cell.calls_per_second()?)));
        let Some((cell, rate)) = rate else { return claim.untold(reason) };
        let bytes = |rate: f64| rate * 8.0;
        let interval = rate.interval.map(|ends| ends.map(bytes));
        claim.with(bytes(rate.value), Unit::BytesPerSecond, interval, cell.calls()).untold(
            "the page divides the bytes of all iterations by the time of one; 8 B in 69,974 ns \
             are 114 kB/s",
        )
    }

    fn synced(&self, policy: CallPolicy, reason: &str) -> Claim {
        let what = format!("calls served on the caller's CPU, {}: SYNC, R", policy.name());
        let claim = self.claim(LATENCY, what, "GOOD, 0.9352");
        let Some(share) = self.share(policy, "same_cpu") else { return claim.untold(reason) };
        claim
            .with(share.value, Unit::Ratio, share.interval, share.n.unwrap_or_default())
            .judged_above(GOOD_SYNC, "it is POOR")
    }

    fn leg_times(&self, policy: CallPolicy, published: [f64; 3], reason: &str) -> [Claim; 3] {
        let calls: u64 = self.legs(policy).map(|leg| leg.series.n).sum();
        let summaries = || self.legs(policy).filter_map(|leg| leg.series.summary);
        let total: u64 = self.legs(policy).map(|leg| leg.total).sum();
        let ours = [
            (calls > 0).then(|| total as f64 / calls as f64),
            summaries().map(|summary| summary.max as f64).reduce(f64::max),
            summaries().map(|summary| summary.min as f64).reduce(f64::min),
        ];
        let names = ["avg", "wst", "bst"];
        std::array::from_fn(|place| {
            let millis = Unit::Nanoseconds.show(published[place] * 1e6);
            let what = format!("round trip, {}: {}", policy.name(), names[place]);
            let claim = self.claim(LATENCY, what, millis);
            match ours[place] {
                Some(nanos) => {
                    claim.with(nanos, Unit::Nanoseconds, None, calls).untold(ANOTHER_DEVICE)
                }
                None => claim.untold(reason),
            }
        })
    }

    fn deadline(&self, policy: CallPolicy, published: f64, reason: &str) -> Claim {
        let what = format!("calls within 2.5 ms, {}: meetR", policy.name());
        let claim = self.claim(LATENCY, what, published.to_string());
        let Some(late) = self.share(policy, "deadline_missed") else {
            return claim.untold(reason);
        };
        let interval = late.interval.map(|[low, high]| [1.0 - high, 1.0 - low]);
        let claim = claim.with(1.0 - late.value, Unit::Ratio, interval, late.n.unwrap_or_default());
        match self.means {
            Means::Emulated => claim.untold(EMULATED),
            Means::Measured | Means::Modelled => claim.judged_above(MOST, "more calls are late"),
        }
    }

    /// Real-time calls are faster on average, start by start.
    fn real_time_first(&self, reason: &str) -> Claim {
        let what = "average of FIFO calls against ordinary ones";
        let claim = self.claim(LATENCY, what, "faster (0.80×)");
        let starts = self.latency.map_or(&[][..], |measured| &measured.starts);
        let ratios = starts.iter().filter_map(|start| {
            let average = |policy| {
                let pairs = start.pairs.iter().filter_map(|pair| pair.as_ref().ok());
                let of = pairs.flat_map(|pair| &pair.legs).filter(|leg| leg.policy == policy);
                let (calls, total) = of
                    .fold((0, 0), |(calls, total), leg| (calls + leg.series.n, total + leg.total));
                (calls > 0 && total > 0).then(|| total as f64 / calls as f64)
            };
            Some(average(CallPolicy::Fifo)? / average(CallPolicy::Other)?)
        });
        let mut ratios: Vec<f64> = ratios.collect();
        let n = ratios.len() as u64;
        let Some((value, interval)) = order::median(&mut ratios) else {
            return claim.untold(reason);
        };
        let slower = "they are slower; the page says that they need not be faster";
        claim.with(value, Unit::Times, interval, n).judged_below(1.0, slower)
    }

    fn inherited(&self, reason: &str) -> Claim {
        let claim = self.claim(LATENCY, "inheritance of real-time priority", "PASS");
        let Some(measured) = self.latency else { return claim.untold(reason) };
        let verdict = &measured.inheritance;
        let claim = claim.with_word(verdict.answer.word(), verdict.real_time.of);
        match verdict.answer {
            Inheritance::Inherited => claim.answered(Answer::Yes, ""),
            Inheritance::NotTestable => claim.untold(&*verdict.reason),
            _ if self.transport == Transport::Binder => {
                claim.untold("the page expects it of hwbinder only")
            }
            _ => claim.answered(Answer::No, &*verdict.reason),
        }
    }

    /// The lines of `-v`: service, main, client, both callers and their server's thread.
    fn verbose(&self, reason: &str) -> Claim {
        let claim = self.claim(LATENCY, "kinds of line that -v prints", LINES.to_string());
        let Some(first) = self.pairs().next() else { return claim.untold(reason) };
        let lines = first.lines();
        let claim = claim.with(lines as f64, Unit::Count, None, 1);
        match (lines == LINES, &first.no_fifo) {
            (true, _) => claim.answered(Answer::Yes, ""),
            (false, Some(why)) => claim.untold(&**why),
            (false, None) => claim.answered(Answer::No, "a process ended early"),
        }
    }
}
