//! Verdicts on each JVM: is a thread woken in time, and which variant helps.

use std::collections::BTreeMap;

use unjank_measure::compare::{self, tails};
use unjank_measure::{
    Bound, Effect, Fact, Findings, Percentile, Quantity, SeriesRecord, Unit, Verdict,
};

use super::paper::{PUBLISHED, SOURCE};
use super::report::WAKEUP;
use super::variant::Variant;
use crate::explain::{HEALTHY, HEALTHY_SOURCE};

const SUBJECT: &str = "jitter/jvm";
/// Smaller differences are ignored (0.1 is 10 %).
const MIN_EFFECT: f64 = 0.1;
/// Compared for each JVM: does the second variant help against the first?
const CONTRASTS: [[Variant; 2]; 6] = [
    [Variant::Normal, Variant::WholeProcess],
    [Variant::Normal, Variant::Thread],
    [Variant::Normal, Variant::InversionAware],
    [Variant::Normal, Variant::Process],
    [Variant::Normal, Variant::Native],
    [Variant::WholeProcess, Variant::Thread],
];

/// Adds the verdicts on the cells with garbage, and the published results.
///
/// # Errors
/// A histogram is damaged.
pub(crate) fn add_verdicts(seed: u64, findings: &mut Findings) -> unjank_measure::Result<()> {
    let jvms = jvms(&findings.series);
    let mut asked = Vec::new();
    let mut pairs = Vec::new();
    for jvm in &jvms {
        for contrast @ [than, with] in CONTRASTS {
            if let Some((a, b)) = jvm.cell(than).zip(jvm.cell(with)) {
                asked.push((&jvm.name, contrast, starts(a).min(starts(b))));
                pairs.push([a, b]);
            }
        }
    }
    let effects = tails(&pairs, &compare::Options { min_effect: MIN_EFFECT, seed })?;
    let unbounded = effects.iter().any(Option::is_none);
    let helps = asked.into_iter().zip(&effects).filter_map(|((name, contrast, starts), effect)| {
        effect.as_ref().map(|effect| does_it_help(name, contrast, starts, effect))
    });
    let verdicts: Vec<Verdict> = jvms.iter().filter_map(Jvm::health).chain(helps).collect();
    findings.verdicts.extend(verdicts);
    if unbounded {
        findings.warn(
            "not all variants are compared: too little was measured to bound their 99.9th \
             percentiles (--count, and one round or at least four)",
        );
    }
    findings.facts.extend(published());
    Ok(())
}

/// The cells with garbage of one JVM, one collector and one set of CPUs.
struct Jvm<'a> {
    name: String,
    by_variant: BTreeMap<&'a str, &'a SeriesRecord>,
}

fn jvms(series: &[SeriesRecord]) -> Vec<Jvm<'_>> {
    let mut jvms: Vec<Jvm<'_>> = Vec::new();
    for series in series.iter().filter(|series| series.name == WAKEUP) {
        let label = |name: &str| series.labels.get(name).map_or("", String::as_str);
        if label("garbage") != "yes" {
            continue;
        }
        let name = format!("JDK {}, {}, CPU {}", label("jdk"), label("collector"), label("cpus"));
        let place = jvms.iter().position(|jvm| jvm.name == name).unwrap_or_else(|| {
            jvms.push(Jvm { name, by_variant: BTreeMap::new() });
            jvms.len() - 1
        });
        jvms[place].by_variant.insert(label("variant"), series);
    }
    jvms
}

impl<'a> Jvm<'a> {
    fn cell(&self, variant: Variant) -> Option<&'a SeriesRecord> {
        self.by_variant.get(variant.to_string().as_str()).copied()
    }

    /// Whether a thread without a raised priority is woken in time.
    fn health(&self) -> Option<Verdict> {
        let measured = tail_of(self.cell(Variant::Normal)?)?;
        let healthy = Bound { at_most: HEALTHY.get() as f64, source: HEALTHY_SOURCE.to_owned() };
        let question = format!("{}: is a thread woken in time beside the collector?", self.name);
        let measured_in = measured_in(starts(self.cell(Variant::Normal)?));
        let raised = [Variant::WholeProcess, Variant::Thread, Variant::InversionAware];
        let best = raised
            .into_iter()
            .filter_map(|variant| Some((variant, tail_of(self.cell(variant)?)?.value)))
            .min_by(|(_, one), (_, two)| one.total_cmp(two));
        let helped = best.map_or_else(
            || "no real-time priority was measured".to_owned(),
            |(variant, tail)| format!("with {variant} it is {}", Unit::Nanoseconds.show(tail)),
        );
        let reason =
            format!("one wake-up in a thousand is later than that; {helped}; {measured_in}");
        let next = "sudo unjank rt exec --profile jvm-inversion-aware --thread 'NAME=fifo:80' -- \
                    java …";
        Some(Verdict::of_health(SUBJECT, &question, healthy, Some(measured), reason, next))
    }
}

fn tail_of(series: &SeriesRecord) -> Option<Quantity> {
    Quantity::percentile_of(series, Percentile::P99_9, "p99.9 of wake-up latency")
}

fn does_it_help(jvm: &str, [than, with]: [Variant; 2], starts: usize, effect: &Effect) -> Verdict {
    let question = format!("{jvm}: does {with} instead of {than} help?");
    let mut verdict = Verdict { subject: SUBJECT.to_owned(), ..effect.verdict(question) };
    verdict.also(&measured_in(starts));
    verdict
}

/// The rounds of a cell, each with a JVM of its own.
fn starts(cell: &SeriesRecord) -> usize {
    cell.repetitions.len().max(1)
}

