//! Turns touches and counters into findings.

use unjank_measure::{Fact, Findings, Outlier, Unit};

use super::counters::Growth;
use super::plan::{Plan, Source};
use super::touch::TouchTimes;

/// Adds series, facts and warnings to the findings.
pub(crate) fn note(times: TouchTimes, grown: &Growth, plan: &Plan, findings: &mut Findings) {
    let TouchTimes { page_in, readahead_hit, evicted, worst, start } = times;
    let reads = page_in.n();
    let backing = backing(plan, grown, reads);
    if reads == 0 {
        findings.not_supported(
            "swap/page_in",
            match evicted {
                0 => {
                    format!("no touch waited for a read from {backing}: the kernel evicted nothing")
                }
                _ => format!(
                    "no touch waited: all {evicted} evicted pages came back without a read from \
                     {backing}"
                ),
            },
        );
        return;
    }
    findings.outliers.push(Outlier {
        series: "swap/page_in".to_owned(),
        labels: [("backing".to_owned(), backing.to_owned())].into(),
        at: worst.1.since(start).get(),
        value: worst.0.get(),
        cpu: None,
        cause: None,
    });
    findings.series.push(page_in.with_label("backing", backing).finish());
    if readahead_hit.n() > 0 {
        findings.series.push(readahead_hit.with_label("backing", backing).finish());
    }
    let fact = |name: &str, value: f64, unit| Fact::new(name, value, unit);
    findings.facts.push(fact("swap/pages_per_read", evicted as f64 / reads as f64, Unit::Count));
    findings.facts.push(fact("swap/evicted", evicted as f64, Unit::Pages).summed());
    findings.facts.push(fact("swap/size", plan.bytes().get() as f64, Unit::Bytes));
    for &(name, events) in &grown.events {
        findings
            .facts
            .push(fact(&format!("swap/vmstat/{name}"), events as f64, Unit::Count).summed());
    }
    for &(name, stall) in grown.stalls.iter().flatten() {
        let name = format!("swap/pressure/{name}");
        findings.facts.push(fact(&name, stall.get() as f64, Unit::Nanoseconds).summed());
    }
    if let Some(reason) = &grown.why_no_stalls {
        findings.not_supported("swap/pressure", reason.clone());
    }
    if plan.source == Source::File {
        findings.warn(
            "no swap was probed: pages of a scratch file stand for swapped-out ones; they come \
             back the same way, from this directory's storage",
        );
    }
}

/// zswap is in front of a device: if most pages came from zswap, that was measured.
fn backing(plan: &Plan, grown: &Growth, reads: u64) -> &'static str {
    let anonymous = matches!(plan.source, Source::Anonymous { .. });
    if anonymous && grown.event("zswpin") * 2 > reads { "zswap" } else { plan.backing() }
}
