//! Parts of wholes: a stacked horizontal bar for each whole, below its name.

use maud::{Markup, html};
use unjank_measure::Unit;

use crate::chart::Chart;
use crate::chart::key::Key;
use crate::chart::mark::{LINES, mark};
use crate::chart::path::number;
use crate::chart::plot::{Axis, CHARACTER, Paper, Plot, axes, fitted};
use crate::chart::scale::Domain;
use crate::words;

/// The most bars of one chart.
pub(crate) const WHOLES: usize = 24;

/// A name and the bar below it.
const ROW: f64 = 36.0;
const BAR: f64 = 14.0;
/// Height of the axis texts below the bars.
const AXIS: f64 = 24.0;
/// The shortest part with a mark.
const MARKED: f64 = 9.0;

/// Wholes in one unit, with the sizes of their parts.
#[derive(Debug)]
pub(crate) struct Parts {
    title: String,
    unit: Unit,
    names: Vec<String>,
    wholes: Vec<Whole>,
    values: Domain,
}

/// A bar.
#[derive(Debug, Clone)]
pub(crate) struct Whole {
    pub(crate) name: String,
    /// The numbers of the parts and their sizes, from left to right.
    pub(crate) parts: Vec<(usize, f64)>,
}

impl Parts {
    /// A chart of `wholes` whose parts have these `names`; `None` if nothing can be drawn.
    pub(crate) fn of(
        title: String,
        unit: Unit,
        names: Vec<String>,
        wholes: &[Whole],
    ) -> Option<Self> {
        let drawn = |(part, size): &(usize, f64)| {
            *part < names.len().min(LINES) && size.is_finite() && *size >= 0.0
        };
        let wholes: Vec<Whole> = wholes
            .iter()
            .take(WHOLES)
            .map(|whole| Whole {
                name: whole.name.clone(),
                parts: whole.parts.iter().filter(|part| drawn(part)).copied().collect(),
            })
            .filter(|whole| !whole.parts.is_empty())
            .collect();
        let sum = |whole: &Whole| whole.parts.iter().map(|(_, size)| size).sum::<f64>();
        let highest = Domain::covering(wholes.iter().map(sum).chain([0.0])).high;
        // A part's length is its value, so the axis starts at zero and is never logarithmic.
        let values = Domain::linear(0.0, highest);
        (!wholes.is_empty()).then_some(Self { title, unit, names, wholes, values })
    }
}

impl Parts {
    /// A part in words.
    fn in_words(&self, part: usize, size: f64) -> String {
        format!("{} {}", self.names[part], words::value(self.unit, size))
    }
}

impl Chart for Parts {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let parts = |whole: &Whole| {
            let parts: Vec<String> =
                whole.parts.iter().map(|(part, size)| self.in_words(*part, *size)).collect();
            format!("{}: {}", whole.name, parts.join(", "))
        };
        format!("{}.", self.wholes.iter().map(parts).collect::<Vec<_>>().join("; "))
    }

    fn height(&self, paper: Paper) -> f64 {
        Key::new(&self.names, paper).height() + ROW * self.wholes.len() as f64 + AXIS
    }

    fn draw(&self, paper: Paper) -> Markup {
        let most = if paper.is_wide() { 10 } else { 4 };
        let axis = Axis::new(self.values, self.unit, most);
        let key = Key::new(&self.names, paper);
        let last = axis.texts.last().map_or(0, |text| text.chars().count());
        let plot = Plot {
            left: 2.0,
            right: paper.width - last as f64 * CHARACTER / 2.0,
            top: key.height(),
            bottom: paper.height - AXIS,
        };
        let no_ticks =
            Axis { domain: Domain::linear(0.0, 1.0), ticks: Vec::new(), texts: Vec::new() };
        let x = plot.x(self.values);
        html! {
            (key.draw())
            (axes(&plot, &axis, &no_ticks))
            @for (place, whole) in self.wholes.iter().enumerate() {
                @let foot = plot.top + (place as f64 + 1.0) * ROW - 3.0;
                text x=(number(plot.left)) y=(number(foot - BAR - 5.0)) {
                    (fitted(&whole.name, paper.width - plot.left))
                }
                @for (part, low, high) in stacked(&whole.parts) {
                    @let (base, end) = (x.at(low), x.at(high));
                    g class={ "s" (part % LINES + 1) } {
                        title { (whole.name) ": " (self.in_words(part, high - low)) }
                        rect class="bar" x=(number(base)) y=(number(foot - BAR))
                            width=(number(end - base)) height=(number(BAR)) {}
                        @if end - base >= MARKED {
                            (mark(part, [f64::midpoint(base, end), foot - BAR / 2.0], 3.4))
                        }
                    }
                }
            }
        }
    }
}

/// Each part with its start and end.
fn stacked(parts: &[(usize, f64)]) -> Vec<(usize, f64, f64)> {
    parts
        .iter()
        .scan(0.0, |top, (part, size)| {
            let base = *top;
            *top += size;
            Some((*part, base, *top))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_stacked_and_bars_begin_at_zero() {
        let whole = |name: &str, hot, rest| Whole {
            name: name.to_owned(),
            parts: vec![(0, hot), (1, rest), (9, 1e9)],
        };
        let names = ["hottest 10 %", "rest"].map(str::to_owned).to_vec();
        let wholes = [whole("on", 800.0, 200.0), whole("off", 10.0, f64::NAN)];
        let chart = Parts::of("I/O".to_owned(), Unit::Count, names, &wholes).unwrap();
        assert!(chart.values.low.abs() < 1e-12 && chart.values.high >= 1_000.0, "{chart:?}");
        assert!(!chart.values.log && chart.values.high < 2_000.0);
        assert_eq!(chart.description(), "on: hottest 10 % 800, rest 200; off: hottest 10 % 10.");
        assert_eq!(stacked(&[(0, 1.0), (1, 2.0)]), [(0, 0.0, 1.0), (1, 1.0, 3.0)]);
        assert!(Parts::of(String::new(), Unit::Count, Vec::new(), &[]).is_none());
    }
}
