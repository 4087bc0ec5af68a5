//! HdrHistogram's interval log, as jHiccup and many other programs of the JVM write it.
//!
//! Each line holds the histogram of one interval, in the compressed form that records use, too:
//! `org.HdrHistogram.HistogramLogWriter`. Its values are nanoseconds, which is what jHiccup logs.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use jiff::Timestamp as Date;
use unjank_host::Nanos;

use super::foreign::{Foreign, count, head, nanos};
use crate::findings::Findings;
use crate::record::{SeriesRecord, Slice, packed};
use crate::series::{SLICES, Series};

/// The most tags of a log. Each has a histogram.
const MOST_TAGS: usize = 64;

const VERSION: &str = "#[Histogram log format version ";

pub(super) fn is(text: &str) -> bool {
    head(text).contains(VERSION)
}

pub(super) fn read(text: &str) -> Result<Foreign, String> {
    let mut began = None;
    let mut end: f64 = 0.0;
    let mut tags: BTreeMap<Option<&str>, Intervals> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let said = |what: String| format!("line {}: {what}", index + 1);
        let line = line.trim();
        if let Some(start) = line.strip_prefix("#[StartTime: ") {
            let seconds: Option<f64> = start.split(' ').next().and_then(|word| word.parse().ok());
            began = seconds.and_then(|at| Date::from_millisecond((at * 1e3) as i64).ok());
        } else if !line.is_empty() && !line.starts_with(['#', '"']) {
            let interval = Interval::parse(line).map_err(said)?;
            end = end.max(interval.start + interval.length);
            if tags.len() == MOST_TAGS && !tags.contains_key(&interval.tag) {
                return Err(said(format!("more than {MOST_TAGS} tags")));
            }
            let intervals = tags.entry(interval.tag).or_insert_with(|| Intervals::of(interval.tag));
            intervals.add(&interval).map_err(said)?;
        }
    }
    let series = tags.into_values().map(Intervals::finish).collect();
    let findings = Findings { series, ..Findings::default() };
    let elapsed = nanos(end * 1e9).unwrap_or(Nanos::ZERO);
    Ok(Foreign { tool: "hlog".to_owned(), version: None, began, elapsed, findings })
}

/// One line.
struct Interval<'a> {
    tag: Option<&'a str>,
    /// In seconds.
    start: f64,
    length: f64,
    histogram: Histogram<u64>,
}

impl<'a> Interval<'a> {
    fn parse(line: &'a str) -> Result<Self, String> {
        let (tag, line) = match line.strip_prefix("Tag=") {
            Some(tagged) => {
                let (tag, rest) = tagged.split_once(',').ok_or("a tag without an interval")?;
                (Some(tag), rest)
            }
            None => (None, line),
        };
        let fields: Vec<&str> = line.splitn(4, ',').collect();
        let [start, length, _max, histogram] = fields.as_slice() else {
            return Err("four fields are expected: start, length, maximum, histogram".to_owned());
        };
        let seconds = |field: &str| {
            let seconds: Option<f64> = field.parse().ok();
            seconds
                .filter(|s| s.is_finite())
                .ok_or_else(|| format!("{field:?} is not a number of seconds"))
        };
        let (histogram, _) = packed::decode(histogram)?;
        Ok(Self { tag, start: seconds(start)?, length: seconds(length)?, histogram })
    }
}

/// All intervals of a tag.
struct Intervals {
    series: Series,
    slices: Vec<Slice>,
}

impl Intervals {
    fn of(tag: Option<&str>) -> Self {
        let series = Series::new("hlog/latency");
        let series = match tag {
            Some(tag) => series.with_label("tag", tag),
            None => series,
        };
        Self { series, slices: Vec::new() }
    }

    fn add(&mut self, interval: &Interval<'_>) -> Result<(), String> {
        let histogram = &interval.histogram;
        for step in histogram.iter_recorded() {
            count(&mut self.series, Nanos(step.value_iterated_to()), step.count_at_value())?;
        }
        let at = nanos(interval.start * 1e9).filter(|_| !histogram.is_empty());
        self.slices.extend(at.map(|at| Slice {
            at: at.get(),
            n: histogram.len(),
            min: histogram.min(),
            p50: histogram.value_at_quantile(0.5),
            max: histogram.max(),
        }));
        // More than a chart shows.
        self.slices.truncate(SLICES + 1);
        Ok(())
    }

    fn finish(self) -> SeriesRecord {
        // Times that start anew are no course.
        let is_course = self.slices.is_sorted_by(|one, next| one.at < next.at);
        let slices =
            if is_course && self.slices.len() <= SLICES { self.slices } else { Vec::new() };
        SeriesRecord { slices, ..self.series.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_add_up_by_tag() {
        let foreign = read(include_str!("fixtures/jhiccup.hlog")).unwrap();
        let [plain, tagged] = foreign.findings.series.as_slice() else { panic!("{foreign:?}") };
        assert_eq!(tagged.labels["tag"], "other");
        assert_eq!((plain.n, plain.summary), (tagged.n, tagged.summary));
        // Three intervals of 200 sleeps of a millisecond, and what they missed meanwhile.
        assert!(plain.n >= 600, "{}", plain.n);
        let max = plain.summary.unwrap().max;
        assert!((59_000_000..=60_000_000).contains(&max), "{max}");
        let slices: Vec<u64> = plain.slices.iter().map(|slice| slice.at / 1_000_000).collect();
        assert_eq!(slices, [53, 483, 723]);
        assert_eq!(foreign.began.unwrap().as_millisecond(), 1_795_864_836_661);
    }

    #[test]
    fn a_log_has_a_limited_number_of_tags() {
        let text = include_str!("fixtures/jhiccup.hlog");
        let line = text.lines().find_map(|line| line.strip_prefix("Tag=other,")).unwrap();
        let tags =
            |n: usize| -> Vec<String> { (0..n).map(|tag| format!("Tag=t{tag},{line}")).collect() };
        let log = |n: usize| read(&format!("{VERSION}1.3]\n{}", tags(n).join("\n")));
        assert_eq!(log(MOST_TAGS).unwrap().findings.series.len(), MOST_TAGS);
        assert_eq!(log(MOST_TAGS + 1).unwrap_err(), "line 66: more than 64 tags");
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let log = |line: &str| read(&format!("{VERSION}1.3]\n{line}\n")).unwrap_err();
        assert_eq!(
            log("1,2,3"),
            "line 2: four fields are expected: start, length, maximum, histogram"
        );
        assert_eq!(log("x,2,3,"), "line 2: it ends within its header");
        assert!(log("0,1,3,HISTFAAA!").starts_with("line 2: "));
        assert_eq!(log("Tag=a"), "line 2: a tag without an interval");
    }
}