/// What the interval of a verdict holds.
fn measured_in(starts: usize) -> String {
    match starts {
        1 => "the interval holds the spread within one start of a JVM".to_owned(),
        several => format!("{several} independent starts of a JVM"),
    }
}

fn published() -> impl Iterator<Item = Fact> {
    PUBLISHED.iter().map(|known| {
        let garbage = if known.garbage { "yes" } else { "no" };
        Fact::new("jitter/jvm/published", known.worst.get() as f64, Unit::Nanoseconds)
            .with_label("garbage", garbage)
            .with_label("variant", known.variant.to_string())
            .with_label("source", SOURCE)
    })
}

#[cfg(test)]
mod tests {
    use unjank_host::{Nanos, Timestamp};
    use unjank_measure::{Answer, Series, StartFindings, pool};

    use super::*;

    fn cell(variant: Variant, garbage: &str, tail: u64) -> SeriesRecord {
        series(variant, garbage, 50_000, tail)
    }

    fn series(variant: Variant, garbage: &str, count: u64, tail: u64) -> SeriesRecord {
        let mut series = Series::new(WAKEUP)
            .with_label("jdk", "25")
            .with_label("collector", "g1")
            .with_label("cpus", "1")
            .with_label("garbage", garbage)
            .with_label("variant", variant.to_string());
        for n in 0..count {
            series.record(Nanos::from_micros(if n % 100 == 0 { tail } else { 60 }));
        }
        series.finish()
    }

    #[test]
    fn a_jvm_is_judged_and_each_variant_is_compared_with_normal() {
        let series = vec![
            cell(Variant::Normal, "no", 70),
            cell(Variant::Normal, "yes", 9_000),
            cell(Variant::WholeProcess, "yes", 60_000),
            cell(Variant::Thread, "yes", 6_000),
            cell(Variant::InversionAware, "yes", 5_000),
        ];
        let mut findings = Findings { series, ..Findings::default() };
        add_verdicts(7, &mut findings).unwrap();
        let answers: Vec<_> = findings
            .verdicts
            .iter()
            .map(|verdict| (verdict.question.as_str(), verdict.answer))
            .collect();
        assert_eq!(
            answers,
            [
                (
                    "JDK 25, g1, CPU 1: is a thread woken in time beside the collector?",
                    Answer::Slow
                ),
                ("JDK 25, g1, CPU 1: does whole-process instead of normal help?", Answer::Worse),
                ("JDK 25, g1, CPU 1: does thread instead of normal help?", Answer::Better),
                ("JDK 25, g1, CPU 1: does inversion-aware instead of normal help?", Answer::Better),
                ("JDK 25, g1, CPU 1: does thread instead of whole-process help?", Answer::Better),
            ]
        );
        assert!(findings.verdicts[0].reason.contains("with inversion-aware it is 5"));
        assert!(findings.verdicts[0].next.as_ref().unwrap().contains("jvm-inversion-aware"));
        assert_eq!(findings.facts.len(), 3);
    }

    /// Rounds of one cell, of which each has this tail.
    fn rounds(variant: Variant, tails: &[u64]) -> SeriesRecord {
        let start = |(round, &tail): (u64, &u64)| StartFindings {
            at: Timestamp::from_nanos(round),
            findings: Findings {
                series: vec![series(variant, "yes", 20_000, tail)],
                ..Findings::default()
            },
        };
        pool((0..).zip(tails).map(start).collect()).unwrap().series.remove(0)
    }

    fn answers(normal: &[u64], thread: &[u64]) -> (Vec<(Answer, String)>, usize) {
        let series = vec![rounds(Variant::Normal, normal), rounds(Variant::Thread, thread)];
        let mut findings = Findings { series, ..Findings::default() };
        add_verdicts(7, &mut findings).unwrap();
        let verdicts = findings.verdicts.into_iter();
        (verdicts.map(|it| (it.answer, it.reason)).collect(), findings.warnings.len())
    }

    #[test]
    fn intervals_are_over_rounds() {
        // All rounds agree.
        let (alike, warnings) = answers(&[9_000; 6], &[2_000; 6]);
        let [health, helps] = alike.as_slice() else { panic!("{alike:?}") };
        assert_eq!((health.0, helps.0, warnings), (Answer::Slow, Answer::Better, 0));
        assert!(health.1.ends_with("; 6 independent starts of a JVM"), "{health:?}");
        assert!(helps.1.ends_with("; 6 independent starts of a JVM"), "{helps:?}");
        // One slow JVM of six: the next six may have none, or two.
        let (differ, warnings) = answers(&[9_000, 70, 70, 70, 70, 70], &[2_000; 6]);
        assert_eq!((differ.len(), differ[0].0, warnings), (1, Answer::CannotTell, 1));
        // Too few rounds to see how they differ.
        let (few, warnings) = answers(&[9_000; 3], &[2_000; 3]);
        assert_eq!((few.len(), few[0].0, warnings), (1, Answer::CannotTell, 1));
        // The interval of one round says what it holds.
        let (one, warnings) = answers(&[9_000], &[2_000]);
        assert_eq!((one[0].0, one[1].0, warnings), (Answer::Slow, Answer::Better, 0));
        assert!(one.iter().all(|(_, reason)| reason.ends_with("within one start of a JVM")));
    }

    #[test]
    fn no_series_give_no_verdicts() {
        let mut findings = Findings::default();
        add_verdicts(7, &mut findings).unwrap();
        assert!(findings.verdicts.is_empty());
    }
}
