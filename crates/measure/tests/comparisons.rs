//! Comparisons of two runs: simulated ones with a known truth, and records of
//! every shape.

use std::collections::BTreeMap;

use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use unjank_host::{ErrorClass, Machine, Nanos, Timestamp};
use unjank_measure::compare::{NotCompared, Options, OtherRuns};
use unjank_measure::record::{Run, Tool};
use unjank_measure::{
    Answer, Comparison, Direction, Effect, Fact, Findings, Result, RunRecord, Series, SeriesRecord,
    Start, Unit,
};

fn record(findings: Findings) -> RunRecord {
    let run = Run {
        tool: Tool { version: "0.1.0".to_owned(), commit: None },
        command: "test".to_owned(),
        host: Machine::default(),
        settings: [].into(),
        findings,
        labels: Vec::new(),
    };
    Start::now().finish(Timestamp::now(), run)
}

fn of_series(series: impl IntoIterator<Item = SeriesRecord>) -> RunRecord {
    record(Findings { series: series.into_iter().collect(), ..Findings::default() })
}

fn of_facts(facts: impl IntoIterator<Item = Fact>) -> RunRecord {
    record(Findings { facts: facts.into_iter().collect(), ..Findings::default() })
}

/// `n` wake-ups of a thread, 1 ms apart, about 50 µs late. Each lateness
/// resembles the previous one by `memory` (0–1); one in 500 begins a burst of
/// five that take `late` longer. All are slower by the factor `slow`.
struct Wakeups {
    n: u64,
    memory: f64,
    late: f64,
    slow: f64,
}

const STEADY: Wakeups = Wakeups { n: 24_000, memory: 0.0, late: 0.0, slow: 1.0 };

impl Wakeups {
    fn series(&self, seed: u64, name: &str) -> SeriesRecord {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let start = Timestamp::from_nanos(0);
        let mut series = Series::new(name).with_course(start, Nanos::from_millis(self.n));
        let (mut state, mut burst) = (0.0, 0);
        for i in 0..self.n {
            let noise: f64 = StandardNormal.sample(&mut random);
            state = self.memory * state + noise * (1.0 - self.memory.powi(2)).sqrt();
            if burst == 0 && random.random_bool(0.002) {
                burst = 5;
            }
            let mut sample = 50e3 + 5e3 * state;
            if burst > 0 {
                burst -= 1;
                sample += self.late * (0.5 + random.random::<f64>());
            }
            let at = start + Nanos::from_millis(i);
            series.record_at(at, Nanos((sample * self.slow).max(0.0) as u64));
        }
        series.finish()
    }

    fn run(&self, seed: u64) -> RunRecord {
        of_series([self.series(seed, "test/wakeup")])
    }
}

/// Without other runs.
fn compare(a: &RunRecord, b: &RunRecord, options: &Options) -> Result<Comparison> {
    unjank_measure::compare::compare(a, b, &OtherRuns::default(), options)
}

fn options(min_effect: f64) -> Options {
    Options { min_effect, seed: 1 }
}

fn answers(comparison: &Comparison) -> Vec<(&str, Answer)> {
    comparison.effects.iter().map(|e| (e.quantity.as_str(), e.answer)).collect()
}

/// Comparisons of equal runs per case.
const COMPARISONS: u32 = 150;

/// The share of them that find a difference, and, for each quantity that most
/// of them bound, the share of intervals that cover zero.
fn equal_runs(wakeups: &Wakeups) -> (f64, Vec<(String, f64)>) {
    let mut false_alarms = 0;
    let mut covered: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    for pair in 0..u64::from(COMPARISONS) {
        let [a, b] = [2 * pair, 2 * pair + 1].map(|seed| wakeups.run(seed));
        let comparison = compare(&a, &b, &options(0.0)).expect("they have a series in common");
        let found = |effect: &Effect| effect.answer != Answer::CannotTell;
        false_alarms += u32::from(comparison.effects.iter().any(found));
        for effect in &comparison.effects {
            let [low, high] = effect.difference.expect("n is large").interval;
            let [covers, all] = covered.entry(effect.quantity.clone()).or_default();
            *covers += u32::from(low <= 0.0 && high >= 0.0);
            *all += 1;
        }
    }
    let often = covered.into_iter().filter(|(_, [_, all])| *all > COMPARISONS / 2);
    let share =
        |(quantity, [covers, all]): (_, [u32; 2])| (quantity, f64::from(covers) / f64::from(all));
    (f64::from(false_alarms) / f64::from(COMPARISONS), often.map(share).collect())
}

