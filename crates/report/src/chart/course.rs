//! A series over the time of its run: the median as a line, the worst sample of each
//! slice as a tick, and the worst samples of the series numbered.

use maud::{Markup, html};
use unjank_measure::record::Slice;
use unjank_measure::{SeriesRecord, Unit};

use crate::chart::Chart;
use crate::chart::declutter::spread;
use crate::chart::mark::with_tooltip;
use crate::chart::path::{level, line, number, upright};
use crate::chart::plot::{Axis, Paper, Plot, axes};
use crate::chart::scale::Domain;
use crate::words;

/// The most slices drawn; only a manipulated record has more.
const SLICES: usize = 2_000;

/// Low, so that samples an order of magnitude worse do not press the median against
/// the lower edge.
const DECADES_FOR_LOG: f64 = 0.9;

/// One series over time.
#[derive(Debug)]
pub(crate) struct Course {
    title: String,
    words: String,
    unit: Unit,
    slices: Vec<Slice>,
    /// The length of a slice in nanoseconds.
    slice: u64,
    /// The numbered worst samples: number, time, value.
    worst: Vec<(usize, u64, u64)>,
    times: Domain,
    values: Domain,
}

impl Course {
    /// The course of `series` with its worst samples (number, time, value);
    /// `None` if it was not kept.
    pub(crate) fn of(
        title: String,
        series: &SeriesRecord,
        worst: Vec<(usize, u64, u64)>,
    ) -> Option<Self> {
        let slices: Vec<Slice> =
            series.slices.iter().take(SLICES).filter(|slice| slice.n > 0).copied().collect();
        let (first, last) = (slices.first()?.at, slices.last()?.at);
        let slice = slices
            .windows(2)
            .map(|pair| pair[1].at.saturating_sub(pair[0].at))
            .filter(|gap| *gap > 0)
            .min()
            .unwrap_or(1);
        let values = Domain::covering_log_above(
            DECADES_FOR_LOG,
            slices.iter().flat_map(|slice| [slice.p50 as f64, slice.max as f64]),
        );
        let end = last.max(first).saturating_add(slice);
        Some(Self {
            title,
            words: words::series_in_brief(series),
            unit: series.unit,
            slices,
            slice,
            worst,
            times: Domain::linear(0.0, end as f64),
            values,
        })
    }

    /// Stretches of adjacent slices.
    fn stretches(&self) -> impl Iterator<Item = &[Slice]> {
        let together = |a: &Slice, b: &Slice| {
            b.at.saturating_sub(a.at) <= self.slice.saturating_add(self.slice / 2)
        };
        self.slices.chunk_by(together)
    }
}

impl Chart for Course {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        format!("Median and worst sample over the time of the run. {}.", self.words)
    }

    fn draw(&self, paper: Paper) -> Markup {
        let values = Axis::new(self.values, self.unit, 5);
        let times = Axis::new(self.times, Unit::Nanoseconds, 6);
        let plot = Plot {
            left: values.text_width(),
            right: paper.width - 12.0,
            top: if self.worst.is_empty() { 14.0 } else { 28.0 },
            bottom: paper.height - 24.0,
        };
        let (x, y) = (plot.x(self.times), plot.y(self.values));
        let centre = |slice: &Slice| x.at(slice.at as f64 + self.slice as f64 / 2.0);
        let half = ((x.at(self.slice as f64) - plot.left) / 2.0).clamp(0.8, 6.0);
        let bars = self
            .slices
            .iter()
            .map(|slice| ([centre(slice), y.at(slice.max as f64)], y.at(slice.p50 as f64)));
        let peaks = self.slices.iter().map(|slice| {
            let at = centre(slice);
            ([at - half, y.at(slice.max as f64)], at + half)
        });
        html! {
            (axes(&plot, &times, &values))
            g class="s1" {
                path class="reach" stroke-width=(number(half * 2.0)) d=(upright(bars)) {}
                path class="peaks" d=(level(peaks)) {}
                @for stretch in self.stretches() {
                    @let places: Vec<_> = stretch.iter().flat_map(|slice| {
                        let level = y.at(slice.p50 as f64);
                        [[x.at(slice.at as f64), level], [x.at(slice.at.saturating_add(self.slice) as f64), level]]
                    }).collect();
                    path class="line" d=(line(&places)) {}
                }
                (self.numbers(&plot, &x, &y))
            }
        }
    }
}

impl Course {
    /// The numbers of the worst samples above the plot, with leaders to the samples.
    fn numbers(
        &self,
        plot: &Plot,
        x: &crate::chart::scale::Scale,
        y: &crate::chart::scale::Scale,
    ) -> Markup {
        let places: Vec<[f64; 2]> = self
            .worst
            .iter()
            .map(|(_, at, value)| [x.at(*at as f64), y.at(*value as f64)])
            .collect();
        let wanted: Vec<f64> = places.iter().map(|[x, _]| *x).collect();
        let numbers = spread(&wanted, 15.0, plot.left + 6.0, plot.right - 4.0);
        html! {
            g class="worst" {
                @for (((number_of, after, value), [px, py]), at) in
                    self.worst.iter().zip(&places).zip(numbers)
                {
                    @let text = format!(
                        "{} at {}",
                        words::value(self.unit, *value as f64),
                        words::value(Unit::Nanoseconds, *after as f64)
                    );
                    path class="leader" d={
                        "M" (number(at)) ",17 " (number(*px)) "," (number(plot.top - 2.0))
                        " " (number(*px)) "," (number(*py))
                    } {}
                    (with_tooltip(0, [*px, *py], 2.6, &text))
                    text x=(number(at)) y="13" text-anchor="middle" { (number_of) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::{Nanos, Timestamp};
    use unjank_measure::Series;

    use super::*;

    fn course(times: impl Iterator<Item = u64>) -> Option<Course> {
        let start = Timestamp::from_nanos(0);
        let mut series = Series::new("test/course").with_course(start, Nanos(240_000));
        for at in times {
            series.record_at(Timestamp::from_nanos(at), Nanos(50));
        }
        Course::of(String::new(), &series.finish(), Vec::new())
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let whole = course((0..100).map(|slice| slice * 1_000)).unwrap();
        assert_eq!(whole.stretches().count(), 1);
        let gap = course((0..100).filter(|slice| *slice != 50).map(|slice| slice * 1_000)).unwrap();
        assert_eq!(gap.stretches().map(<[Slice]>::len).collect::<Vec<_>>(), [50, 49]);
    }

    #[test]
    fn a_series_without_a_course_has_no_chart() {
        assert!(course(std::iter::empty()).is_none());
    }
}
