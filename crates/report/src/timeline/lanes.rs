//! Threads as lanes, in order of first appearance.

use super::Piece;

/// A row of the drawing: one thread, or several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lane {
    /// `git (4711)`, `cc1 × 40`, `12 others`.
    pub(crate) name: String,
    /// Indices of its pieces.
    pub(crate) pieces: Vec<usize>,
    /// Sum of the times of its pieces.
    pub(crate) time: f64,
}

/// At most `most` lanes: one for each thread; if these are too many, one for
/// each name of threads; of these the ones with the most time, and one for the
/// rest.
pub(crate) fn lanes(pieces: &[Piece], most: usize) -> Vec<Lane> {
    let threads = by(pieces, |piece| piece.thread.as_str());
    if threads.len() <= most {
        return threads
            .into_iter()
            .map(|(name, pieces_of)| lane(name, pieces, pieces_of))
            .collect();
    }
    let mut named: Vec<Lane> = by(pieces, |piece| without_number(&piece.thread))
        .into_iter()
        .map(|(name, pieces_of)| {
            let mut numbers: Vec<&str> =
                pieces_of.iter().map(|&index| pieces[index].thread.as_str()).collect();
            numbers.sort_unstable();
            numbers.dedup();
            match numbers.as_slice() {
                [only] => lane((*only).to_owned(), pieces, pieces_of),
                several => lane(format!("{name} × {}", several.len()), pieces, pieces_of),
            }
        })
        .collect();
    if named.len() > most {
        let mut times: Vec<f64> = named.iter().map(|lane| lane.time).collect();
        times.sort_by(|a, b| b.total_cmp(a));
        let least = times.get(most.saturating_sub(2)).copied().unwrap_or(0.0);
        let (mut kept, mut others) = (Vec::new(), Vec::new());
        for lane in named {
            let room = kept.len() + 1 < most;
            if lane.time >= least && room { kept.push(lane) } else { others.push(lane) }
        }
        let mut of_others: Vec<usize> =
            others.iter().flat_map(|lane| lane.pieces.iter().copied()).collect();
        of_others.sort_unstable();
        kept.push(lane(format!("{} others", others.len()), pieces, of_others));
        named = kept;
    }
    named
}

fn lane(name: String, pieces: &[Piece], of: Vec<usize>) -> Lane {
    let time = of.iter().map(|&index| pieces[index].time).sum();
    Lane { name, pieces: of, time }
}

/// The pieces by key, in order of first appearance.
fn by<'a>(pieces: &'a [Piece], key: impl Fn(&'a Piece) -> &'a str) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let key = key(piece);
        match groups.iter_mut().find(|(name, _)| name == key) {
            Some((_, pieces)) => pieces.push(index),
            None => groups.push((key.to_owned(), vec![index])),
        }
    }
    groups
}

/// `cc1` of `cc1 (4711)`.
fn without_number(thread: &str) -> &str {
    thread.rsplit_once(" (").map_or(thread, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::super::activity;
    use super::*;

    fn piece(thread: &str, time: f64) -> Piece {
        Piece {
            from: 0.0,
            time,
            others: 0,
            thread: thread.to_owned(),
            way: String::new(),
            activity: activity("computing"),
            parts: vec![(activity("computing"), time)],
            cpu: None,
            detail: String::new(),
            evidence: String::new(),
        }
    }

    fn names(threads: &[(&str, f64)], most: usize) -> Vec<String> {
        let pieces: Vec<Piece> = threads.iter().map(|(name, time)| piece(name, *time)).collect();
        let lanes = lanes(&pieces, most);
        let drawn: usize = lanes.iter().map(|lane| lane.pieces.len()).sum();
        assert_eq!(drawn, pieces.len(), "each piece is in one lane");
        assert!(lanes.len() <= most.max(2), "{lanes:?}");
        lanes.into_iter().map(|lane| lane.name).collect()
    }

    #[test]
    fn threads_come_in_order_of_appearance() {
        let threads = [("sh (1)", 1.0), ("ls (2)", 5.0), ("sh (1)", 1.0), ("ls (3)", 1.0)];
        assert_eq!(names(&threads, 3), ["sh (1)", "ls (2)", "ls (3)"]);
    }

    #[test]
    fn threads_of_one_name_share_a_lane_if_there_are_too_many() {
        let threads = [("sh (1)", 1.0), ("ls (2)", 5.0), ("ls (3)", 1.0), ("9", 1.0)];
        assert_eq!(names(&threads, 3), ["sh (1)", "ls × 2", "9"]);
    }

    #[test]
    fn the_names_with_the_least_time_share_the_last_lane() {
        let threads: Vec<(String, f64)> =
            (0..9).map(|i| (format!("p{i} ({i})"), f64::from(i % 4))).collect();
        let threads: Vec<(&str, f64)> =
            threads.iter().map(|(name, time)| (name.as_str(), *time)).collect();
        assert_eq!(names(&threads, 4), ["p2 (2)", "p3 (3)", "p6 (6)", "6 others"]);
    }
}
