//! The analysis as facts, series, curves and verdicts.

use unjank_host::Nanos;
use unjank_measure::number::grouped;
use unjank_measure::record::{Axis, Quantity};
use unjank_measure::{Answer, Curve, Fact, Findings, Point, Series, Unit, Verdict};

use super::inversion::Instant;
use super::makers::Maker;
use super::{Analysis, Episode, Inversion, Launch, paper};
use crate::trace::{Operation, PAGE};

/// The minimum number of makers with a fact of their own.
pub const MAKERS: usize = 12;
/// The minimum number of episodes, and of launches, with facts of their own.
const SINGLE: usize = 50;

/// The findings of one trace. At least `rows` makers, episodes and launches have facts of their
/// own, if there are so many.
pub fn findings(analysis: &Analysis, rows: usize) -> Findings {
    let mut to = To { findings: Findings::default(), label: analysis.label.clone(), rows };
    if analysis.skew.accesses() == 0 {
        let reason = format!("{}: no accesses of pages", analysis.label);
        to.findings.not_supported("swap/analyze", reason);
        return to.findings;
    }
    skew(analysis, &mut to);
    makers(analysis, &mut to);
    paging(analysis, &mut to);
    thrash(analysis, &mut to);
    for inversion in &analysis.inversions {
        inverted(inversion, &mut to);
    }
    launches(analysis, &mut to);
    let series = [&analysis.distances, &analysis.paging.distances, &analysis.paging.times];
    to.findings.series.splice(0..0, series.into_iter().flatten().cloned());
    if analysis.summary.backwards > 0 {
        to.findings.warn(format!(
            "{}: time goes backwards {} times; `unjank swap convert --sort` sorts the events",
            analysis.label, analysis.summary.backwards
        ));
    }
    if analysis.accesses[Operation::FirstTouch as usize] > 0 {
        to.findings.warn(format!(
            "{} is a trace of memory; the papers counted accesses of storage",
            analysis.label
        ));
    }
    to.findings
}

/// The papers' values of skew, for comparison.
pub fn papers() -> Findings {
    let fact = |published: &paper::PublishedSkew| {
        Fact::new("swap/analyze/skew/data_for_80_in_paper", published.data, Unit::Ratio)
            .with_label("device", published.device)
            .with_label("source", published.source)
    };
    let never = Fact::new("swap/analyze/never_back/pages_in_paper", paper::NEVER_BACK, Unit::Ratio)
        .with_label("source", paper::KIM);
    Findings { facts: paper::SKEW.iter().map(fact).chain([never]).collect(), ..Findings::default() }
}

/// Collects the findings of one trace.
struct To {
    findings: Findings,
    label: String,
    rows: usize,
}

impl To {
    fn fact(&mut self, name: &str, value: f64, unit: Unit) -> &mut Fact {
        let fact = Fact::new(format!("swap/analyze/{name}"), value, unit);
        self.findings.facts.push(fact.with_label("trace", &*self.label));
        self.findings.facts.last_mut().expect("one was added right now")
    }

    fn labelled(&mut self, name: &str, value: f64, unit: Unit, label: (&str, &str)) -> &mut Fact {
        let fact = self.fact(name, value, unit);
        fact.labels.insert(label.0.to_owned(), label.1.to_owned());
        fact
    }
}

fn skew(analysis: &Analysis, to: &mut To) {
    let skew = &analysis.skew;
    let bytes = skew.accesses() as f64 * PAGE as f64;
    let hot = skew.made_by(analysis.hot);
    let percent = analysis.hot * 100.0;
    let parts = [(format!("hottest {percent} %"), hot), ("rest".to_owned(), 1.0 - hot)];
    for (part, share) in &parts {
        to.labelled("volume", share * bytes, Unit::Bytes, ("part", part));
    }
    to.fact("pages", skew.pages() as f64, Unit::Pages);
    for (operation, count) in Operation::ALL.iter().zip(analysis.accesses) {
        if count > 0 {
            to.labelled("accesses", count as f64, Unit::Count, ("operation", operation.name()));
        }
    }
    for data in [10, 25, 50] {
        let made = skew.made_by(f64::from(data) / 100.0);
        to.fact(&format!("skew/top_{data}"), made, Unit::Ratio).n = Some(skew.accesses());
    }
    to.fact("skew/data_for_80", skew.data_for(0.8), Unit::Ratio).n = Some(skew.pages());
    to.fact("never_reused", skew.once(), Unit::Ratio).n = Some(skew.pages());
    let point = |[x, y]: [f64; 2]| Point { x, y, interval: None };
    to.findings.curves.push(Curve {
        name: "swap/analyze/skew".to_owned(),
        x: Axis::new("share of the data, the hottest first", Unit::Ratio),
        y: Axis::new("share of accesses", Unit::Ratio),
        labels: [("trace".to_owned(), to.label.clone())].into(),
        points: skew.curve().into_iter().map(point).collect(),
    });
}

