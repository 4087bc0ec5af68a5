//! The figures of AOSP's binder and hwbinder performance tests beside ours.
//!
//! Source: <https://source.android.com/docs/core/tests/vts/performance>. Its two example
//! outputs are from a phone of 2017; times of another device are shown, not judged.

use unjank_measure::claim::{Claim, Means};
use unjank_measure::stats::{order, proportion};
use unjank_measure::{Answer, Unit};

use crate::explain::Inheritance;
use crate::latency::{CallPolicy, Leg, Measured, PairReport};
use crate::throughput::Cell;

const SOURCE: &str = "AOSP, binder latency";
const THROUGHPUT: &str = "AOSP, hwbinder throughput";
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

/// The least `meetR` of the example at each policy: what most calls means there.
const MET: [f64; 2] = [0.9988, 0.9998];

/// Kinds of line that `-v` prints in the example.
const LINES: usize = 7;

/// Above this share of calls on the caller's CPU, the tool prints `GOOD`.
const GOOD_SYNC: [f64; 2] = [0.6, 1.0];

/// The claims beside calls over the binder, which were measured by `means`. `reason` says
/// why there are none.
pub fn claims(
    throughput: &[Cell],
    latency: Option<&Measured>,
    means: Means,
    reason: &str,
) -> Vec<Claim> {
    let mut claims = vec![payloads(throughput, means, reason)];
    claims.extend(TIMES.map(|published| time(throughput, published, means, reason)));
    claims.push(formula(throughput, means, reason));
    let pairs: Vec<&PairReport> = latency.map(reports).unwrap_or_default();
    claims.push(synced(&pairs, means, reason));
    for ((policy, times, met), least) in LEGS.into_iter().zip(MET) {
        claims.extend(leg_times(&pairs, policy, times, means, reason));
        claims.push(deadline(&pairs, (policy, met, least), means, reason));
    }
    claims.push(real_time_first(latency, means, reason));
    claims.push(inherited(latency, means, reason));
    claims.push(verbose(&pairs, means, reason));
    claims
}

/// The lines of `-v`: service, main, client, both callers and their server's thread.
fn verbose(pairs: &[&PairReport], means: Means, reason: &str) -> Claim {
    let claim = Claim::new(SOURCE, "kinds of line that -v prints", LINES.to_string());
    let Some(first) = pairs.first() else { return claim.untold(reason) };
    let lines = first.lines();
    let answer = if lines == LINES { Answer::Yes } else { Answer::No };
    let why = "calls at real-time priority were not possible, or a process ended early";
    claim.with(lines as f64, Unit::Count, None, 1).by(means).answered(answer, why)
}

fn payloads(cells: &[Cell], means: Means, reason: &str) -> Claim {
    let published = format!("{} lines, 4 B to 64 KiB", PAYLOADS.count());
    let claim = Claim::new(THROUGHPUT, "payloads with Time, CPU and iterations", published);
    let whole = |cell: &&Cell| cell.time().is_some() && cell.cpu().is_some() && cell.calls() > 0;
    let there = PAYLOADS
        .filter(|power| cells.iter().filter(whole).any(|cell| cell.payload == 1 << power))
        .count();
    if there == 0 {
        return claim.untold(reason);
    }
    let n = cells.iter().map(Cell::calls).sum();
    let all = there == PAYLOADS.count();
    claim
        .with(there as f64, Unit::Count, None, n)
        .by(means)
        .answered(if all { Answer::Yes } else { Answer::No }, "payloads are missing")
}

fn time(cells: &[Cell], (payload, nanos): (usize, f64), means: Means, reason: &str) -> Claim {
    let what = format!("round trip with {}", Unit::Bytes.show(payload as f64));
    let claim = Claim::new(THROUGHPUT, what, Unit::Nanoseconds.show(nanos));
    let cell = cells.iter().find(|cell| cell.payload == payload);
    let Some((cell, time)) = cell.and_then(|cell| Some((cell, cell.time()?))) else {
        return claim.untold(reason);
    };
    claim
        .with(time.value, Unit::Nanoseconds, time.interval, cell.calls())
        .by(means)
        .untold(ANOTHER_DEVICE)
}

/// The page multiplies the bytes of one call by the number of all calls, and divides by the
/// time of one.
fn formula(cells: &[Cell], means: Means, reason: &str) -> Claim {
    let claim =
        Claim::new(THROUGHPUT, "throughput with 8 B", "2.268 Gb/s = 8 × 21,296 ÷ 69,974 ns");
    let cell = cells.iter().find(|cell| cell.payload == 8);
    let Some((cell, rate)) = cell.and_then(|cell| Some((cell, cell.calls_per_second()?))) else {
        return claim.untold(reason);
    };
    let bytes = |rate: f64| rate * 8.0;
    claim
        .with(
            bytes(rate.value),
            Unit::BytesPerSecond,
            rate.interval.map(|ends| ends.map(bytes)),
            cell.calls(),
        )
        .by(means)
        .answered(
            Answer::No,
            "it divides the bytes of all iterations by the time of one; 8 B each 69,974 ns are \
             0.9 Mb/s",
        )
}

/// The pairs of all starts.
fn reports(measured: &Measured) -> Vec<&PairReport> {
    let pairs = measured.starts.iter().flat_map(|start| &start.pairs);
    pairs.filter_map(|pair| pair.as_ref().ok()).collect()
}

