//! The claims of Higashiyama et al. beside the results.
//!
//! They give the worst of 120,000 wake-ups on a phone of 2012. The machine differs, so the
//! times themselves are not judged, only which of two is longer: by the worst wake-up of
//! each round, each with a new JVM.

use unjank_host::Nanos;
use unjank_measure::claim::{Claim, Means};
use unjank_measure::stats::order;
use unjank_measure::{Findings, SeriesRecord, Unit};

use super::paper::{PUBLISHED, Published};
use super::report::WAKEUP;

/// The claims, beside one JVM's wake-ups that were taken by `means`.
pub fn claims(findings: &Findings, means: Means) -> Vec<Claim> {
    let times = PUBLISHED.iter().map(|published| time(published, findings, means));
    let [quiet, whole, thread] = &PUBLISHED;
    let orders = [
        order("garbage against none, whole process", [quiet, whole], findings, means),
        order(
            "only the thread real-time against the whole process",
            [whole, thread],
            findings,
            means,
        ),
    ];
    times.chain(orders).collect()
}

fn time(published: &Published, findings: &Findings, means: Means) -> Claim {
    let garbage = if published.garbage { "beside garbage" } else { "without garbage" };
    let claim = Claim::new(
        format!("Higashiyama et al., Fig. {}", published.figure),
        format!("worst wake-up {garbage}, {} real-time", published.variant),
        Unit::Nanoseconds.show(published.worst.get() as f64),
    );
    let series = findings.series.iter().find(|series| is_of(published, series));
    let Some((series, summary)) = series.and_then(|series| Some((series, series.summary?))) else {
        return claim.untold(reason(findings));
    };
    claim
        .with(summary.max as f64, Unit::Nanoseconds, None, series.n)
        .by(means)
        .untold("machine and JVM differ; which of two is longer can be compared")
}

/// How many times longer the second one's worst wake-up is than the first one's.
fn order(what: &str, [first, second]: [&Published; 2], findings: &Findings, means: Means) -> Claim {
    let published = second.worst.get() as f64 / first.worst.get() as f64;
    let longer = published > 1.0;
    let claim = Claim::new(
        format!("Higashiyama et al., Fig. {} and {}", first.figure, second.figure),
        format!("worst wake-up, {what}"),
        format!("{} ({})", if longer { "longer" } else { "shorter" }, Unit::Times.show(published)),
    );
    let worst = [first, second].map(|published| by_round(published, findings));
    let mut ratios: Vec<f64> = worst[0]
        .iter()
        .zip(&worst[1])
        .map(|(first, second)| second.get() as f64 / first.get().max(1) as f64)
        .collect();
    let n = ratios.len() as u64;
    let Some((value, interval)) = order::median(&mut ratios) else {
        return claim.untold(reason(findings));
    };
    let claim = claim.with(value, Unit::Times, interval, n).by(means);
    if longer {
        claim.judged_above(1.0, "it is shorter")
    } else {
        claim.judged_below(1.0, "it is longer")
    }
}

/// The worst wake-up of each round.
fn by_round(published: &Published, findings: &Findings) -> Vec<Nanos> {
    let Some(series) = findings.series.iter().find(|series| is_of(published, series)) else {
        return Vec::new();
    };
    let rounds = findings.facts.iter().filter(|fact| {
        let has = |(name, value): (&String, &String)| fact.labels.get(name) == Some(value);
        fact.name == "jitter/jvm/worst_of_round" && series.labels.iter().all(has)
    });
    rounds.map(|fact| Nanos(fact.value as u64)).collect()
}

fn is_of(published: &Published, series: &SeriesRecord) -> bool {
    let is = |name: &str, value: &str| series.labels.get(name).is_some_and(|own| own == value);
    series.name == WAKEUP
        && is("garbage", if published.garbage { "yes" } else { "no" })
        && is("variant", &published.variant.to_string())
}

fn reason(findings: &Findings) -> String {
    let reason = findings.unsupported.first().map(|missing| &*missing.reason);
    reason.unwrap_or("one round says nothing, and a run may have ended early").to_owned()
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Answer, Fact, Series};

    use super::super::variant::Variant;
    use super::*;

    fn cell(garbage: &str, variant: Variant, worst: [u64; 6], findings: &mut Findings) {
        let mut series = Series::new(WAKEUP)
            .with_label("garbage", garbage)
            .with_label("variant", variant.to_string());
        for (round, millis) in worst.into_iter().enumerate() {
            let nanos = Nanos::from_millis(millis);
            series.record(nanos);
            let fact =
                Fact::new("jitter/jvm/worst_of_round", nanos.get() as f64, Unit::Nanoseconds)
                    .with_label("garbage", garbage)
                    .with_label("variant", variant.to_string())
                    .with_label("round", (round + 1).to_string());
            findings.facts.push(fact);
        }
        findings.series.push(series.finish());
    }

    fn answers(thread: [u64; 6]) -> Vec<Answer> {
        let mut findings = Findings::default();
        cell("no", Variant::WholeProcess, [1; 6], &mut findings);
        cell("yes", Variant::WholeProcess, [20, 30, 25, 22, 21, 28], &mut findings);
        cell("yes", Variant::Thread, thread, &mut findings);
        let claims = claims(&findings, Means::Measured);
        claims.iter().map(|claim| claim.answer).collect()
    }

    #[test]
    fn the_order_is_judged_and_times_are_not() {
        let [no, yes, open] = [Answer::No, Answer::Yes, Answer::CannotTell];
        assert_eq!(answers([4, 5, 6, 7, 8, 9]), [open, open, open, yes, yes]);
        assert_eq!(answers([60; 6]), [open, open, open, yes, no]);
        assert_eq!(answers([4, 5, 6, 7, 90, 90]), [open, open, open, yes, open]);
    }

    #[test]
    fn without_a_jvm_nothing_can_be_told() {
        let mut findings = Findings::default();
        findings.not_supported("jitter/jvm", "there is no JVM");
        let claims = claims(&findings, Means::Measured);
        assert_eq!(claims.len(), 5);
        assert!(claims.iter().all(|claim| claim.reason == "there is no JVM"));
    }
}
