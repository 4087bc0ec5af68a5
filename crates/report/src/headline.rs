//! The headline of a run: its answer in one line.

use std::collections::BTreeSet;

use unjank_measure::record::Quantity;
use unjank_measure::{Answer, RunRecord, SeriesRecord, Unit, Verdict};

use crate::visible::visible;
use crate::words::{self, counted};

/// The most subjects named in one line; the rest is counted.
const NAMED: usize = 4;
/// The most questions that are asked in one line; more are counted.
const ASKED: usize = 2;

/// The subject of a verdict whose reason explains a launch: it is the answer.
const EXPLAINED: &str = "why";

/// Sums up the verdicts of all records; without verdicts, what was measured. A single record may
/// have a headline of its own.
pub(crate) fn headline(records: &[RunRecord]) -> String {
    if let [only] = records
        && let Some(own) = &only.findings.headline
    {
        return words::sentence(&visible(own));
    }
    if let [only] = records
        && let [explained] = only.findings.verdicts.as_slice()
        && explained.subject == EXPLAINED
    {
        return words::sentence(&explained.reason);
    }
    let is_question = |verdict: &&Verdict| matches!(verdict.answer, Answer::Yes | Answer::No);
    let (questions, verdicts): (Vec<&Verdict>, Vec<&Verdict>) =
        records.iter().flat_map(|record| &record.findings.verdicts).partition(is_question);
    match (questions.is_empty(), verdicts.is_empty()) {
        (true, true) => measured(records),
        (false, true) => answered(&questions),
        (true, false) => judged(&verdicts),
        (false, false) => format!("{} {}", judged(&verdicts), answered(&questions)),
    }
}

/// Sums up verdicts about health or differences.
fn judged(verdicts: &[&Verdict]) -> String {
    let with = |answer: Answer| -> Vec<&Verdict> {
        verdicts.iter().filter(|verdict| verdict.answer == answer).copied().collect()
    };
    let (worse, better, same) = (with(Answer::Worse), with(Answer::Better), with(Answer::Same));
    let slow = with(Answer::Slow);
    let decided = |verdict: &&Verdict| {
        matches!(verdict.answer, Answer::Worse | Answer::Better | Answer::Same | Answer::CannotTell)
    };
    if let [only] = verdicts
        && decided(only)
        && !only.question.is_empty()
    {
        answered(verdicts)
    } else if !slow.is_empty() {
        slowest(slow)
    } else if worse.is_empty() && better.is_empty() && same.is_empty() {
        nothing_slow(&with(Answer::Healthy), &with(Answer::CannotTell), &with(Answer::NotAvailable))
    } else {
        compared(&worse, &better, same.len(), verdicts.len())
    }
}

/// Sums up questions with the answers yes and no; a single question has its answer, whatever it is.
/// Questions about one subject are not distinguished by its name.
fn answered(questions: &[&Verdict]) -> String {
    let names: BTreeSet<&str> = questions.iter().map(|verdict| &*verdict.subject).collect();
    let are_named = questions.len() > 1 && names.len() == questions.len();
    if !are_named && questions.len() <= ASKED {
        let asked = |verdict: &&Verdict| {
            let answer = words::sentence(verdict.answer.words());
            format!("{} {answer}", visible(&verdict.question))
        };
        return questions.iter().map(asked).collect::<Vec<_>>().join(" ");
    }
    let parts: Vec<String> = [Answer::Yes, Answer::No]
        .into_iter()
        .filter_map(|answer| {
            let with: Vec<&Verdict> =
                questions.iter().filter(|verdict| verdict.answer == answer).copied().collect();
            let about = if are_named {
                format!(": {}", subjects(&with))
            } else {
                format!(" to {} of {} questions", with.len(), questions.len())
            };
            (!with.is_empty()).then(|| format!("{}{about}", answer.words()))
        })
        .collect();
    words::sentence(&parts.join("; "))
}

/// A verdict's quantity, in multiples of its healthy limit.
fn excess(verdict: &Verdict) -> f64 {
    let multiple = |measured: &Quantity| Some(measured.value / verdict.healthy.as_ref()?.at_most);
    verdict
        .measured
        .as_ref()
        .and_then(multiple)
        .filter(|multiple| multiple.is_finite())
        .unwrap_or(0.0)
}

