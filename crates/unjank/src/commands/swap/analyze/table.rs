//! What traces hold, as tables and bars.

use unjank_host::{Bytes, Nanos};
use unjank_measure::{RunRecord, SeriesRecord, Unit};
use unjank_report::visible;
use unjank_swap::analyze::{Analysis, Maker, first_makers, paper, thrashing};
use unjank_swap::trace::{Operation, PAGE};

use crate::commands::swap::reading;
use crate::output::{grid, notes};

/// The longest bar, in characters.
const BAR: usize = 40;
/// One block of lines for each subject that a trace has something to say about. Tables of makers,
/// of episodes and of launches have `rows` lines at most.
pub(super) fn tables(record: &RunRecord, all: &[Analysis], rows: usize) -> String {
    let told: Vec<&Analysis> = all.iter().filter(|one| one.skew.accesses() > 0).collect();
    let read = |one: &Analysis| [reading::lines(&one.summary), vec![brief(one)]].concat();
    let mut blocks: Vec<Vec<String>> = vec![all.iter().flat_map(read).collect()];
    if !told.is_empty() {
        blocks.push(skew(&told));
        blocks.push(volume(&told));
        blocks.push(reuse(&told));
        blocks.extend(told.iter().flat_map(|one| makers(one, rows)));
        blocks.push(inversions(&told));
        blocks.extend(told.iter().map(|one| episodes(one, rows)));
        blocks.extend(told.iter().map(|one| launches(one, rows)));
    }
    let answers = record.findings.verdicts.iter().map(|verdict| {
        format!("{} {}: {}.", verdict.question, verdict.answer.words(), verdict.reason)
    });
    blocks.push(answers.chain(notes(record)).collect());
    blocks.retain(|block| !block.is_empty());
    let blocks: Vec<String> = blocks.iter().map(|block| block.join("\n")).collect();
    blocks.join("\n\n")
}

/// One line of what was read.
fn brief(analysis: &Analysis) -> String {
    let label = visible(&analysis.label);
    let skew = &analysis.skew;
    if skew.accesses() == 0 {
        return format!("{label}: no accesses of pages in {} events", analysis.summary.events);
    }
    let shares: Vec<String> = Operation::ALL
        .iter()
        .zip(analysis.accesses)
        .filter(|(_, count)| *count > 0)
        .map(|(operation, count)| {
            format!("{} {}", share(count as f64 / skew.accesses() as f64), operation.name())
        })
        .collect();
    let span = match analysis.summary.span {
        Nanos::ZERO => "no times".to_owned(),
        span => format!("over {span}"),
    };
    format!(
        "{label}: {} accesses ({}) of {} pages ({}), {span}",
        skew.accesses(),
        shares.join(", "),
        skew.pages(),
        bytes(skew.pages() as f64),
    )
}

const SKEW: [&str; 6] =
    ["Skew", "top 10 %", "top 25 %", "top 50 %", "data for 80 %", "accessed once"];

fn skew(all: &[&Analysis]) -> Vec<String> {
    let ours = all.iter().map(|analysis| {
        let skew = &analysis.skew;
        let [ten, quarter, half] = [0.10, 0.25, 0.50].map(|data| share(skew.made_by(data)));
        let label = visible(&analysis.label).into_owned();
        [label, ten, quarter, half, share(skew.data_for(0.8)), share(skew.once())]
    });
    let theirs = paper::SKEW.iter().map(|found| {
        let at = |data: f64| {
            let there = (found.data - data).abs() < 1e-9;
            if there { share(found.accesses) } else { String::new() }
        };
        let name = format!("  {}: {}", found.source, found.device);
        [name, at(0.10), at(0.25), at(0.50), share(found.data), String::new()]
    });
    grid(ours.chain(theirs), SKEW)
}