fn legs<'a>(pairs: &'a [&PairReport], policy: CallPolicy) -> impl Iterator<Item = &'a Leg> {
    pairs.iter().flat_map(|pair| &pair.legs).filter(move |leg| leg.policy == policy)
}

fn synced(pairs: &[&PairReport], means: Means, reason: &str) -> Claim {
    let claim = Claim::new(SOURCE, "calls served on the caller's CPU: SYNC, R", "GOOD, 0.9352");
    let legs = || pairs.iter().flat_map(|pair| &pair.legs);
    let calls: u64 = legs().map(|leg| leg.series.n).sum();
    if calls == 0 {
        return claim.untold(reason);
    }
    let same: u64 = legs().map(|leg| leg.same_cpu).sum();
    let interval = proportion::interval(same, calls);
    claim
        .with(same as f64 / calls as f64, Unit::Ratio, Some(interval), calls)
        .by(means)
        .judged_by(GOOD_SYNC)
}

fn leg_times(
    pairs: &[&PairReport],
    policy: CallPolicy,
    published: [f64; 3],
    means: Means,
    reason: &str,
) -> [Claim; 3] {
    let calls: u64 = legs(pairs, policy).map(|leg| leg.series.n).sum();
    let summaries = || legs(pairs, policy).filter_map(|leg| leg.series.summary);
    let total: u64 = legs(pairs, policy).map(|leg| leg.total).sum();
    let ours = [
        (calls > 0).then(|| total as f64 / calls as f64),
        summaries().map(|summary| summary.max as f64).reduce(f64::max),
        summaries().map(|summary| summary.min as f64).reduce(f64::min),
    ];
    let names = ["avg", "wst", "bst"];
    std::array::from_fn(|place| {
        let millis = Unit::Nanoseconds.show(published[place] * 1e6);
        let what = format!("round trip, {}: {}", policy.name(), names[place]);
        let claim = Claim::new(SOURCE, what, millis);
        match ours[place] {
            Some(nanos) => {
                claim.with(nanos, Unit::Nanoseconds, None, calls).by(means).untold(ANOTHER_DEVICE)
            }
            None => claim.untold(reason),
        }
    })
}

fn deadline(
    pairs: &[&PairReport],
    (policy, published, least): (CallPolicy, f64, f64),
    means: Means,
    reason: &str,
) -> Claim {
    let what = format!("calls within 2.5 ms, {}: meetR", policy.name());
    let claim = Claim::new(SOURCE, what, published.to_string());
    let calls: u64 = legs(pairs, policy).map(|leg| leg.series.n).sum();
    if calls == 0 {
        return claim.untold(reason);
    }
    let late: u64 = legs(pairs, policy).map(|leg| leg.late).sum();
    let met = calls.saturating_sub(late);
    let interval = proportion::interval(met, calls);
    let claim = claim.with(met as f64 / calls as f64, Unit::Ratio, Some(interval), calls).by(means);
    if means == Means::Emulated { claim.untold(EMULATED) } else { claim.judged_by([least, 1.0]) }
}

/// Real-time calls are faster on average, start by start.
fn real_time_first(latency: Option<&Measured>, means: Means, reason: &str) -> Claim {
    let claim = Claim::new(SOURCE, "average of FIFO calls against ordinary ones", "0.80×");
    let mut ratios: Vec<f64> = latency
        .map_or(&[][..], |measured| &measured.starts)
        .iter()
        .filter_map(|start| {
            let pairs: Vec<&PairReport> =
                start.pairs.iter().filter_map(|pair| pair.as_ref().ok()).collect();
            let average = |policy| {
                let calls: u64 = legs(&pairs, policy).map(|leg| leg.series.n).sum();
                let total: u64 = legs(&pairs, policy).map(|leg| leg.total).sum();
                (calls > 0 && total > 0).then(|| total as f64 / calls as f64)
            };
            Some(average(CallPolicy::Fifo)? / average(CallPolicy::Other)?)
        })
        .collect();
    let n = ratios.len() as u64;
    let Some((value, interval)) = order::median(&mut ratios) else { return claim.untold(reason) };
    let claim = claim.with(value, Unit::Times, interval, n).by(means);
    match interval {
        Some([_, high]) if high < 1.0 => claim.answered(Answer::Yes, ""),
        Some([low, _]) if low > 1.0 => claim
            .answered(Answer::No, "they are slower; the page says that they need not be faster"),
        Some(_) => claim.untold("the interval includes 1"),
        None => claim.untold(format!("{n} starts are too few for an interval")),
    }
}

fn inherited(latency: Option<&Measured>, means: Means, reason: &str) -> Claim {
    let claim = Claim::new(SOURCE, "inheritance of real-time priority", "PASS");
    let Some(measured) = latency else { return claim.untold(reason) };
    let verdict = &measured.inheritance;
    let n = verdict.real_time.of;
    let claim = claim.with_word(verdict.answer.word(), n).by(means);
    match verdict.answer {
        Inheritance::Inherited => claim.answered(Answer::Yes, ""),
        Inheritance::NotTestable => claim.untold(&*verdict.reason),
        _ => claim.answered(Answer::No, &*verdict.reason),
    }
}
