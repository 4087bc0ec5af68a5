//! The charts of a record, delay by delay.

use maud::{Markup, html};
use unjank_measure::record::Direction;
use unjank_measure::{Curve, Fact, RunRecord, SeriesRecord, Verdict};

use crate::chart::LINES;
use crate::chart::arms::{Arms, GROUPS, Group as Bars};
use crate::chart::course::Course;
use crate::chart::curves::Curves;
use crate::chart::intervals::{Intervals, ROWS, Row};
use crate::chart::parts::{Parts, WHOLES, Whole};
use crate::chart::percentiles::Percentiles;
use crate::delay;
use crate::group::{Group, groups, partition};
use crate::heat::maps;
use crate::html::figure::{Figure, figure, wide_figure};
use crate::html::outline::Outline;
use crate::html::{heat, pareto_fronts};
use crate::limit::limit;
use crate::names::{distinct, shorten};
use crate::samples::Worst;
use crate::title::Title;
use crate::visible::visible;
use crate::words::{self, counted};

/// The most charts of one kind for one delay; the tables have everything.
const CHARTS: usize = 12;
/// The most series drawn over time for one delay.
const COURSES: usize = 12;

/// The most subjects with their own section: the five delays and some others.
const SUBJECTS: usize = 16;

/// A section for each subject with charts.
pub(super) fn sections(record: &RunRecord, outline: &Outline) -> Markup {
    let worst = Worst::of(record);
    html! {
        @for (index, subject) in subjects(record).into_iter().enumerate() {
            @let figures = figures(record, subject, &worst, outline);
            @let (maps, left_out) = maps(record, subject);
            @let maps = heat::figures(&maps, left_out, outline);
            @if maps.is_some() || !figures.is_empty() {
                @let heading = html! {
                    (visible(subject))
                    @if let Some(meaning) = delay::meaning(subject) { span class="meaning" { (meaning) } }
                };
                (outline.section(&format!("delay-{}", index + 1), &heading, &html! {
                    @if let Some(maps) = maps { (maps) }
                    div class="figures" { @for figure in figures { (figure) } }
                }))
            }
        }
    }
}

/// The subjects that have sections.
pub(super) fn subjects(record: &RunRecord) -> Vec<&str> {
    let findings = &record.findings;
    let names = findings
        .series
        .iter()
        .map(|series| &series.name)
        .chain(findings.curves.iter().map(|curve| &curve.name))
        .chain(findings.facts.iter().map(|fact| &fact.name));
    delay::in_order(names.map(String::as_str)).into_iter().take(SUBJECTS).collect()
}

/// The charts of a subject, but for heat maps.
pub(super) fn figures(
    record: &RunRecord,
    subject: &str,
    worst: &Worst<'_>,
    outline: &Outline,
) -> Vec<Figure> {
    let findings = &record.findings;
    let mut figures = Vec::new();
    let bounded: Vec<&Fact> = findings
        .facts
        .iter()
        .filter(|fact| delay::of(&fact.name) == subject && fact.interval.is_some())
        .collect();
    // Arms of an experiment come first, together with their differences. All other
    // facts are grouped by unit only.
    let (of_arms, others): (Vec<&Fact>, Vec<&Fact>) =
        bounded.into_iter().partition(|fact| fact.labels.contains_key(ARM));
    let (together, alone) = split_arms(of_arms);
    figures.extend(together.iter().take(CHARTS).filter_map(|alike| arms(alike, outline)));
    figures.extend(by_unit(alone, outline));
    let of_wholes =
        |fact: &&Fact| delay::of(&fact.name) == subject && fact.labels.contains_key(PART);
    let of_wholes: Vec<&Fact> = findings.facts.iter().filter(of_wholes).collect();
    let wholes = partition(of_wholes, |fact| (&fact.name, fact.unit));
    figures.extend(wholes.iter().take(CHARTS).filter_map(|alike| parts(alike, outline)));
    let groups = groups(&findings.series, subject);
    for group in groups.iter().take(CHARTS) {
        figures.extend(percentiles(group, subject, &findings.verdicts, outline));
    }
    let courses: Vec<&SeriesRecord> = findings
        .series
        .iter()
        .filter(|series| delay::of(&series.name) == subject && !series.slices.is_empty())
        .collect();
    let names = distinct(courses.iter().map(|series| (series.name.as_str(), &series.labels)));
    let courses = courses.into_iter().zip(names).take(COURSES);
    figures.extend(courses.filter_map(|(series, name)| course(series, &name, worst, outline)));
    let is_line = |curve: &&Curve| curve.row().is_none() && delay::of(&curve.name) == subject;
    let own: Vec<&Curve> = findings.curves.iter().filter(is_line).collect();
    let (fronts, own): (Vec<&Curve>, Vec<&Curve>) =
        own.into_iter().partition(|curve| pareto_fronts::is_of_front(curve));
    figures.extend(pareto_fronts::figures(fronts, outline).into_iter().take(CHARTS));
    let alike = partition(own, |curve| (&curve.x, &curve.y));
    let charts = alike.iter().flat_map(|alike| alike.chunks(LINES));
    figures.extend(charts.take(CHARTS).filter_map(|alike| curves(alike, outline)));
    figures.extend(by_unit(others, outline));
    figures
}