/// Fig. 1 of Bahn & Kim: what the hottest data makes, and the rest.
fn volume(all: &[&Analysis]) -> Vec<String> {
    let most = all.iter().map(|analysis| analysis.skew.accesses()).max().unwrap_or(1);
    let longest = all.iter().map(|one| visible(&one.label).chars().count()).max().unwrap_or(0);
    let hot = all.first().map_or(0.1, |analysis| analysis.hot);
    let mut lines =
        vec![format!("Volume: the hottest {} of the data █, and the rest ░", share(hot))];
    lines.extend(all.iter().map(|analysis| {
        let accesses = analysis.skew.accesses();
        let made = analysis.skew.made_by(analysis.hot);
        let length = accesses as f64 / most as f64 * BAR as f64;
        let (hot, all) = ((length * made).round() as usize, (length.round() as usize).max(1));
        let bar = format!("{}{}", "█".repeat(hot), "░".repeat(all.saturating_sub(hot)));
        let label = visible(&analysis.label);
        let volume = bytes(accesses as f64);
        format!("{label:longest$}  {bar} {volume}, {} by the hottest", share(made))
    }));
    lines
}

const REUSE: [&str; 7] = ["Reuse", "n", "p50", "p90", "p99", "max", "never"];

/// Distances and times until pages are wanted again.
fn reuse(all: &[&Analysis]) -> Vec<String> {
    let rows = all.iter().flat_map(|analysis| {
        let paging = &analysis.paging;
        let never = |part: u64, of: u64| (of > 0).then(|| share(part as f64 / of as f64));
        let out = never(paging.pages_never_back, paging.pages_out);
        [
            line(
                &format!("{}: accessed again", visible(&analysis.label)),
                analysis.distances.as_ref(),
                Some(share(analysis.skew.once())),
            ),
            line("  back after an eviction: others evicted", paging.distances.as_ref(), out),
            line("  back after an eviction: time", paging.times.as_ref(), None),
        ]
    });
    let mut lines = grid(rows.flatten(), REUSE);
    lines.push(
        "Accessed again: how much other data was accessed in between; an LRU memory that is larger \
         keeps it. Never: of the pages that were accessed, or evicted, the share that did not \
         come back."
            .to_owned(),
    );
    lines
}

fn line(name: &str, series: Option<&SeriesRecord>, never: Option<String>) -> Option<[String; 7]> {
    if series.is_none() && never.is_none() {
        return None;
    }
    let mut cells = [name.to_owned()].into_iter().chain(std::iter::repeat_n(String::new(), 6));
    let mut row: [String; 7] = std::array::from_fn(|_| cells.next().unwrap_or_default());
    if let Some((series, summary)) = series.and_then(|series| Some((series, series.summary?))) {
        let show = |value: u64| match series.unit {
            Unit::Pages => bytes(value as f64),
            unit => unit.show(value as f64),
        };
        row[1] = series.n.to_string();
        let values = [summary.p50, summary.p90, summary.p99, summary.max];
        row[2..6].clone_from_slice(&values.map(show));
    }
    row[6] = never.unwrap_or_default();
    Some(row)
}

/// Who makes the hottest accesses, from three sides.
fn makers(analysis: &Analysis, most: usize) -> Vec<Vec<String>> {
    let makers = &analysis.makers;
    let side = |name: &str, makers: &[Maker]| {
        let hot: u64 = makers.iter().map(|maker| maker.hot_accesses).sum();
        let row = |maker: &Maker| {
            let of = |part: u64, whole: u64| share(part as f64 / whole.max(1) as f64);
            [
                visible(&maker.name).into_owned(),
                of(maker.hot_accesses, hot),
                maker.hot_pages.to_string(),
                of(maker.accesses, analysis.skew.accesses()),
                maker.pages.to_string(),
            ]
        };
        let head = format!("{}, hottest {}", name, share(analysis.hot));
        let header = [head.as_str(), "hot accesses", "hot pages", "all accesses", "pages"];
        grid(first_makers(makers, most).iter().map(row), header)
    };
    let mut blocks = vec![vec![format!("{}: who makes them", visible(&analysis.label))]];
    for (name, makers) in
        [("Kind", &makers.kinds), ("Space", &makers.spaces), ("Process", &makers.processes)]
    {
        // One line that says that nothing is told says nothing.
        if makers.len() > 1 || makers.iter().any(|maker| maker.name != "not told") {
            blocks.push(side(name, makers));
        }
    }
    if blocks.len() > 1 { blocks } else { Vec::new() }
}

