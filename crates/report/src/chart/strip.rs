//! A narrow strip beside a verdict: one measured value and its healthy limit, or one
//! difference and zero.

use maud::{Markup, html};
use unjank_measure::{Answer, Unit, Verdict};

use crate::chart::Chart;
use crate::chart::mark::mark;
use crate::chart::path::number;
use crate::chart::plot::{Axis, Paper};
use crate::chart::scale::{Domain, Scale};
use crate::tone::Tone;
use crate::words;

/// The paper of a strip.
pub(crate) const PAPER: Paper = Paper { width: 380.0, height: 46.0 };

/// The height at which the value is drawn.
const LEVEL: f64 = 16.0;

/// The strip of a verdict about health or about a difference.
#[derive(Debug)]
pub(crate) struct Strip {
    answer: Answer,
    words: String,
    value: f64,
    interval: Option<[f64; 2]>,
    /// The value's reference: 1 for a healthy limit, 0 for a difference.
    reference: f64,
    /// Healthy values, or differences too small to be detected.
    shaded: [f64; 2],
    domain: Domain,
    /// The unit of a difference; `None` for multiples of the limit.
    unit: Option<Unit>,
}

/// The range, in multiples of the healthy limit, of all `verdicts`. Strips that share it
/// can be compared.
pub(crate) fn shared_domain<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Domain {
    let multiples = verdicts
        .filter_map(multiples)
        .flat_map(|(value, interval)| [value].into_iter().chain(interval.into_iter().flatten()));
    let (low, high) = multiples
        .filter(|multiple| *multiple > 0.0 && multiple.is_finite())
        .fold((0.2, 5.0), |(low, high): (f64, f64), multiple| {
            (low.min(multiple / 1.5), high.max(multiple * 1.5))
        });
    Domain::log(low.max(1e-6), high.min(1e6))
}

/// The measured value and its interval as multiples of the healthy limit.
fn multiples(verdict: &Verdict) -> Option<(f64, Option<[f64; 2]>)> {
    let (measured, healthy) = (verdict.measured.as_ref()?, verdict.healthy.as_ref()?);
    let usable = healthy.at_most > 0.0 && healthy.at_most.is_finite() && measured.value.is_finite();
    usable.then(|| {
        let multiple = |value: f64| value / healthy.at_most;
        (multiple(measured.value), measured.interval.map(|bounds| bounds.map(multiple)))
    })
}

impl Strip {
    /// The strip of a verdict; `None` if there is nothing to show.
    pub(crate) fn of(verdict: &Verdict, shared: Domain) -> Option<Self> {
        Self::of_health(verdict, shared).or_else(|| Self::of_effect(verdict))
    }

    fn of_health(verdict: &Verdict, shared: Domain) -> Option<Self> {
        let (value, interval) = multiples(verdict)?;
        Some(Self {
            answer: verdict.answer,
            words: format!("{value:.2} times the healthy limit"),
            value,
            interval,
            reference: 1.0,
            shaded: [shared.low, 1.0],
            domain: shared,
            unit: None,
        })
    }

    fn of_effect(verdict: &Verdict) -> Option<Self> {
        let effect = verdict.effect.as_ref()?;
        let smallest = verdict.minimum_effect.unwrap_or(0.0).abs();
        let [low, high] = effect.interval.unwrap_or([effect.value; 2]);
        let most = [effect.value, low, high, smallest]
            .into_iter()
            .map(f64::abs)
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max);
        (most > 0.0 && effect.value.is_finite()).then(|| Self {
            answer: verdict.answer,
            words: format!(
                "a difference of {}",
                words::with_interval(effect.unit, effect.value, effect.interval)
            ),
            value: effect.value,
            interval: effect.interval,
            reference: 0.0,
            shaded: [-smallest, smallest],
            domain: Domain::linear((-most * 1.2).max(f64::MIN), (most * 1.2).min(f64::MAX)),
            unit: Some(effect.unit),
        })
    }

    /// Values and texts of the ticks below the strip.
    fn ticks(&self) -> Vec<(f64, String)> {
        if let Some(unit) = self.unit {
            let axis = Axis::new(self.domain, unit, 4);
            return axis.ticks.into_iter().zip(axis.texts).collect();
        }
        let axis = Axis::new(self.domain, Unit::Count, 6);
        let beside = |(tick, _): &(f64, String)| (tick - 1.0).abs() > 1e-9;
        axis.ticks
            .into_iter()
            .zip(axis.texts)
            .map(|(tick, text)| (tick, format!("{text}×")))
            .filter(beside)
            .chain([(1.0, "limit".to_owned())])
            .collect()
    }
}