#[test]
fn equal_runs_rarely_differ_whatever_the_dependence_of_samples() {
    // True rates of 5 % and 95 % are seen as at most 11 % and at least 89 % of
    // 150, 99.8 times of 100.
    let cases = [
        ("independent", STEADY, 3),
        ("bursts in the tail", Wakeups { late: 300e3, ..STEADY }, 3),
        ("correlated", Wakeups { memory: 0.9, ..STEADY }, 2),
        ("strongly correlated", Wakeups { memory: 0.98, ..STEADY }, 1),
    ];
    for (name, wakeups, quantities) in cases {
        let (false_alarms, covered) = equal_runs(&wakeups);
        assert!(false_alarms <= 0.11, "{name}: {false_alarms} false alarms");
        assert!(covered.iter().all(|(_, share)| *share >= 0.89), "{name}: {covered:?}");
        assert!(covered.len() >= quantities, "{name}: {covered:?}");
    }
}

/// A run of a machine in a state that lasts for the whole run and makes it
/// slower or faster by about 10 %.
fn moody(seed: u64) -> RunRecord {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x6d6f_6f64);
    let mood: f64 = StandardNormal.sample(&mut random);
    Wakeups { n: 4_000, slow: (0.1 * mood).exp(), ..STEADY }.run(seed)
}

#[test]
fn other_runs_show_states_that_outlast_a_run() {
    let differ = |others: &[RunRecord]| {
        let others = OtherRuns::new(others);
        let differs = |pair: &u64| {
            let [a, b] = [2 * pair, 2 * pair + 1].map(|seed| moody(1_000 + seed));
            let compared = unjank_measure::compare::compare(&a, &b, &others, &options(0.02));
            let compared = compared.expect("they have a series in common");
            compared.count(Answer::Better) + compared.count(Answer::Worse) > 0
        };
        (0..100_u64).filter(differs).count()
    };
    let repeats: Vec<RunRecord> = (0..12).map(moody).collect();
    assert!(differ(&[]) > 50, "{} of 100", differ(&[]));
    assert!(differ(&repeats[..2]) > 50, "{} of 100 after two others", differ(&repeats[..2]));
    // 5 % are at most 12 of 100, 99.8 times of 100.
    for few in [3, 6, 12] {
        let wrong = differ(&repeats[..few]);
        assert!(wrong <= 12, "{wrong} of 100 after {few} others");
    }
}

#[test]
fn differences_beyond_the_spread_between_runs_are_found() {
    let repeats: Vec<RunRecord> = (0..12).map(moody).collect();
    let [before, mut after] = [20, 21].map(moody);
    let slower = Wakeups { n: 4_000, slow: 3.0, ..STEADY };
    after.findings.series = vec![slower.series(21, "test/wakeup")];
    let others = OtherRuns::new(&repeats);
    let compare =
        |b: &RunRecord| unjank_measure::compare::compare(&before, b, &others, &options(0.02));
    let compared = compare(&after).unwrap();
    assert_eq!(compared.repeats, 12);
    assert_eq!(answers(&compared)[0], ("p50", Answer::Worse));
    // A run of another thing has other repetitions.
    after.settings.insert("period".to_owned(), 5.into());
    assert_eq!(compare(&after).unwrap().repeats, 12);
    after.command = "another".to_owned();
    let of_another: Vec<RunRecord> = repeats
        .iter()
        .map(|run| RunRecord { command: "a third".to_owned(), ..run.clone() })
        .collect();
    let others = OtherRuns::new(&of_another);
    let compared = unjank_measure::compare::compare(&before, &after, &others, &options(0.02));
    assert_eq!(compared.unwrap().repeats, 0);
}

