//! Imports files that other tools wrote, and generated ones.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use unjank_host::sched::Priority;
use unjank_jitter::import::{Imported, read};
use unjank_measure::{Answer, Findings, SeriesRecord};

fn fixture(name: &str) -> Imported {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    read(&fs::read_to_string(path).unwrap(), name).unwrap()
}

fn error(text: &str) -> String {
    read(text, "x.json").unwrap_err().to_string()
}

/// Labels, samples, missed periods and extremes of each series.
fn summaries(findings: &Findings) -> Vec<String> {
    let one = |series: &SeriesRecord| {
        let labels: Vec<String> =
            series.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let summary = series.summary.as_ref().unwrap();
        format!(
            "{} {}: n {}, missed {}, {}–{}",
            series.name,
            labels.join(","),
            series.n,
            series.missed,
            summary.min,
            summary.max
        )
    };
    findings.series.iter().map(one).collect()
}

#[test]
fn a_histogram_of_cyclictest_becomes_series_like_those_of_jitter_native() {
    let imported = fixture("cyclictest.json");
    assert_eq!(imported.tool, "cyclictest");
    assert_eq!(imported.version.as_deref(), Some("2.40"));
    assert_eq!(imported.machine.kernel.release, "6.18.44");
    let [start, end] = imported.ran.unwrap();
    assert_eq!(start.to_string(), "2026-11-22T08:54:21Z");
    assert!(start < end);
    let findings = imported.findings();
    assert_eq!(
        summaries(&findings),
        [
            "jitter/native/other/wakeup policy=other: n 4000, missed 81, 28000–11418000",
            "jitter/native/other/wakeup cpu=0,policy=other: n 2000, missed 38, 28000–11418000",
            "jitter/native/other/wakeup cpu=1,policy=other: n 2000, missed 43, 46000–5948000",
        ]
    );
    assert_eq!(findings.warnings, [""; 0]);
    assert!((findings.fact_named("jitter/native/period").unwrap().value - 1e6).abs() < 1e-9);
}

#[test]
fn nanoseconds_are_not_taken_for_microseconds() {
    let imported = fixture("cyclictest-ns.json");
    assert_eq!(imported.resolution.get(), 1);
    let findings = imported.findings();
    assert_eq!(findings.series.len(), 1, "one thread is all of them");
    assert_eq!(findings.series[0].n, 60);
    let summary = findings.series[0].summary.as_ref().unwrap();
    assert_eq!((summary.min, summary.max), (70_384, 3_857_859));
}

#[test]
fn wake_ups_beyond_the_histogram_are_counted_and_warned_about() {
    // cyclictest itself printed for this run: Histogram Overflows: 00068 00038.
    let findings = fixture("cyclictest-overflow.json").findings();
    let [first, second, judged] = &findings.warnings[..] else { panic!("{:?}", findings.warnings) };
    assert!(first.starts_with("thread 0: 68 of 1940 wake-ups lay beyond its histogram"), "{first}");
    assert!(second.starts_with("thread 1: 38 of 2000 wake-ups"), "{second}");
    assert!(judged.contains("p99 of wake-up latency as other"), "{judged}");
    assert_eq!(findings.series[0].n, 3_940);
    assert_eq!(findings.series[0].summary.as_ref().unwrap().max, 23_989_000);
}

/// 10,000 wake-ups of period 200 µs, `beyond` of them beyond a histogram of `size` µs and one of
/// those 3 ms late.
fn overflowing(size: u32, beyond: u32) -> Imported {
    let text = format!(
        "{{\"cmdline:\": \"cyclictest -S -i200 -h{size}\", \"thread\": {{\"0\": {{\"histogram\": \
         {{\"25\": {}, \"390\": 11}}, \"cycles\": 10000, \"min\": 25, \"max\": 3000}}}}}}",
        10_000 - 11 - beyond
    );
    read(&text, "x.json").unwrap()
}

#[test]
fn wake_ups_beyond_the_histogram_are_judged_by_both_bounds() {
    // As late as the latest, they would be 300 late wake-ups with their missed periods.
    let few = overflowing(400, 20);
    let findings = few.findings();
    let judged = few.verdict(&findings);
    assert_eq!(judged.answer, Answer::CannotTell, "{judged:?}");
    assert!(judged.reason.starts_with("the answer depends on 20 wake-ups"), "{}", judged.reason);
    assert!(judged.reason.ends_with("p99 is at least 25.0 µs"), "{}", judged.reason);
    let [low, high] = judged.measured.unwrap().interval.unwrap();
    assert!(low < 200e3 && high > 200e3, "{low}–{high}");
    let warning = findings.warnings.last().unwrap();
    assert!(warning.ends_with("it is between 25.0 µs and 2.00 ms"), "{warning}");
    // However late they were, p99 is more than a period, as the size of the histogram shows.
    let many = overflowing(400, 300);
    assert_eq!(many.verdict(&many.findings()).answer, Answer::Slow);
    // However late they were, p99 is 25 µs.
    let none = overflowing(400, 1);
    assert_eq!(none.verdict(&none.findings()).answer, Answer::Healthy);
    assert_eq!(none.findings().warnings.len(), 1);
    // The two latest alone, 24 ms and more than 100 periods late, are more than a hundredth.
    let known = fixture("cyclictest-overflow.json");
    assert_eq!(known.verdict(&known.findings()).answer, Answer::Slow);
}