const INVERSIONS: [&str; 6] =
    ["LRU inversion", "devices", "by next access", "by last access", "by chance", "moments"];

fn inversions(all: &[&Analysis]) -> Vec<String> {
    let rows = all.iter().flat_map(|analysis| {
        analysis.inversions.iter().map(|inversion| {
            [
                visible(&analysis.label).into_owned(),
                visible(&format!("{} before {}", inversion.fast, inversion.slow)).into_owned(),
                share(inversion.median(|instant| instant.by_next)),
                share(inversion.median(|instant| instant.by_last)),
                share(inversion.median(|instant| instant.by_chance)),
                inversion.instants.len().to_string(),
            ]
        })
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = grid(rows.into_iter(), INVERSIONS);
    lines.push(
        "The share of the pages on the fast device that are colder than as many on the slow one: \
         the median over moments."
            .to_owned(),
    );
    lines
}

const EPISODES: [&str; 6] =
    ["Thrashing", "from", "to", "came back quickly", "different pages", "mostly for"];

fn episodes(analysis: &Analysis, most: usize) -> Vec<String> {
    let Some(episodes) = analysis.episodes.as_ref().filter(|all| !all.is_empty()) else {
        return Vec::new();
    };
    let rows = episodes.iter().zip(&analysis.episode_makers).take(most).enumerate();
    let rows = rows.map(|(number, (episode, by))| {
        [
            if number == 0 { visible(&analysis.label).into_owned() } else { String::new() },
            episode.start.to_string(),
            episode.end.to_string(),
            episode.re_faults.to_string(),
            episode.pages.to_string(),
            visible(by).into_owned(),
        ]
    });
    let mut lines = grid(rows, EPISODES);
    let more = episodes.len().saturating_sub(most) as u64 + analysis.more[0];
    if more > 0 {
        lines.push(format!("and {more} more, {} in all; --rows shows more", thrashing(episodes)));
    }
    lines
}

const LAUNCHES: [&str; 9] =
    ["Launch", "app", "at", "round", "pages in", "pages out", "I/O time", "ever in", "ever out"];

fn launches(analysis: &Analysis, most: usize) -> Vec<String> {
    if analysis.launches.is_empty() {
        return Vec::new();
    }
    let rows = analysis.launches.iter().take(most).enumerate();
    let rows = rows.map(|(number, (app, launch))| {
        [
            if number == 0 { visible(&analysis.label).into_owned() } else { String::new() },
            visible(app).into_owned(),
            launch.at.to_string(),
            launch.round.to_string(),
            launch.pages_in.to_string(),
            launch.pages_out.to_string(),
            launch.time.to_string(),
            launch.ever[0].to_string(),
            launch.ever[1].to_string(),
        ]
    });
    let mut lines = grid(rows, LAUNCHES);
    let more = analysis.launches.len().saturating_sub(most) as u64 + analysis.more[1];
    if more > 0 {
        lines.push(format!("and {more} more; --rows shows more"));
    }
    match analysis.other_launches {
        0 => {}
        1 => lines.push("1 launch of another program is left out; --all shows it".to_owned()),
        others => lines
            .push(format!("{others} launches of other programs are left out; --all shows them")),
    }
    lines
}

/// Pages as what they hold.
fn bytes(pages: f64) -> String {
    Bytes((pages * PAGE as f64) as u64).to_string()
}

/// A share in percent, with one decimal where that says something.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    let whole = (percent - percent.round()).abs() < 0.05;
    if whole { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_digits_they_need() {
        assert_eq!(
            [share(0.8), share(0.123), share(0.0), share(0.99999)],
            ["80 %", "12.3 %", "0 %", "100 %"]
        );
    }
}