impl Chart for Strip {
    fn title(&self) -> String {
        format!("{}: {}", self.answer.words(), self.words)
    }

    fn description(&self) -> String {
        self.interval.map_or_else(String::new, |_| "The whisker is the 95 % interval.".to_owned())
    }

    fn draw(&self, paper: Paper) -> Markup {
        let x = self.domain.onto(0.0, paper.width);
        let [from, to] = self.shaded.map(|value| x.at(value));
        let at = x.at(self.value);
        let reference = number(x.at(self.reference));
        html! {
            rect class="good" x=(number(from)) y=(number(LEVEL - 9.0)) width=(number(to - from)) height="18" {}
            line class="base" x1=(number(x.start)) x2=(number(x.end)) y1=(number(LEVEL)) y2=(number(LEVEL)) {}
            g class="ticks" { (tick_texts(&self.ticks(), &x)) }
            line class="reference" x1=(reference) x2=(reference)
                y1=(number(LEVEL - 12.0)) y2=(number(LEVEL + 12.0)) {}
            g class={ "answer " (class_of(self.answer)) } {
                @if let Some([low, high]) = self.interval {
                    @let (low, high) = (number(x.at(low)), number(x.at(high)));
                    path class="whisker" d={
                        "M" (low) "," (number(LEVEL)) " " (high) "," (number(LEVEL))
                        "M" (low) "," (number(LEVEL - 5.0)) " " (low) "," (number(LEVEL + 5.0))
                        "M" (high) "," (number(LEVEL - 5.0)) " " (high) "," (number(LEVEL + 5.0))
                    } {}
                }
                (mark(shape_of(self.answer), [at, LEVEL], 5.5))
            }
        }
    }
}

/// Leaves out texts that would touch the reference's or each other.
fn tick_texts(ticks: &[(f64, String)], x: &Scale) -> Markup {
    let mut taken: Vec<f64> = Vec::new();
    let mut shown = Vec::new();
    for (tick, text) in ticks.iter().rev() {
        let at = x.at(*tick);
        if taken.iter().all(|other| (other - at).abs() > 42.0) {
            taken.push(at);
            shown.push((at, text));
        }
    }
    html! {
        @for (at, text) in shown {
            @let anchor = if at < x.start + 16.0 { "start" } else if at > x.end - 16.0 { "end" } else { "middle" };
            text x=(number(at)) y="42" text-anchor=(anchor) { (text) }
        }
    }
}

/// The style sheet's class for an answer.
pub(crate) fn class_of(answer: Answer) -> &'static str {
    match Tone::of(answer) {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Open => "open",
        Tone::None => "none",
    }
}

fn shape_of(answer: Answer) -> usize {
    match Tone::of(answer) {
        Tone::Good | Tone::None => 0,
        Tone::Bad => 2,
        Tone::Open => 3,
    }
}

#[cfg(test)]
mod tests {
    use unjank_measure::{Bound, Quantity};

    use super::*;

    fn verdict(value: f64, at_most: f64) -> Verdict {
        Verdict {
            measured: Some(Quantity {
                name: String::new(),
                value,
                unit: Unit::Nanoseconds,
                interval: Some([value / 2.0, value * 2.0]),
                at_least: None,
                n: 10,
            }),
            healthy: Some(Bound { at_most, source: String::new() }),
            ..Verdict::new("", "", Answer::Slow, "")
        }
    }

    #[test]
    fn strips_of_a_page_share_their_range() {
        let verdicts = [verdict(4e6, 1e6), verdict(1e3, 1e5)];
        let shared = shared_domain(verdicts.iter());
        assert!(shared.low < 0.005 && shared.high > 8.0, "{shared:?}");
        let strips = verdicts.map(|verdict| Strip::of(&verdict, shared).unwrap());
        assert!(strips.iter().all(|strip| strip.domain == shared));
        assert_eq!(strips[0].title(), "slow: 4.00 times the healthy limit");
    }

    #[test]
    fn without_a_usable_limit_there_is_no_strip() {
        let shared = shared_domain([].into_iter());
        assert!(Strip::of(&verdict(1.0, 0.0), shared).is_none());
        assert!(Strip::of(&verdict(f64::NAN, 1.0), shared).is_none());
    }
}
