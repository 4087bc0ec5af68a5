//! A recorder of samples: histogram, missed periods, course over time.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use unjank_host::{Nanos, Timestamp};

use crate::error::Result;
use crate::record::{QUANTILES, SeriesRecord, Slice, Summary, Unit};
use crate::stats::{Empirical, order};

/// The largest sample that keeps three digits: about 73 minutes in nanoseconds.
/// Larger samples are counted in the last bucket. The maximum is kept exactly.
pub const LARGEST: u64 = (1 << 42) - 1;

/// The most samples of a series that another tool has counted: more are no
/// measurement, and their histogram could not be written.
pub const MOST: u64 = 1 << 53;

/// The number of slices that a series' course is divided into.
pub const SLICES: usize = 240;

/// Records samples one by one. Recording allocates nothing and costs a few
/// nanoseconds (`make bench` shows how many).
#[derive(Debug, Clone)]
pub struct Series {
    name: String,
    unit: Unit,
    labels: BTreeMap<String, String>,
    histogram: Histogram<u64>,
    min: u64,
    max: u64,
    missed: u64,
    course: Option<Course>,
}

impl Series {
    /// An empty series of times. The name is a path that begins with the delay:
    /// `jitter/native/fifo/wakeup`.
    pub fn new(name: impl Into<String>) -> Self {
        Self::of(name, Unit::Nanoseconds)
    }

    /// An empty series in another unit.
    pub fn of(name: impl Into<String>, unit: Unit) -> Self {
        Self {
            name: name.into(),
            unit,
            labels: BTreeMap::new(),
            histogram: Histogram::new_with_bounds(1, LARGEST, 3)
                .expect("1 to 2^42 with three digits are valid bounds"),
            min: u64::MAX,
            max: 0,
            missed: 0,
            course: None,
        }
    }

    /// Adds a label that tells it from series of the same name.
    #[must_use]
    pub fn with_label(mut self, name: &str, value: impl Into<String>) -> Self {
        self.labels.insert(name.to_owned(), value.into());
        self
    }

    /// Also records the course over time: [`SLICES`] slices from `start` on,
    /// over the expected length of the run. [`record_at`](Self::record_at)
    /// fills it; samples after the end count in the last slice.
    #[must_use]
    pub fn with_course(mut self, start: Timestamp, expected: Nanos) -> Self {
        self.course = Some(Course::new(start, expected));
        self
    }

    /// Drops the course over time.
    #[must_use]
    pub fn without_course(self) -> Self {
        Self { course: None, ..self }
    }

    /// Records a time.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        self.record_value(time.get());
    }

    /// Records a time that was taken at the moment `at`. Moments must not
    /// decrease.
    #[inline]
    pub fn record_at(&mut self, at: Timestamp, time: Nanos) {
        self.record_value(time.get());
        if let Some(course) = &mut self.course {
            course.record(at, time.get());
        }
    }

    /// Records a number in the unit of the series.
    #[inline]
    pub fn record_value(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.histogram.saturating_record(value);
    }

    /// Records a time that another tool has counted `times` times. No more than
    /// [`MOST`] samples are counted.
    pub fn record_many(&mut self, time: Nanos, times: u64) {
        let times = times.min(MOST.saturating_sub(self.n()));
        if times == 0 {
            return;
        }
        self.min = self.min.min(time.get());
        self.max = self.max.max(time.get());
        self.histogram.saturating_record_n(time.get(), times);
    }

    /// Counts periods in which no sample could be taken, because the one
    /// before was late (coordinated omission).
    #[inline]
    pub fn miss(&mut self, periods: u64) {
        self.missed = self.missed.saturating_add(periods);
    }

    /// Adds the samples of another series of the same unit, such as that of
    /// another CPU. Courses are joined slice by slice if both began at the same
    /// moment (give or take a slice) and are equally long; the median of a
    /// joined slice is the weighted mean of the two medians.
    pub fn absorb(&mut self, other: &Self) {
        self.histogram += &other.histogram;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.miss(other.missed);
        if let (Some(course), Some(theirs)) = (&mut self.course, &other.course) {
            course.absorb(theirs);
        }
    }

    /// Adds the samples of a finished series, without its course.
    ///
    /// # Errors
    /// Its histogram cannot be read.
    pub fn absorb_record(&mut self, record: &SeriesRecord) -> Result<()> {
        let Some(summary) = record.summary else { return Ok(()) };
        self.histogram += record.histogram()?;
        self.min = self.min.min(summary.min);
        self.max = self.max.max(summary.max);
        self.miss(record.missed);
        Ok(())
    }

    /// Samples recorded so far.
    pub fn n(&self) -> u64 {
        self.histogram.len()
    }

    /// The value below which the share `q` (0–1) of the samples lies.
    pub fn quantile(&self, q: f64) -> u64 {
        self.histogram.value_at_quantile(q)
    }

    /// The distribution of the samples so far.
    pub(crate) fn empirical(&self) -> Empirical {
        Empirical::new(&self.histogram, self.min, self.max)
    }

    /// The record of the samples so far; its summary is `None` without samples.
    pub fn finish(self) -> SeriesRecord {
        let n = self.n();
        SeriesRecord {
            name: self.name,
            unit: self.unit,
            labels: self.labels,
            n,
            missed: self.missed,
            summary: (n > 0).then(|| summarise(&self.histogram, self.min, self.max)),
            histogram: SeriesRecord::encode(&self.histogram),
            slices: self.course.map(Course::finish).unwrap_or_default(),
            repetitions: Vec::new(),
        }
    }
}