fn slowest(mut slow: Vec<&Verdict>) -> String {
    slow.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    let worst = slow[0];
    let measured = worst.measured.as_ref().map(|measured| {
        let name = words::sentence(&visible(&measured.name));
        format!(" {}: {}.", name.trim_end_matches('.'), words::value(measured.unit, measured.value))
    });
    let times = match excess(worst) {
        times if times >= 10.0 => format!(", {times:.0} times its healthy limit"),
        times if times > 1.0 => format!(", {times:.1} times its healthy limit"),
        _ => String::new(),
    };
    let others: Vec<&Verdict> =
        slow.iter().filter(|verdict| verdict.subject != worst.subject).copied().collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!(" Also slow: {}.", subjects(&others))
    };
    let measured = measured.unwrap_or_default();
    format!("Slowest: {}{times}.{measured}{others}", visible(&worst.subject))
}

fn nothing_slow(healthy: &[&Verdict], open: &[&Verdict], absent: &[&Verdict]) -> String {
    let rest: Vec<String> = [("cannot tell", open), ("not measured", absent)]
        .into_iter()
        .filter(|(_, verdicts)| !verdicts.is_empty())
        .map(|(words, verdicts)| format!("{words}: {}", subjects(verdicts)))
        .collect();
    match (healthy.len(), rest.is_empty()) {
        (1, true) => "Nothing is slow: the answer is within its healthy range.".to_owned(),
        (n, true) => format!("Nothing is slow: all {n} answers are within their healthy range."),
        (0, false) => words::sentence(&rest.join("; ")),
        (n, false) => {
            let all = n + open.len() + absent.len();
            format!("Healthy: {n} of {all}; {}.", rest.join("; "))
        }
    }
}

fn compared(worse: &[&Verdict], better: &[&Verdict], same: usize, all: usize) -> String {
    let mut parts: Vec<String> = [("worse", worse), ("better", better)]
        .into_iter()
        .filter(|(_, verdicts)| !verdicts.is_empty())
        .map(|(words, verdicts)| format!("{} {words}: {}", verdicts.len(), subjects(verdicts)))
        .collect();
    if same > 0 {
        parts.push(format!("{same} without a meaningful difference"));
    }
    let rest = all - worse.len() - better.len() - same;
    if rest > 0 {
        parts.push(format!("{rest} cannot tell"));
    }
    let text = parts.join("; ");
    format!("Of {}, {text}.", counted(all, "comparison", "comparisons"))
}

