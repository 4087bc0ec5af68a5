//! The output of `schd-dbg`: the keys of AOSP's tool, as valid JSON.

use std::fmt::Write as _;

use unjank_ipc::explain::Inheritance;
use unjank_ipc::latency::{CallPolicy, Leg, Measured, Options, PairReport};

/// AOSP's limit between `GOOD` and `POOR`.
const GOOD_SYNC: f64 = 0.6;

/// `cfg`, a `P<n>` for each pair that measured something, and `inheritance`.
/// Nothing is measured where the transport is not there.
pub(super) fn document(options: &Options, measured: Option<&Measured>) -> String {
    let mut text = format!(
        "{{\n\"cfg\":{{\"pair\":{},\"iterations\":{},\"deadline_us\":{}}},\n",
        options.pairs,
        options.iterations,
        options.deadline.get() / 1_000,
    );
    let pairs = measured.iter().flat_map(|measured| measured.pairs.iter());
    for (number, pair) in pairs.enumerate() {
        if let Ok(report) = pair {
            text.push_str(&pair_object(number, report, options.raw));
        }
    }
    let inheritance = measured.map_or("UNSUPPORTED", |measured| word(measured.inheritance.answer));
    // Writing to a string cannot fail.
    let _infallible = write!(text, "\"inheritance\": \"{inheritance}\"\n}}");
    text
}

/// `PASS` and `FAIL` as in AOSP's tool, and two words for what it calls
/// `FAIL` or `PASS` without knowing.
fn word(inheritance: Inheritance) -> &'static str {
    match inheritance {
        Inheritance::Inherited => "PASS",
        Inheritance::NodeNotOptedIn | Inheritance::NotInherited | Inheritance::CappedByRlimit => {
            "FAIL"
        }
        Inheritance::NiceOnly | Inheritance::KernelUnsupported => "UNSUPPORTED",
        Inheritance::NotTestable => "UNTESTED",
    }
}

fn pair_object(number: usize, report: &PairReport, raw: bool) -> String {
    let leg = |policy| report.legs.iter().find(|leg: &&Leg| leg.policy == policy);
    let calls: u64 = report.legs.iter().map(|leg| leg.series.n).sum();
    let synced: u64 = report.legs.iter().map(|leg| leg.same_cpu).sum();
    let ratio = share(synced, calls);
    let mut text = String::new();
    for (name, policy) in [("fifo", CallPolicy::Fifo), ("other", CallPolicy::Other)] {
        if let Some(leg) = leg(policy).filter(|_| raw) {
            let samples: Vec<String> = leg.raw.iter().map(u64::to_string).collect();
            let _infallible = writeln!(text, "\"{name}_{number}_data\": [{}],", samples.join(","));
        }
    }
    let sync = if ratio > GOOD_SYNC { "GOOD" } else { "POOR" };
    let other = statistics(leg(CallPolicy::Other));
    let fifo = statistics(leg(CallPolicy::Fifo));
    let _infallible = write!(
        text,
        "\"P{number}\":{{\"SYNC\":\"{sync}\",\"S\":{synced},\"I\":{calls},\"R\":{ratio},\n  \
         \"other_ms\":{other},\n  \"fifo_ms\":{fifo}\n}},\n"
    );
    text
}

/// Milliseconds to the nanosecond; `null` for what was not measured.
fn statistics(leg: Option<&Leg>) -> String {
    let measured = leg.and_then(|leg| Some((leg, leg.series.summary?)));
    let Some((leg, summary)) = measured else {
        return "{ \"avg\":null, \"wst\":null, \"bst\":null, \"miss\":null, \"meetR\":null}"
            .to_owned();
    };
    let ms = |nanos: u64| nanos as f64 / 1e6;
    let average = (leg.total as f64 / leg.series.n as f64).round() as u64;
    format!(
        "{{ \"avg\":{}, \"wst\":{}, \"bst\":{}, \"miss\":{}, \"meetR\":{}}}",
        ms(average),
        ms(summary.max),
        ms(summary.min),
        leg.late,
        share(leg.series.n - leg.late, leg.series.n)
    )
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