/// Numbers in one unit in one chart. A single number is easier to read in the table.
fn by_unit(facts: Vec<&Fact>, outline: &Outline) -> Vec<Figure> {
    let alike = partition(facts, |fact| fact.unit);
    let charts = alike.iter().flat_map(|alike| alike.chunks(ROWS)).filter(|rows| rows.len() > 1);
    charts.take(CHARTS).filter_map(|alike| intervals(alike, outline)).collect()
}

/// Percentile curves of a group: over the whole width of the page, or beside others if
/// they are parts of series in another chart.
fn percentiles(
    group: &Group<'_>,
    subject: &str,
    verdicts: &[Verdict],
    outline: &Outline,
) -> Option<Figure> {
    let (common, names) =
        shorten(group.series.iter().map(|series| (series.name.as_str(), &series.labels)));
    let series: Vec<(&SeriesRecord, String)> = group.series.iter().copied().zip(names).collect();
    let limits = verdicts
        .iter()
        .filter(|verdict| verdict.subject == subject && !group.parts)
        .filter_map(|verdict| limit(verdict, group.unit, &group.series))
        .collect();
    let title = Title::of(&common).within("percentiles of ", "");
    let chart = Percentiles::of(title.heading(), group.unit, &series, limits, !group.parts)?;
    let mut notes = Vec::new();
    if group.left_out > 0 {
        notes.push(format!("the slowest {} of {}", series.len(), series.len() + group.left_out));
    }
    if let [(only, _)] = series.as_slice() {
        notes.push(words::series_in_brief(only));
    } else if group.series.iter().any(|series| series.missed > 0) {
        let missed = series
            .iter()
            .filter(|(series, _)| series.missed > 0)
            .map(|(series, name)| format!("{name}: {}", words::missed(series)));
        notes.push(missed.collect::<Vec<_>>().join(", "));
    }
    if group.parts {
        return Some(figure(Box::new(chart), title, &notes.join("; "), outline));
    }
    notes.push("bands are 95 % intervals".to_owned());
    Some(wide_figure(Box::new(chart), title, &notes.join("; "), outline))
}

/// A series over the time of its run.
fn course(
    series: &SeriesRecord,
    name: &str,
    worst: &Worst<'_>,
    outline: &Outline,
) -> Option<Figure> {
    let numbered = worst.for_chart(series);
    let mut note = "line: median, ticks: worst".to_owned();
    if !numbered.is_empty() {
        note.push_str(", numbers: see worst samples");
    }
    if series.missed > 0 {
        note = format!("{}; {note}", words::missed(series));
    }
    let title = Title::of(name).within("", " over time");
    let chart = Course::of(title.heading(), series, numbered)?;
    Some(figure(Box::new(chart), title, &note, outline))
}

/// Curves over the same axes.
fn curves(alike: &[&Curve], outline: &Outline) -> Option<Figure> {
    let (common, names) = shorten(alike.iter().map(|curve| (curve.name.as_str(), &curve.labels)));
    let curves: Vec<(&Curve, String)> = alike.iter().copied().zip(names).collect();
    let bounded = alike.iter().any(|curve| curve.points.iter().any(|p| p.interval.is_some()));
    let title = Title::of(&common);
    let chart = Curves::of(title.heading(), &curves)?;
    Some(figure(
        Box::new(chart),
        title,
        if bounded { "bands are 95 % intervals" } else { "" },
        outline,
    ))
}

/// Facts with intervals beside each other.
fn intervals(alike: &[&Fact], outline: &Outline) -> Option<Figure> {
    let (common, names) = shorten(alike.iter().map(|fact| (fact.name.as_str(), &fact.labels)));
    let rows = alike
        .iter()
        .zip(names)
        .map(|(fact, name)| Row { name, value: fact.value, interval: fact.interval })
        .collect();
    let first = alike.first()?;
    let title = Title::of(&common);
    let chart = Intervals::of(title.heading(), first.unit, rows)?;
    let shared = first.better().filter(|way| alike.iter().all(|fact| fact.better() == Some(*way)));
    let better = match shared {
        Some(Direction::Smaller) => "; smaller is better",
        Some(Direction::Larger) => "; larger is better",
        None => "",
    };
    let note = format!("whiskers are 95 % intervals{better}");
    Some(figure(Box::new(chart), title, &note, outline))
}

/// The label of facts that are parts of a whole; the other labels name the whole.
const PART: &str = "part";