fn makers(analysis: &Analysis, to: &mut To) {
    let makers = &analysis.makers;
    let sides =
        [("kind", &makers.kinds), ("space", &makers.spaces), ("process", &makers.processes)];
    for (side, makers) in sides {
        let hot: u64 = makers.iter().map(|maker| maker.hot_accesses).sum();
        for maker in makers.iter().take(MAKERS.max(to.rows)).filter(|_| hot > 0) {
            let share = maker.hot_accesses as f64 / hot as f64;
            to.labelled("hot", share, Unit::Ratio, (side, &maker.name)).n = Some(maker.hot_pages);
        }
    }
}

/// The first makers, and the sum of the others.
pub(super) fn first_makers(makers: &[Maker], most: usize) -> Vec<Maker> {
    let mut first = makers[..makers.len().min(most)].to_vec();
    let rest = &makers[first.len()..];
    if !rest.is_empty() {
        let sum = |of: fn(&Maker) -> u64| rest.iter().map(of).sum();
        first.push(Maker {
            name: format!("{} others", rest.len()),
            pages: sum(|maker| maker.pages),
            accesses: sum(|maker| maker.accesses),
            hot_pages: sum(|maker| maker.hot_pages),
            hot_accesses: sum(|maker| maker.hot_accesses),
        });
    }
    first
}

fn paging(analysis: &Analysis, to: &mut To) {
    let paging = &analysis.paging;
    let evictions = paging.page_outs + paging.clean_drops;
    if evictions == 0 {
        return;
    }
    to.fact("evictions", evictions as f64, Unit::Count);
    to.fact("re_faults", paging.re_faults as f64, Unit::Count);
    let never = paging.pages_never_back as f64 / paging.pages_out as f64;
    to.fact("never_back/pages", never, Unit::Ratio).n = Some(paging.pages_out);
    let back = paging.re_faults as f64 / evictions as f64;
    to.fact("never_back/evictions", 1.0 - back, Unit::Ratio).n = Some(evictions);
}

fn thrash(analysis: &Analysis, to: &mut To) {
    let limits = analysis.thrash;
    let quick = format!(
        "at least {} pages a second came back before {} others were evicted, in windows of {}",
        Unit::Count.show(limits.rate),
        grouped(limits.distance),
        limits.window
    );
    let mut verdict = Verdict::new(
        "swap/analyze/thrash",
        format!("Is {} free of thrashing?", to.label),
        Answer::CannotTell,
        why_not(analysis),
    );
    if let Some(episodes) = &analysis.episodes {
        let time = thrashing(episodes);
        let re_faults: u64 = episodes.iter().map(|episode| episode.re_faults).sum();
        let count = episodes.len() as u64 + analysis.more[0];
        to.fact("thrash/episodes", count as f64, Unit::Count);
        to.fact("thrash/time", time.get() as f64, Unit::Nanoseconds);
        to.fact("thrash/re_faults", re_faults as f64, Unit::Count);
        for (number, (episode, by)) in
            (1..).zip(episodes.iter().zip(&analysis.episode_makers)).take(SINGLE.max(to.rows))
        {
            single(number, episode, by, to);
        }
        verdict.answer = if episodes.is_empty() { Answer::Yes } else { Answer::No };
        verdict.measured = Some(Quantity {
            name: "share of time in which it thrashes".to_owned(),
            value: time.as_secs_f64() / analysis.summary.span.as_secs_f64(),
            unit: Unit::Ratio,
            interval: None,
            at_least: None,
            n: count,
        });
        verdict.reason = if episodes.is_empty() {
            format!("in no episode {quick}")
        } else {
            let episodes = if count == 1 { "episode" } else { "episodes" };
            format!("in {count} {episodes} {quick}")
        };
    }
    to.findings.verdicts.push(verdict);
}

/// The total length of all episodes.
pub(super) fn thrashing(episodes: &[Episode]) -> Nanos {
    let length = |episode: &Episode| episode.end - episode.start;
    episodes.iter().map(length).fold(Nanos::ZERO, |sum, length| sum + length)
}

