//! The arms of an experiment: vertical bars in groups, one group for each choice,
//! with 95 % intervals.

use maud::{Markup, html};
use unjank_measure::Unit;

use crate::chart::Chart;
use crate::chart::key::Key;
use crate::chart::mark::{LINES, mark};
use crate::chart::path::number;
use crate::chart::plot::{Axis, CHARACTER, Paper, Plot, axes, fitted};
use crate::chart::scale::Domain;
use crate::words;

/// The most groups of one chart.
pub(crate) const GROUPS: usize = 12;

/// The least space between the names of two groups.
const GAP: f64 = 8.0;

/// Values in one unit: groups of bars, one for each arm.
#[derive(Debug)]
pub(crate) struct Arms {
    title: String,
    unit: Unit,
    names: Vec<String>,
    groups: Vec<Group>,
    values: Domain,
}

/// One choice, with the values of its arms.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// The number of the arm, the value and its interval.
    pub(crate) bars: Vec<(usize, f64, Option<[f64; 2]>)>,
}

impl Arms {
    /// A chart of `groups` of arms with these `names`; `None` if nothing can be drawn.
    pub(crate) fn of(
        title: String,
        unit: Unit,
        names: Vec<String>,
        groups: &[Group],
    ) -> Option<Self> {
        let shown = |group: &Group| Group {
            name: group.name.clone(),
            bars: group
                .bars
                .iter()
                .filter(|(arm, value, _)| *arm < names.len().min(LINES) && value.is_finite())
                .copied()
                .collect(),
        };
        let groups: Vec<Group> = groups.iter().map(shown).take(GROUPS).collect();
        let bars = || groups.iter().flat_map(|group| &group.bars);
        let covered = Domain::covering(bars().flat_map(|(_, value, interval)| {
            [*value].into_iter().chain(interval.iter().flatten().copied())
        }));
        // A bar's length is its value, so the axis starts at zero.
        let values = Domain::linear(covered.low.min(0.0), covered.high.max(0.0));
        let any = bars().next().is_some();
        any.then_some(Self { title, unit, names, groups, values })
    }

    /// A bar in words.
    fn in_words(
        &self,
        group: &Group,
        (arm, value, interval): &(usize, f64, Option<[f64; 2]>),
    ) -> String {
        let value = words::with_interval(self.unit, *value, *interval);
        let arm = &self.names[*arm];
        match group.name.as_str() {
            "" => format!("{arm}: {value}"),
            name => format!("{name}, {arm}: {value}"),
        }
    }

    /// The name of a group, without the prefix that all groups share (`load-`) if the
    /// names do not fit otherwise.
    fn short<'a>(&self, name: &'a str, room: f64) -> &'a str {
        let too_long = |group: &Group| group.name.chars().count() as f64 * CHARACTER > room;
        let shared = name.rfind('-').map_or("", |at| &name[..=at]);
        let all = self.groups.iter().all(|group| group.name.starts_with(shared));
        if all && self.groups.iter().any(too_long) { &name[shared.len()..] } else { name }
    }
}

impl Chart for Arms {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        let bars = self
            .groups
            .iter()
            .flat_map(|group| group.bars.iter().map(move |bar| self.in_words(group, bar)));
        format!("{}.", bars.collect::<Vec<_>>().join("; "))
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
        let zero = y.at(0.0);
        let group_width = (plot.right - plot.left) / self.groups.len() as f64;
        let width = (group_width * 0.8 / self.names.len().min(LINES) as f64).min(56.0);
        let whisker = (width / 4.0).min(5.0);
        let all = width * self.names.len().min(LINES) as f64;
        html! {
            (key.draw())
            (axes(&plot, &no_ticks, &axis))
            @for (place, group) in self.groups.iter().enumerate() {
                @let middle = plot.left + (place as f64 + 0.5) * group_width;
                @for bar in &group.bars {
                    @let (arm, value, interval) = bar;
                    @let center = middle - all / 2.0 + (*arm as f64 + 0.5) * width;
                    @let top = y.at(*value);
                    g class={ "s" (arm % LINES + 1) } {
                        title { (self.in_words(group, bar)) }
                        rect class="bar" x=(number(center - width * 0.46)) y=(number(top.min(zero)))
                            width=(number(width * 0.92)) height=(number((zero - top).abs())) {}
                        @if let Some([low, high]) = interval {
                            @let (low, high) = (y.at(*low), y.at(*high));
                            path class="whisker" d={
                                "M" (number(center)) "," (number(low)) " " (number(center)) "," (number(high))
                                "M" (number(center - whisker)) "," (number(low)) " " (number(center + whisker)) "," (number(low))
                                "M" (number(center - whisker)) "," (number(high)) " " (number(center + whisker)) "," (number(high))
                            } {}
                        }
                        (mark(*arm, [center, top], 3.4))
                    }
                }
                text x=(number(middle)) y=(number(plot.bottom + 17.0)) text-anchor="middle" {
                    (fitted(self.short(&group.name, group_width - GAP), group_width - GAP))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_names(names: &[&str]) -> Option<Arms> {
        let bars = vec![(0, 2.0, Some([1.0, 3.0])), (1, 1.0, None), (2, 9.0, None)];
        let group = |name: &&str| Group { name: (*name).to_owned(), bars: bars.clone() };
        let groups: Vec<Group> = names.iter().map(group).collect();
        let arms = ["as is", "remedy"].map(str::to_owned).into();
        Arms::of("time".to_owned(), Unit::Nanoseconds, arms, &groups)
    }

    #[test]
    fn bars_begin_at_zero_and_have_an_arm() {
        let chart = of_names(&["load-0", "load-1s"]).unwrap();
        assert!(chart.values.low <= 0.0 && chart.values.high >= 3.0 && chart.values.high < 9.0);
        let read = "load-0, as is: 2 ns (1–3 ns); load-0, remedy: 1 ns; load-1s, as is";
        assert!(chart.description().starts_with(read), "{}", chart.description());
        assert!(Arms::of(String::new(), Unit::Count, Vec::new(), &[]).is_none());
    }

    #[test]
    fn names_lose_their_shared_prefix_if_they_do_not_fit() {
        let chart = of_names(&["load-100ms", "load-1500ms"]).unwrap();
        assert_eq!(chart.short("load-100ms", 200.0), "load-100ms");
        assert_eq!(chart.short("load-100ms", 50.0), "100ms");
        let mixed = of_names(&["load-100ms", "basic"]).unwrap();
        assert_eq!(mixed.short("load-100ms", 50.0), "load-100ms");
    }
}