/// Wholes with their parts.
fn parts(alike: &[&Fact], outline: &Outline) -> Option<Figure> {
    let first = alike.first()?;
    let whole = |fact: &Fact| {
        let mut labels = fact.labels.clone();
        labels.remove(PART);
        labels
    };
    let part = |fact: &Fact| fact.labels.get(PART).map_or("", String::as_str).to_owned();
    let names: Vec<String> =
        partition(alike.to_vec(), part).iter().map(|same| part(same[0])).collect();
    let wholes = partition(alike.to_vec(), whole);
    let labels: Vec<_> = wholes.iter().map(|parts| whole(parts[0])).collect();
    let several = wholes.len() > 1;
    let (_, short) = shorten(labels.iter().map(|labels| (first.name.as_str(), labels)));
    let bars: Vec<Whole> = wholes
        .iter()
        .zip(short)
        .map(|(parts, name)| Whole {
            name: if several { name } else { words::labels(&whole(parts[0])) },
            parts: parts
                .iter()
                .filter_map(|fact| {
                    let number = names.iter().position(|name| *name == part(fact))?;
                    Some((number, fact.value))
                })
                .collect(),
        })
        .collect();
    let (bars, invisible) = visible_wholes(bars);
    let shown = names.iter().map(|name| visible(name).into_owned()).collect();
    let title = Title::of(&visible(&first.name));
    let chart = Parts::of(title.heading(), first.unit, shown, &bars)?;
    // A high chart beside others would leave empty space.
    let draw = if bars.len() > 4 { wide_figure } else { figure };
    let mut notes = Vec::new();
    if bars.len() > WHOLES {
        notes.push(format!("the first {WHOLES} of {}", bars.len()));
    }
    if invisible > 0 {
        notes.push(format!("{} too short to see", counted(invisible, "bar is", "bars are")));
    }
    let note = notes.join("; ");
    Some(draw(Box::new(chart), title, &note, outline))
}

/// The wholes whose bar can be seen: at least a two-hundredth of the longest; and the number
/// of the others.
fn visible_wholes(bars: Vec<Whole>) -> (Vec<Whole>, usize) {
    let size = |whole: &Whole| whole.parts.iter().map(|(_, size)| size).sum::<f64>();
    let longest = bars.iter().map(size).fold(0.0, f64::max);
    let all = bars.len();
    let shown: Vec<Whole> =
        bars.into_iter().filter(|whole| size(whole) >= longest / 200.0).collect();
    let invisible = all - shown.len();
    (shown, invisible)
}

/// Splits facts into groups with several arms, and facts of one arm only, such as its
/// difference from another arm.
fn split_arms(facts: Vec<&Fact>) -> (Vec<Vec<&Fact>>, Vec<&Fact>) {
    let (mut together, mut alone) = (Vec::new(), Vec::new());
    for alike in partition(facts, |fact| (fact.unit, tail(&fact.name), against(fact))) {
        let several = alike.iter().any(|fact| arm(fact) != arm(alike[0]));
        if several { together.push(alike) } else { alone.extend(alike) }
    }
    (together, alone)
}

/// The label that names the arm of an experiment.
const ARM: &str = "arm";

fn arm(fact: &Fact) -> &str {
    fact.labels.get(ARM).map_or("", String::as_str)
}

/// The condition with which the arms were compared, if the fact has one.
fn against(fact: &Fact) -> Option<&str> {
    fact.labels.get("against").map(String::as_str)
}

/// The last two segments of a fact's name: `total/median` of
/// `launch/bench/load-100ms/total/median`.
fn tail(name: &str) -> &str {
    name.rmatch_indices('/').nth(1).map_or(name, |(at, _)| &name[at + 1..])
}

/// The arms of an experiment, choice by choice.
fn arms(alike: &[&Fact], outline: &Outline) -> Option<Figure> {
    let first = alike.first()?;
    let mut names: Vec<&str> = Vec::new();
    let mut choices: Vec<&str> = Vec::new();
    for fact in alike {
        if !names.contains(&arm(fact)) {
            names.push(arm(fact));
        }
        if !choices.contains(&fact.name.as_str()) {
            choices.push(&fact.name);
        }
    }
    let no_labels = std::collections::BTreeMap::new();
    let (common, short) = shorten(choices.iter().map(|choice| (*choice, &no_labels)));
    let bars = |choice: &str| {
        let of_choice = alike.iter().filter(|fact| fact.name == choice);
        let number = |fact: &Fact| names.iter().position(|name| *name == arm(fact)).unwrap_or(0);
        of_choice.map(|fact| (number(fact), fact.value, fact.interval)).collect()
    };
    let one = choices.len() == 1;
    let groups: Vec<Bars> = choices
        .iter()
        .zip(short)
        .map(|(choice, name)| Bars {
            name: if one { String::new() } else { name },
            bars: bars(choice),
        })
        .collect();
    let shown: Vec<String> = names.iter().map(|name| visible(name).into_owned()).collect();
    let title = match against(first) {
        Some(other) => Title::of(&common).within("", &format!(", {}", visible(other))),
        None => Title::of(&common),
    };
    let chart = Arms::of(title.heading(), first.unit, shown, &groups)?;
    let mut note = "whiskers are 95 % intervals".to_owned();
    if choices.len() > GROUPS {
        note = format!("{note}; the first {GROUPS} of {}", choices.len());
    }
    let draw = if one { figure } else { wide_figure };
    Some(draw(Box::new(chart), title, &note, outline))
}