fn subjects(verdicts: &[&Verdict]) -> String {
    let mut names: Vec<String> = Vec::new();
    for verdict in verdicts {
        let name = visible(&verdict.subject).into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let text = names.join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// Sums up a run without verdicts.
fn measured(records: &[RunRecord]) -> String {
    let series = || records.iter().flat_map(|record| &record.findings.series);
    let times =
        |series: &&SeriesRecord| series.unit == Unit::Nanoseconds && series.summary.is_some();
    let p99 = |series: &&SeriesRecord| series.summary.map_or(0, |summary| summary.p99);
    if let Some(slowest) = series().filter(times).max_by_key(p99) {
        let brief = words::series_in_brief(slowest);
        let of = if series().count() > 1 { "Slowest at p99: " } else { "" };
        return format!("{of}{}: {brief}.", words::labelled(&slowest.name, &slowest.labels));
    }
    let count = |n: fn(&RunRecord) -> usize| records.iter().map(n).sum::<usize>();
    let parts: Vec<String> = [
        (count(|record| record.findings.series.len()), "series", "series"),
        (count(|record| record.findings.curves.len()), "curve", "curves"),
        (count(|record| record.findings.facts.len()), "fact", "facts"),
    ]
    .into_iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, one, many)| counted(number, one, many))
    .collect();
    if parts.is_empty() {
        "Nothing was measured.".to_owned()
    } else {
        format!("Measured: {}.", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Bound, Fact, Findings};

    use super::*;

    fn verdict(subject: &str, answer: Answer, value: f64) -> Verdict {
        Verdict {
            measured: Some(Quantity {
                name: "p99 of something".to_owned(),
                value,
                unit: Unit::Nanoseconds,
                interval: None,
                at_least: None,
                n: 10,
            }),
            healthy: Some(Bound { at_most: 1e6, source: String::new() }),
            ..Verdict::new(subject, "", answer, "")
        }
    }

    fn headline_of(verdicts: &[(&str, Answer, f64)]) -> String {
        let verdicts =
            verdicts.iter().map(|(subject, answer, value)| verdict(subject, *answer, *value));
        line(Findings { verdicts: verdicts.collect(), ..Findings::default() })
    }

    fn line(findings: Findings) -> String {
        let json = serde_json::json!({
            "schema": "unjank.run/1", "id": "", "tool": { "version": "" }, "command": "",
            "started_at": "", "elapsed": 0, "host": {}, "settings": {},
        });
        headline(&[RunRecord { findings, ..serde_json::from_value(json).unwrap() }])
    }

    #[test]
    fn the_slowest_is_the_one_farthest_above_its_limit() {
        let slow = Answer::Slow;
        assert_eq!(
            headline_of(&[
                ("launch", slow, 2e6),
                ("ipc", slow, 42e6),
                ("swap", Answer::Healthy, 1.0)
            ]),
            "Slowest: ipc, 42 times its healthy limit. P99 of something: 42.0 ms. Also slow: launch."
        );
    }

    #[test]
    fn missing_answers_are_listed() {
        assert_eq!(
            headline_of(&[("ipc", Answer::Healthy, 1.0), ("swap", Answer::Healthy, 1.0)]),
            "Nothing is slow: all 2 answers are within their healthy range."
        );
        assert_eq!(
            headline_of(&[
                ("ipc", Answer::Healthy, 1.0),
                ("swap", Answer::CannotTell, 1.0),
                ("lock", Answer::NotAvailable, 0.0)
            ]),
            "Healthy: 1 of 3; cannot tell: swap; not measured: lock."
        );
        assert_eq!(headline_of(&[("lock", Answer::NotAvailable, 0.0)]), "Not measured: lock.");
    }

    #[test]
    fn comparisons_are_counted() {
        let many: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(|s| (s, Answer::Worse, 1.0)).into();
        assert_eq!(
            headline_of(
                &[many.as_slice(), &[("y", Answer::Same, 1.0), ("z", Answer::CannotTell, 1.0)]]
                    .concat()
            ),
            "Of 8 comparisons, 6 worse: a, b, c, d and 2 more; 1 without a meaningful difference; \
             1 cannot tell."
        );
    }

    #[test]
    fn questions_about_neither_health_nor_a_difference_are_answered() {
        let both = [
            ("ipc/unix", Answer::Yes, 1.0),
            ("ipc/pi", Answer::No, 1.0),
            ("ipc", Answer::CannotTell, 1.0),
        ];
        assert_eq!(headline_of(&both), "Cannot tell: ipc. Yes: ipc/unix; no: ipc/pi.");
        let both = &both[..2];
        assert_eq!(headline_of(both), "Yes: ipc/unix; no: ipc/pi.");
        assert!(headline_of(&both[..1]).ends_with(" Yes."));
    }

    #[test]
    fn questions_about_one_subject_are_asked_or_counted() {
        let asked = |answers: &[Answer]| {
            let verdict = |(number, answer): (usize, &Answer)| Verdict {
                question: format!("Is boost {number} worth it?"),
                ..verdict("launch", *answer, 1.0)
            };
            let verdicts = answers.iter().enumerate().map(verdict).collect();
            line(Findings { verdicts, ..Findings::default() })
        };
        let (yes, no) = (Answer::Yes, Answer::No);
        assert_eq!(asked(&[yes, no]), "Is boost 0 worth it? Yes. Is boost 1 worth it? No.");
        assert_eq!(asked(&[yes, no, no]), "Yes to 1 of 3 questions; no to 2 of 3 questions.");
        assert_eq!(asked(&[no, no, no]), "No to 3 of 3 questions.");
    }

    #[test]
    fn a_single_comparison_is_answered_in_words() {
        let question = "Is a launch shorter under B than under A?".to_owned();
        let only = |answer| Verdict { question: question.clone(), ..verdict("a/b", answer, 1.0) };
        let headline =
            |answer| line(Findings { verdicts: vec![only(answer)], ..Findings::default() });
        assert_eq!(
            headline(Answer::CannotTell),
            "Is a launch shorter under B than under A? Cannot tell."
        );
        assert!(headline(Answer::Better).ends_with("under A? Better."));
        assert!(headline(Answer::Slow).starts_with("Slowest: a/b"));
    }

    #[test]
    fn an_explanation_is_its_own_headline() {
        let why = Verdict { reason: "it slept".to_owned(), ..verdict("why", Answer::No, 1.0) };
        assert_eq!(line(Findings { verdicts: vec![why], ..Findings::default() }), "It slept.");
    }

    #[test]
    fn a_record_may_have_a_headline_of_its_own() {
        let headline = Some("fewest misses: lru\u{1b}[2J".to_owned());
        let own = line(Findings { headline, ..Findings::default() });
        assert_eq!(own, "Fewest misses: lru\\u{1b}[2J.");
    }

    #[test]
    fn without_verdicts_the_numbers_are_counted() {
        assert_eq!(line(Findings::default()), "Nothing was measured.");
        let facts = vec![Fact::new("clock/read", 20.0, Unit::Nanoseconds)];
        assert_eq!(line(Findings { facts, ..Findings::default() }), "Measured: 1 fact.");
    }
}