#[test]
fn jitterdebugger_counts_threads_where_it_says_cpu() {
    let both = fixture("jitterdebugger.json");
    assert_eq!((both.tool, both.resolution.get(), both.ran), ("jitterdebugger", 1_000, None));
    let findings = both.findings();
    let labels: Vec<_> = findings.series.iter().map(|series| series.labels.get("cpu")).collect();
    assert_eq!(labels, [None, Some(&"0".to_owned()), Some(&"1".to_owned())]);
    assert_eq!(findings.series[0].n, 600);
    assert_eq!(findings.series[0].labels["policy"], "fifo");
    // With -a 1 its thread was on CPU 1, and it writes "0".
    let one = fixture("jitterdebugger-one-cpu.json").findings();
    assert_eq!(one.series.len(), 1);
    assert_eq!((one.series[0].n, one.series[0].labels.get("cpu")), (60, None));
}

#[test]
fn every_form_of_jitterdebugger_is_read() {
    let nanos = fixture("jitterdebugger-ns.json");
    assert_eq!(nanos.resolution.get(), 1);
    assert_eq!(nanos.findings().series[0].n, 80);
    let manual = fixture("jitterdebugger-manual.json").findings();
    let summary = manual.series[0].summary.as_ref().unwrap();
    assert_eq!((manual.series[0].n, summary.min, summary.max), (4_375, 3_000, 10_000));
    let late = fixture("jitterdebugger-overflow.json").findings();
    assert!(late.warnings[0].starts_with("thread 1: "), "{:?}", late.warnings);
    assert_eq!(late.series[0].missed, 0, "it skips no period");
}

#[test]
fn without_a_histogram_there_are_extremes_and_a_reason() {
    let findings = fixture("cyclictest-no-histogram.json").findings();
    assert!(findings.series.is_empty());
    assert!(findings.unsupported[0].reason.contains("--histogram=N"));
    let mut latest = findings.facts.iter().filter(|fact| fact.name == "jitter/import/latest");
    assert_eq!(latest.clone().count(), 3);
    assert!(latest.all(|fact| fact.n.is_some_and(|n| n > 0)));
    let nothing = fixture("cyclictest-no-wake-up.json").findings();
    assert_eq!(nothing.unsupported[0].reason, "the file has no wake-up");
}

#[test]
fn a_command_line_with_quotes_is_read() {
    let imported = fixture("cyclictest-quotes.json");
    let line = imported.command_line.as_deref().unwrap();
    assert!(line.ends_with("--json=quo\"t\\ed.json"), "{line}");
    assert_eq!(imported.findings().series[0].n, 20);
}

#[test]
fn errors_name_the_line() {
    let cyclictest =
        |thread: &str| format!("{{\n\"thread\": {{\n\"0\": {{\n{thread}\n}}\n}}\n}}\n");
    let cases = [
        (String::new(), "cannot parse x.json, line 1: EOF while parsing a value"),
        ("{}".to_owned(), "line 1: neither \"thread\", which cyclictest writes"),
        ("{\n\"thread\": {\n".to_owned(), "line 3: EOF"),
        ("{\n\"thread\": [1]}".to_owned(), "line 2: invalid type: sequence"),
        (cyclictest("\"min\": 1"), "line 5: missing field `histogram`"),
        (
            cyclictest("\"histogram\": {\"7\": 3}, \"cycles\": 2, \"min\": 7,\n\"max\": 7"),
            "line 7: the histogram of this thread has more than its 2 wake-ups",
        ),
        (
            cyclictest("\"histogram\": {\"7\": 3}, \"cycles\": 3, \"min\": 8, \"max\": 9"),
            "line 6: the histogram of this thread goes from 7 to 7",
        ),
        (
            cyclictest("\"histogram\": {\"7\": 1, \"7\": 1}, \"cycles\": 2"),
            "line 4: the key 7 appears twice",
        ),
        (
            cyclictest("\"histogram\": {\"late\": 1}"),
            "line 4: invalid value: expected key to be a number in quotes",
        ),
        (
            cyclictest("\"histogram\": {}, \"cycles\": 281474976710657, \"min\": 0, \"max\": 0"),
            "281474976710657 wake-ups are more than a run can have",
        ),
        (
            "{\"cmdline:\": \"/usr/bin/oslat -D 1\", \"thread\": {}}".to_owned(),
            "line 1: a file of oslat, not of cyclictest",
        ),
        (
            "{\"resolution_in_ns\": 4000000, \"thread\": {}}".to_owned(),
            "an unknown resolution of 4000000 ns",
        ),
    ];
    for (text, expected) in cases {
        let said = error(&text);
        assert!(said.contains(expected), "{said} instead of {expected}");
    }
}