/// The summary of a histogram whose exact extremes are known. Its intervals
/// assume independent samples.
pub(crate) fn summarise(histogram: &Histogram<u64>, min: u64, max: u64) -> Summary {
    let quantiles = QUANTILES.map(|q| histogram.value_at_quantile(q).clamp(min, max));
    let intervals = QUANTILES.map(|q| {
        order::quantile_interval(histogram.len(), q)
            .map(|ranks| ranks.map(|rank| order::value_at_rank(histogram, rank).clamp(min, max)))
    });
    let [p50, p90, p99, p99_9, p99_99] = quantiles;
    Summary { min, p50, p90, p99, p99_9, p99_99, max, intervals }
}

/// The slices of a series, filled in order of time.
#[derive(Debug, Clone)]
struct Course {
    start: Timestamp,
    slice: Nanos,
    slices: Vec<Slice>,
    /// Samples of the current slice, to about 1 %.
    current: Histogram<u32>,
    index: usize,
    min: u64,
    max: u64,
}

impl Course {
    fn new(start: Timestamp, expected: Nanos) -> Self {
        Self {
            start,
            slice: Nanos((expected.get() / SLICES as u64).max(1)),
            slices: Vec::with_capacity(SLICES),
            current: Histogram::new_with_bounds(1, LARGEST, 2)
                .expect("1 to 2^42 with two digits are valid bounds"),
            index: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    #[inline]
    fn record(&mut self, at: Timestamp, value: u64) {
        let index = (at.since(self.start).get() / self.slice.get()).min(SLICES as u64 - 1) as usize;
        if index != self.index {
            self.close_slice();
            self.index = index;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.current.saturating_record(value);
    }

    fn close_slice(&mut self) {
        if self.current.is_empty() {
            return;
        }
        // `slices` never holds more than SLICES entries, so this does not allocate.
        self.slices.push(Slice {
            at: self.slice.times(self.index as u64).get(),
            n: self.current.len(),
            min: self.min,
            p50: self.current.value_at_quantile(0.5).clamp(self.min, self.max),
            max: self.max,
        });
        self.current.reset();
        (self.min, self.max) = (u64::MAX, 0);
    }

    fn absorb(&mut self, other: &Self) {
        self.close_slice();
        let mut theirs = other.clone();
        theirs.close_slice();
        for slice in theirs.slices {
            match self.slices.binary_search_by_key(&slice.at, |own| own.at) {
                Ok(index) => join(&mut self.slices[index], &slice),
                Err(index) => self.slices.insert(index, slice),
            }
        }
    }

    fn finish(mut self) -> Vec<Slice> {
        self.close_slice();
        self.slices
    }
}

pub(crate) fn join(own: &mut Slice, other: &Slice) {
    let n = own.n + other.n;
    let weighted = own.p50 as f64 * own.n as f64 + other.p50 as f64 * other.n as f64;
    own.p50 = (weighted / n.max(1) as f64).round() as u64;
    own.n = n;
    own.min = own.min.min(other.min);
    own.max = own.max.max(other.max);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_summarises_its_samples() {
        let mut series = Series::new("test/uniform");
        for value in 1..=1000 {
            series.record(Nanos(value));
        }
        series.miss(3);
        let record = series.finish();
        let summary = record.summary.unwrap();
        assert_eq!((record.n, record.missed), (1000, 3));
        assert_eq!((summary.min, summary.p50, summary.p99, summary.max), (1, 500, 990, 1000));
        assert!((record.missed_share() - 3.0 / 1003.0).abs() < 1e-12);
    }

    #[test]
    fn a_sample_beyond_the_buckets_is_not_lost() {
        let mut series = Series::new("test/huge");
        series.record(Nanos(u64::MAX));
        series.record(Nanos(0));
        let record = series.finish();
        let summary = record.summary.unwrap();
        assert_eq!((record.n, summary.min, summary.max), (2, 0, u64::MAX));
    }

    #[test]
    fn counts_of_another_tool_are_recorded_as_samples() {
        let mut series = Series::new("test/counted");
        series.record_many(Nanos(7), 3);
        series.record_many(Nanos(u64::MAX), 1 << 40);
        series.record_many(Nanos(1), 0);
        let record = series.finish();
        let summary = record.summary.unwrap();
        assert_eq!((record.n, summary.min, summary.max), (3 + (1 << 40), 7, u64::MAX));
    }

    #[test]
    fn an_empty_series_has_no_summary() {
        assert_eq!(Series::new("test/empty").finish().summary, None);
    }

    #[test]
    fn the_histogram_survives_its_text_form() {
        let mut series = Series::new("test/text");
        for value in [5, 50_000, 1_000_000_000] {
            series.record(Nanos(value));
        }
        let histogram = series.finish().histogram().unwrap();
        assert_eq!(histogram.len(), 3);
        assert!(histogram.equivalent(histogram.max(), 1_000_000_000));
    }

    #[test]
    fn series_of_two_cpus_become_one() {
        let start = Timestamp::from_nanos(0);
        let series = || Series::new("test/cpu").with_course(start, Nanos(SLICES as u64 * 10));
        let (mut one, mut other) = (series(), series());
        one.record_at(Timestamp::from_nanos(5), Nanos(10));
        other.record_at(Timestamp::from_nanos(5), Nanos(30));
        other.record_at(Timestamp::from_nanos(15), Nanos(7));
        other.miss(2);
        one.absorb(&other);
        let record = one.finish();
        assert_eq!((record.n, record.missed), (3, 2));
        let slices: Vec<_> = record.slices.iter().map(|s| (s.at, s.n, s.p50, s.max)).collect();
        assert_eq!(slices, [(0, 2, 20, 30), (10, 1, 7, 7)]);
    }

    #[test]
    fn a_finished_series_can_be_absorbed() {
        let mut finished = Series::new("test/finished");
        for value in [5, 70_001] {
            finished.record(Nanos(value));
        }
        let mut series = Series::new("test/all");
        series.record(Nanos(300));
        series.absorb_record(&finished.finish()).unwrap();
        series.absorb_record(&Series::new("test/empty").finish()).unwrap();
        let record = series.finish();
        let summary = record.summary.unwrap();
        assert_eq!((record.n, summary.min, summary.p50, summary.max), (3, 5, 300, 70_001));
    }

    #[test]
    fn the_course_is_kept_in_slices() {
        let start = Timestamp::from_nanos(1_000);
        let mut series = Series::new("test/course").with_course(start, Nanos(SLICES as u64 * 10));
        for (at, value) in [(1_000, 7), (1_009, 9), (1_025, 100), (999_999, 3)] {
            series.record_at(Timestamp::from_nanos(at), Nanos(value));
        }
        let slices = series.finish().slices;
        let ends: Vec<_> = slices.iter().map(|s| (s.at, s.n, s.min, s.max)).collect();
        assert_eq!(ends, [(0, 2, 7, 9), (20, 1, 100, 100), (2390, 1, 3, 3)]);
    }
}