#[test]
fn without_the_design_effect_correlated_runs_would_differ() {
    let wakeups = Wakeups { memory: 0.98, ..STEADY };
    let mut told_apart = 0;
    for pair in 0..20 {
        let runs = [2 * pair, 2 * pair + 1].map(|seed| {
            let mut series = wakeups.series(seed, "test/wakeup");
            series.slices.clear();
            of_series([series])
        });
        let comparison = compare(&runs[0], &runs[1], &options(0.0)).unwrap();
        told_apart += usize::from(comparison.effects[0].answer != Answer::CannotTell);
        assert!(comparison.warnings.iter().any(|w| w.contains("taken as independent")));
    }
    assert!(told_apart >= 10, "{told_apart} of 20");
}

#[test]
fn a_slower_run_is_worse_and_a_faster_one_better() {
    let base = STEADY.run(1);
    let slower = Wakeups { slow: 1.05, ..STEADY }.run(2);
    let worse = compare(&base, &slower, &options(0.02)).unwrap();
    assert_eq!(
        answers(&worse),
        [("p50", Answer::Worse), ("p99", Answer::Worse), ("p99.9", Answer::Worse)]
    );
    let better = compare(&slower, &base, &options(0.02)).unwrap();
    assert_eq!(better.count(Answer::Better), 3);
    let median = &worse.effects[0];
    let ratio = median.ratio.unwrap();
    assert!(ratio.interval[0] < 1.05 && ratio.interval[1] > 1.05, "{ratio:?}");
    assert!(median.reason.contains("all of it beyond 2 %"), "{}", median.reason);
    let verdict = median.verdict("Is b slower?");
    assert_eq!((verdict.answer, verdict.subject.as_str()), (Answer::Worse, "test/wakeup"));
}

#[test]
fn a_difference_too_small_to_matter_is_no_difference() {
    let comparison =
        compare(&STEADY.run(1), &Wakeups { slow: 1.005, ..STEADY }.run(2), &options(0.02)).unwrap();
    assert_eq!(comparison.effects[0].answer, Answer::Same);
    let exact =
        compare(&STEADY.run(1), &Wakeups { slow: 1.005, ..STEADY }.run(2), &options(0.0)).unwrap();
    assert_eq!(exact.effects[0].answer, Answer::Worse);
}

#[test]
fn only_the_tail_got_worse() {
    let base = Wakeups { late: 100e3, ..STEADY }.run(1);
    let worse = Wakeups { late: 300e3, ..STEADY }.run(2);
    let comparison = compare(&base, &worse, &options(0.02)).unwrap();
    let answer = |quantity| {
        comparison.effects.iter().find(|effect| effect.quantity == quantity).unwrap().answer
    };
    assert_eq!((answer("p50"), answer("p99.9")), (Answer::Same, Answer::Worse));
}

#[test]
fn few_samples_decide_nothing_and_give_the_reason() {
    let few = |seed: u64| {
        let mut series = Series::new("test/few");
        (0..5_u64).for_each(|i| series.record(Nanos(100 + seed * 100 + i)));
        of_series([series.finish()])
    };
    let comparison = compare(&few(0), &few(1), &options(0.02)).unwrap();
    assert_eq!(answers(&comparison), [("p50", Answer::CannotTell)]);
    assert_eq!(
        comparison.effects[0].reason,
        "worth 5 independent samples, which are too few to bound the median"
    );
    assert_eq!(comparison.questions, 0);
}