#[test]
fn a_priority_is_added_only_where_the_file_lacks_it() {
    let high = Priority::new(90).unwrap();
    let mut jitterdebugger = read("{\"cpu\": {}}", "x.json").unwrap();
    assert_eq!(jitterdebugger.scheduling(), "fifo");
    jitterdebugger.set_priority(high).unwrap();
    assert_eq!(jitterdebugger.scheduling(), "fifo:90");
    assert!(jitterdebugger.set_priority(high).unwrap_err().to_string().contains("priority 90"));
    let said = fixture("cyclictest.json").set_priority(high).unwrap_err().to_string();
    assert_eq!(said, "the file of cyclictest already says SCHED_OTHER, which has no priority");
}

/// A thread: its histogram, and the number of wake-ups beyond it.
type Written = (Vec<(u32, u32)>, Option<u32>);

fn written() -> impl Strategy<Value = Written> {
    let buckets = proptest::collection::btree_map(0_u32..5_000, 1_u32..1_000, 1..20);
    let buckets = buckets.prop_map(|map| map.into_iter().collect());
    (buckets, proptest::option::of(1_u32..50))
}

fn as_cyclictest(threads: &[Written], interval: u32) -> String {
    let mut text = format!(
        "{{\n  \"file_version\": 1,\n  \"cmdline:\": \"cyclictest -S -p80 -i{interval} -h5000\",\n  \
         \"resolution_in_ns\": 0,\n  \"thread\": {{\n"
    );
    for (index, (buckets, beyond)) in threads.iter().enumerate() {
        let comma = |last: bool| if last { "" } else { "," };
        write!(text, "    \"{index}\": {{\n      \"histogram\": {{\n").unwrap();
        for (at, (latency, times)) in buckets.iter().enumerate() {
            let comma = comma(at + 1 == buckets.len());
            writeln!(text, "        \"{latency}\": {times}{comma}").unwrap();
        }
        let inside: u32 = buckets.iter().map(|(_, times)| times).sum();
        let (min, last) = (buckets[0].0, buckets[buckets.len() - 1].0);
        let max = if beyond.is_some() { 9_000 } else { last };
        write!(
            text,
            "      }},\n      \"cycles\": {},\n      \"min\": {min},\n      \"max\": {max},\n      \
             \"avg\": -nan,\n      \"cpu\": {index},\n      \"node\": 0\n    }}{}\n",
            inside + beyond.unwrap_or(0),
            comma(index + 1 == threads.len())
        )
        .unwrap();
    }
    text + "  }\n}\n"
}

proptest! {
    #[test]
    fn every_wake_up_that_is_written_is_counted(
        threads in proptest::collection::vec(written(), 1..5),
        interval in 20_u32..3_000,
    ) {
        let imported = read(&as_cyclictest(&threads, interval), "x.json").unwrap();
        let findings = imported.findings();
        let all = &findings.series[0];
        let mut count = 0;
        let mut missed = 0;
        for (buckets, beyond) in &threads {
            for (latency, times) in buckets {
                count += u64::from(*times);
                missed += u64::from(latency / interval) * u64::from(*times);
            }
            count += u64::from(beyond.unwrap_or(0));
            missed += if beyond.is_some() { u64::from(9_000 / interval) } else { 0 };
        }
        prop_assert_eq!((all.n, all.missed), (count, missed));
        prop_assert_eq!(all.labels["policy"].as_str(), "fifo:80");
        let beyond = threads.iter().filter(|(_, beyond)| beyond.is_some()).count();
        let of_threads = |warning: &&String| warning.starts_with("thread ");
        prop_assert_eq!(findings.warnings.iter().filter(of_threads).count(), beyond);
        let singles = if threads.len() > 1 { threads.len() } else { 0 };
        prop_assert_eq!(findings.series.len(), 1 + singles);
    }

    #[test]
    fn a_damaged_file_is_an_error_or_numbers_that_fit(
        threads in proptest::collection::vec(written(), 1..3),
        at in 0.0_f64..1.0,
        with in "\\PC{0,3}",
    ) {
        let mut text = as_cyclictest(&threads, 1_000);
        let at = (text.len() as f64 * at) as usize;
        text.replace_range(at..=at, &with);
        if let Ok(imported) = read(&text, "x.json") {
            let findings = imported.findings();
            let singles: u64 = findings.series.iter().skip(1).map(|series| series.n).sum();
            prop_assert!(findings.series.len() < 2 || findings.series[0].n == singles);
        }
    }
}
