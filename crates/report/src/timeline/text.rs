//! The path in characters: a row for each lane, a column for each part of its
//! time.

use unjank_measure::Unit;

use super::{Lane, Piece, Timeline, lanes};
use crate::words;

/// The most lanes.
const LANES: usize = 8;
/// The longest name of a lane.
const NAME: usize = 26;

/// The lanes, the axis and the key, at most `width` characters wide; empty
/// without pieces.
pub(crate) fn lines(timeline: &Timeline, width: usize) -> Vec<String> {
    let end = timeline.end();
    if end <= 0.0 {
        return Vec::new();
    }
    let lanes = lanes(&timeline.pieces, LANES);
    let names: Vec<String> = lanes.iter().map(|lane| shortened(&lane.name)).collect();
    let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let times: Vec<String> =
        lanes.iter().map(|lane| words::value(Unit::Nanoseconds, lane.time)).collect();
    let time_width = times.iter().map(|time| time.chars().count()).max().unwrap_or(0);
    let columns = width.saturating_sub(name_width + time_width + 4).max(10);
    let mut text: Vec<String> = lanes
        .iter()
        .zip(names.iter().zip(&times))
        .map(|(lane, (name, time))| {
            let drawn = row(&timeline.pieces, lane, end, columns);
            format!("{name:name_width$}  {drawn}  {time:>time_width$}")
        })
        .collect();
    let last = words::value(Unit::Nanoseconds, end);
    let room = columns.saturating_sub(last.chars().count());
    text.push(format!("{:name_width$}  {:room$}{last}", "", "0"));
    let key: Vec<String> = timeline
        .sums()
        .iter()
        .map(|(activity, _)| format!("{} {}", activity.letter(), activity.name()))
        .collect();
    text.push(format!("{:name_width$}  {}", "", key.join("  ")));
    text
}

/// A character for each column in which the lane has a piece, however short: the
/// activity with the most time.
fn row(pieces: &[Piece], lane: &Lane, end: f64, columns: usize) -> String {
    let mut times = vec![[0.0_f64; super::ACTIVITIES.len()]; columns];
    let step = end / columns as f64;
    for piece in lane.pieces.iter().map(|&index| &pieces[index]) {
        let column = |moment: f64| ((moment / step) as usize).min(columns - 1);
        for (at, sums) in
            times.iter_mut().enumerate().take(column(piece.to()) + 1).skip(column(piece.from))
        {
            let (low, high) = (at as f64 * step, (at + 1) as f64 * step);
            let within = (piece.to().min(high) - piece.from.max(low)).max(0.0);
            for (activity, part) in &piece.parts {
                sums[activity.0] += within * part / piece.time.max(f64::MIN_POSITIVE);
            }
        }
    }
    let letter = |sums: &[f64; super::ACTIVITIES.len()]| {
        let most = (0..sums.len()).max_by(|a, b| sums[*a].total_cmp(&sums[*b]));
        most.filter(|most| sums[*most] > 0.0).map_or(' ', |most| super::Activity(most).letter())
    };
    times.iter().map(letter).collect()
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::activity;
    use super::*;

    fn piece(from: f64, time: f64, thread: &str, what: &str) -> Piece {
        Piece {
            from,
            time,
            others: 0,
            thread: thread.to_owned(),
            way: String::new(),
            activity: activity(what),
            parts: vec![(activity(what), time)],
            cpu: None,
            detail: String::new(),
            evidence: String::new(),
        }
    }

    #[test]
    fn each_lane_is_a_row_and_the_axis_ends_with_the_path() {
        let pieces = vec![
            piece(0.0, 50e6, "sh (1)", "computing"),
            piece(50e6, 25e6, "ls (22)", "run-queue"),
            piece(75e6, 25e6, "ls (22)", "storage"),
        ];
        let timeline = Timeline { pieces, ..Timeline::default() };
        let (full, ready, wait) = ("█".repeat(10), "░".repeat(5), "s".repeat(5));
        assert_eq!(
            lines(&timeline, 38),
            [
                format!("sh (1)   {full}{:10}  50.0 ms", ""),
                format!("ls (22)  {:10}{ready}{wait}  50.0 ms", ""),
                format!("{:7}  0{:13}100 ms", "", ""),
                format!("{:7}  █ computing  ░ run-queue  s storage", ""),
            ]
        );
        assert!(lines(&Timeline::default(), 80).is_empty());
    }

    #[test]
    fn a_tiny_piece_is_still_drawn() {
        let pieces =
            vec![piece(0.0, 999.0, "sh (1)", "computing"), piece(999.0, 1.0, "ls (2)", "page-in")];
        let timeline = Timeline { pieces, ..Timeline::default() };
        assert!(lines(&timeline, 60)[1].contains('p'), "{:?}", lines(&timeline, 60));
    }
}