fn series(name: &str, cpu: &str, n: u64) -> SeriesRecord {
    let mut series = Series::new(name).with_label("cpu", cpu);
    (1..=n).for_each(|value| series.record(Nanos(value)));
    series.finish()
}

#[test]
fn series_are_matched_by_name_labels_and_unit() {
    let mut bytes = series("test/unit", "0", 100);
    bytes.unit = Unit::Bytes;
    let a = of_series([
        series("test/x", "0", 100),
        series("test/x", "1", 100),
        series("test/gone", "0", 100),
        series("test/silent", "0", 100),
        series("test/twice", "0", 100),
        series("test/twice", "0", 100),
        series("test/unit", "0", 100),
    ]);
    let b = of_series([
        series("test/x", "1", 100),
        series("test/x", "2", 100),
        series("test/silent", "0", 0),
        series("test/twice", "0", 100),
        bytes,
    ]);
    let comparison = compare(&a, &b, &options(0.02)).unwrap();
    let matched: Vec<_> =
        comparison.effects.iter().map(|e| (e.subject.as_str(), e.labels["cpu"].as_str())).collect();
    assert_eq!(matched, [("test/x", "1")]);
    assert_eq!(
        list(&comparison.missing),
        [
            "test/x (cpu=0): only in the first run",
            "test/gone (cpu=0): only in the first run",
            "test/unit (cpu=0): only in the first run",
            "test/silent (cpu=0): no samples in the second run",
        ]
    );
    assert_eq!(
        list(&comparison.not_compared),
        [
            "test/twice (cpu=0): it occurs twice in one run",
            "test/unit (cpu=0): only in the second run",
            "test/x (cpu=2): only in the second run",
        ]
    );
}

#[test]
fn facts_are_compared_where_both_have_an_interval() {
    let fact = |name: &str, value: f64, unit| {
        Fact::new(name, value, unit).with_interval([value * 0.99, value * 1.01], 50)
    };
    let a = of_facts([
        fact("test/rate", 1_000.0, Unit::PerSecond),
        fact("test/cost", 1_000.0, Unit::Nanoseconds),
        fact("test/ratio", 0.5, Unit::Ratio),
        fact("test/hits", 0.5, Unit::Ratio).with_better(Direction::Larger),
        Fact::new("test/bare", 1.0, Unit::Nanoseconds),
        Fact::new("test/bare_and_gone", 1.0, Unit::Nanoseconds),
        fact("test/gone", 1.0, Unit::Nanoseconds),
        fact("test/vague", 1.0, Unit::Nanoseconds),
    ]);
    let b = of_facts([
        fact("test/rate", 1_200.0, Unit::PerSecond),
        fact("test/cost", 1_200.0, Unit::Nanoseconds),
        fact("test/ratio", 0.7, Unit::Ratio),
        fact("test/hits", 0.7, Unit::Ratio),
        Fact::new("test/bare", 2.0, Unit::Nanoseconds),
        Fact::new("test/vague", 1.0, Unit::Nanoseconds),
    ]);
    let comparison = compare(&a, &b, &options(0.02)).unwrap();
    let answers: Vec<_> =
        comparison.effects.iter().map(|e| (e.subject.as_str(), e.answer)).collect();
    assert_eq!(
        answers,
        [
            ("test/rate", Answer::Better),
            ("test/cost", Answer::Worse),
            ("test/ratio", Answer::NotAvailable),
            ("test/hits", Answer::Better),
        ]
    );
    // Each interval is ±1 %, so that of the ratio is about ±1.41 %.
    let [low, high] = comparison.effects[0].ratio.unwrap().interval;
    assert!((low - 1.2 / 1.0142).abs() < 0.003 && (high - 1.2 * 1.0142).abs() < 0.003);
    assert!(comparison.effects[2].reason.ends_with("the direction of improvement is not known"));
    assert_eq!(comparison.questions, 3);
    assert_eq!(
        list(&comparison.missing),
        ["test/gone: only in the first run", "test/vague: no interval in the second run",]
    );
    assert_eq!(
        list(&comparison.not_compared),
        ["test/bare_and_gone: only in the first run", "test/bare: it has no interval"]
    );
}

