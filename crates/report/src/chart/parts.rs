//! Parts of wholes: one upright bar for each whole, its parts on top of each other.

use maud::{Markup, html};
use unjank_measure::Unit;

use crate::chart::Chart;
use crate::chart::key::Key;
use crate::chart::mark::{LINES, mark};
use crate::chart::path::number;
use crate::chart::plot::{Axis, Paper, Plot, axes, fitted};
use crate::chart::scale::Domain;
use crate::words;

/// Bars of one chart.
pub(crate) const WHOLES: usize = 12;

/// Wholes in one unit, each with the size of the parts that it has.
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
    /// The number of the part and its size, from the base up.
    pub(crate) parts: Vec<(usize, f64)>,
}

impl Parts {
    /// A chart of `wholes` whose parts have these `names`; `None` if nothing in it can be drawn.
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

impl Chart for Parts {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let parts = |whole: &Whole| {
            let part = |(part, size): &(usize, f64)| {
                format!("{} {}", self.names[*part], words::value(self.unit, *size))
            };
            let parts: Vec<String> = whole.parts.iter().map(part).collect();
            format!("{}: {}", whole.name, parts.join(", "))
        };
        format!("{}.", self.wholes.iter().map(parts).collect::<Vec<_>>().join("; "))
    }

    fn draw(&self, paper: Paper) -> Markup {
        let axis = Axis::new(self.values, self.unit, 5);
        let key = Key::new(&self.names, paper);
        let plot = Plot {
            left: axis.text_width(),
            right: paper.width - 4.0,
            top: key.height() + 12.0,
            bottom: paper.height - 24.0,
        };
        let no_ticks =
            Axis { domain: Domain::linear(0.0, 1.0), ticks: Vec::new(), texts: Vec::new() };
        let y = plot.y(self.values);
        let room = (plot.right - plot.left) / self.wholes.len() as f64;
        let width = (room * 0.6).min(56.0);
        html! {
            (key.draw())
            (axes(&plot, &no_ticks, &axis))
            @for (place, whole) in self.wholes.iter().enumerate() {
                @let middle = plot.left + (place as f64 + 0.5) * room;
                @for (part, low, high) in stacked(&whole.parts) {
                    @let (top, base) = (y.at(high), y.at(low));
                    g class={ "s" (part % LINES + 1) } {
                        rect class="bar" x=(number(middle - width / 2.0)) y=(number(top))
                            width=(number(width)) height=(number(base - top)) {}
                        (mark(part, [middle, f64::midpoint(top, base)], 3.4))
                    }
                }
                text x=(number(middle)) y=(number(plot.bottom + 17.0)) text-anchor="middle" {
                    (fitted(&whole.name, room - 8.0))
                }
            }
        }
    }
}

/// Each part with the values where it begins and ends.
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
    fn parts_stand_on_each_other_and_bars_begin_at_zero() {
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