/// The reason why thrashing cannot be judged for a trace.
fn why_not(analysis: &Analysis) -> &'static str {
    let paging = &analysis.paging;
    match (paging.page_ins, paging.page_outs + paging.clean_drops) {
        _ if analysis.summary.span == Nanos::ZERO => "the trace has no times",
        (0, 0) => {
            "the trace has neither page-ins nor page-outs; if it has a swap device, name it with \
             --swap-device"
        }
        (0, _) => "the trace has no page-ins",
        _ => "the trace has no page-outs",
    }
}

fn single(number: u32, episode: &Episode, by: &str, to: &mut To) {
    let number = number.to_string();
    let of = ("episode", number.as_str());
    to.labelled("thrash/episode/start", episode.start.get() as f64, Unit::Nanoseconds, of);
    let length = episode.end - episode.start;
    to.labelled("thrash/episode/length", length.get() as f64, Unit::Nanoseconds, of);
    to.labelled("thrash/episode/pages", episode.pages as f64, Unit::Pages, of);
    let re_faults = episode.re_faults as f64;
    let fact = to.labelled("thrash/episode/re_faults", re_faults, Unit::Count, of);
    fact.labels.insert("mostly_by".to_owned(), by.to_owned());
}

/// One of the shares of a moment.
type InstantShare = fn(&Instant) -> f64;

fn inverted(inversion: &Inversion, to: &mut To) {
    let label = format!("{} before {}", inversion.fast, inversion.slow);
    let of = ("devices", label.as_str());
    let n = Some(inversion.instants.len() as u64);
    for (name, median) in [
        ("inversion/by_next_access", inversion.median(|instant| instant.by_next)),
        ("inversion/by_last_access", inversion.median(|instant| instant.by_last)),
        ("inversion/by_chance", inversion.median(|instant| instant.by_chance)),
    ] {
        to.labelled(name, median, Unit::Ratio, of).n = n;
    }
    let lines: [(&str, InstantShare); 3] = [
        ("by next access", |instant| instant.by_next),
        ("by last access", |instant| instant.by_last),
        ("by chance", |instant| instant.by_chance),
    ];
    for (judged, of) in lines {
        let point = |i: &Instant| Point { x: i.at, y: of(i), interval: None };
        to.findings.curves.push(Curve {
            name: "swap/analyze/inversion".to_owned(),
            x: Axis::new("share of the trace's paging", Unit::Ratio),
            y: Axis::new("share of the fast device in the wrong place", Unit::Ratio),
            labels: [("trace", &to.label), ("devices", &label), ("judged", &judged.to_owned())]
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .into(),
            points: inversion.instants.iter().map(point).collect(),
        });
    }
}

fn launches(analysis: &Analysis, to: &mut To) {
    if analysis.launches.is_empty() {
        return;
    }
    let series = |name: &str, unit| {
        Series::of(format!("swap/analyze/launch/{name}"), unit).with_label("trace", &*to.label)
    };
    let mut time = series("io_time", Unit::Nanoseconds);
    let mut pages = series("pages", Unit::Pages);
    for (_, launch) in &analysis.launches {
        time.record(launch.time);
        pages.record_value(launch.pages_in + launch.pages_out);
    }
    to.findings.series.extend([time.finish(), pages.finish()]);
    if !analysis.launches_are_assignable {
        to.findings.warn(format!(
            "{}: the trace does not say in which process an app runs, so all I/O after the mark of a \
             launch counts for the launch",
            to.label
        ));
    }
    for (number, (app, launch)) in (1..).zip(&analysis.launches).take(SINGLE.max(to.rows)) {
        one_launch(number, app, launch, to);
    }
}

fn one_launch(number: u32, app: &str, launch: &Launch, to: &mut To) {
    let number = number.to_string();
    let labels = [("launch", number.as_str()), ("app", app)];
    let round = launch.round.to_string();
    for (name, value, unit) in [
        ("at", launch.at.get(), Unit::Nanoseconds),
        ("io_time", launch.time.get(), Unit::Nanoseconds),
        ("pages_in", launch.pages_in, Unit::Pages),
        ("pages_out", launch.pages_out, Unit::Pages),
        ("pages_in_ever", launch.ever[0], Unit::Pages),
        ("pages_out_ever", launch.ever[1], Unit::Pages),
    ] {
        let fact = to.labelled(&format!("launch/{name}"), value as f64, unit, labels[0]);
        fact.labels.insert(labels[1].0.to_owned(), labels[1].1.to_owned());
        fact.labels.insert("round".to_owned(), round.clone());
    }
}