#[test]
fn a_tail_that_only_the_first_run_bounds_is_named() {
    let [many, few] = [20_000, 100].map(|n| of_series([series("test/x", "0", n)]));
    let comparison = compare(&many, &few, &options(0.02)).unwrap();
    let asked: Vec<&str> = comparison.effects.iter().map(|e| e.quantity.as_str()).collect();
    assert_eq!(asked, ["p50"]);
    let reason = "the second run is worth 100 independent samples, which are too few to bound it";
    assert_eq!(
        list(&comparison.not_compared),
        ["p99", "p99.9"].map(|tail| format!("test/x (cpu=0), {tail}: {reason}"))
    );
    let comparison = compare(&few, &many, &options(0.02)).unwrap();
    assert_eq!(comparison.not_compared, []);
}

fn list(list: &[NotCompared]) -> Vec<String> {
    list.iter().map(|item| format!("{}: {}", item.what, item.reason)).collect()
}

#[test]
fn missed_periods_are_compared_by_burst() {
    let missing = |bursts: u64, size: u64| {
        let start = Timestamp::from_nanos(0);
        let mut series =
            Series::new("test/periodic").with_course(start, Nanos::from_millis(24_000));
        let mut period = 0;
        while period < 24_000 {
            if bursts > 0 && period % (24_000 / bursts) == 0 {
                series.miss(size);
                period += size;
                continue;
            }
            series.record_at(start + Nanos::from_millis(period), Nanos(1_000));
            period += 1;
        }
        of_series([series.finish()])
    };
    let answer = |a, b| {
        let comparison = compare(&a, &b, &options(0.02)).unwrap();
        comparison.effects.iter().find(|e| e.quantity == "missed periods").map(|e| e.answer)
    };
    assert_eq!(answer(missing(0, 0), missing(0, 0)), None);
    // Sixty periods are many if missed one by one, and insignificant if missed
    // at once.
    assert_eq!(answer(missing(0, 0), missing(60, 1)), Some(Answer::Worse));
    assert_eq!(answer(missing(0, 0), missing(1, 60)), Some(Answer::CannotTell));
}

#[test]
fn runs_without_anything_in_common_are_not_compared() {
    let a = of_series([STEADY.series(1, "test/a")]);
    let b = of_series([STEADY.series(1, "test/b")]);
    let error = compare(&a, &b, &options(0.02)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Usage);
    assert!(error.to_string().ends_with("there is nothing to compare"), "{error}");
}

#[test]
fn a_damaged_histogram_is_named() {
    let a = STEADY.run(1);
    let mut b = STEADY.run(2);
    b.findings.series[0].histogram.truncate(40);
    let error = compare(&a, &b, &options(0.02)).unwrap_err().to_string();
    assert!(error.starts_with("series test/wakeup: its histogram is damaged"), "{error}");
}

#[test]
fn one_more_series_changes_no_other_interval() {
    let a = STEADY.series(1, "test/wakeup");
    let b = STEADY.series(2, "test/wakeup");
    let alone = compare(&of_series([a.clone()]), &of_series([b.clone()]), &options(0.02)).unwrap();
    let other = [3, 4].map(|seed| STEADY.series(seed, "test/other"));
    let [other_a, other_b] = other;
    let both = compare(&of_series([other_a, a]), &of_series([other_b, b]), &options(0.02)).unwrap();
    let of_wakeup = |comparison: &Comparison| -> Vec<_> {
        let wakeup = comparison.effects.iter().filter(|effect| effect.subject == "test/wakeup");
        wakeup.map(|effect| (effect.quantity.clone(), effect.difference, effect.ratio)).collect()
    };
    assert_eq!(of_wakeup(&alone), of_wakeup(&both));
    let json = serde_json::to_string(&alone).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), alone);
}
