//! Groups of series that share a chart.

use unjank_measure::{SeriesRecord, Unit};

use crate::chart::LINES;
use crate::delay;

/// Series of one delay in one unit, at most as many as a chart can show.
#[derive(Debug, PartialEq)]
pub(crate) struct Group<'a> {
    pub(crate) unit: Unit,
    /// The drawn series: the slowest.
    pub(crate) series: Vec<&'a SeriesRecord>,
    /// The number of further series.
    pub(crate) left_out: usize,
    /// Whether these are parts of series in another group, such as single CPUs.
    pub(crate) parts: bool,
}

/// The groups of a delay's series, in the order of the record, wholes before parts. A
/// group that is too large for one chart is split by the next segment of its names.
pub(crate) fn groups<'a>(series: &'a [SeriesRecord], subject: &str) -> Vec<Group<'a>> {
    let mine: Vec<&SeriesRecord> = series
        .iter()
        .filter(|series| delay::of(&series.name) == subject && series.summary.is_some())
        .collect();
    let (parts, wholes): (Vec<_>, Vec<_>) =
        mine.iter().copied().partition(|series| is_part(series, &mine));
    let mut found = Vec::new();
    for series in partition(wholes, |series| series.unit) {
        split(series, 1, false, &mut found);
    }
    for series in partition(parts, |series| (series.unit, series.name.as_str())) {
        // All names are the same, so they cannot be split.
        split(series, usize::MAX, true, &mut found);
    }
    found
}

/// Whether another series has the same name and only some of the same labels, such as
/// the series over all CPUs if `series` is that of one CPU.
pub(crate) fn is_part(series: &SeriesRecord, all: &[&SeriesRecord]) -> bool {
    all.iter().any(|other| {
        other.name == series.name
            && other.labels.len() < series.labels.len()
            && other.labels.iter().all(|(name, value)| series.labels.get(name) == Some(value))
    })
}

fn split<'a>(
    mut series: Vec<&'a SeriesRecord>,
    depth: usize,
    parts: bool,
    found: &mut Vec<Group<'a>>,
) {
    let Some(unit) = series.first().map(|series| series.unit) else { return };
    let deepest = series.iter().map(|series| series.name.split('/').count()).max().unwrap_or(0);
    if series.len() <= LINES {
        found.push(Group { unit, series, left_out: 0, parts });
    } else if depth < deepest {
        for part in partition(series, |series| series.name.split('/').nth(depth)) {
            split(part, depth + 1, parts, found);
        }
    } else {
        let p99 = |series: &&SeriesRecord| series.summary.map_or(0, |summary| summary.p99);
        series.sort_by_key(|series| std::cmp::Reverse(p99(series)));
        let left_out = series.len() - LINES;
        series.truncate(LINES);
        found.push(Group { unit, series, left_out, parts });
    }
}

/// Splits by a key; groups and their members keep their order.
pub(crate) fn partition<T: Copy, K: PartialEq>(all: Vec<T>, key: impl Fn(T) -> K) -> Vec<Vec<T>> {
    let mut parts: Vec<(K, Vec<T>)> = Vec::new();
    for item in all {
        let of_item = key(item);
        match parts.iter_mut().find(|(of_part, _)| *of_part == of_item) {
            Some((_, part)) => part.push(item),
            None => parts.push((of_item, vec![item])),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;
    use unjank_measure::Series;

    use super::*;

    fn series(name: &str, value: u64) -> SeriesRecord {
        let mut series = Series::new(name);
        series.record(Nanos(value));
        series.finish()
    }

    fn names<'a>(groups: &[Group<'a>]) -> Vec<Vec<&'a str>> {
        groups.iter().map(|group| group.series.iter().map(|s| s.name.as_str()).collect()).collect()
    }

    #[test]
    fn a_delay_fits_one_chart_if_it_is_small() {
        let all = [series("ipc/unix", 1), series("jitter/a", 2), series("ipc/tcp", 3)];
        assert_eq!(names(&groups(&all, "ipc")), [["ipc/unix", "ipc/tcp"]]);
    }

    #[test]
    fn a_large_delay_is_split_by_the_next_segment() {
        let all: Vec<SeriesRecord> = ["native", "jvm"]
            .iter()
            .flat_map(|kind| (0..5).map(move |index| series(&format!("jitter/{kind}/{index}"), 1)))
            .collect();
        let found = groups(&all, "jitter");
        assert_eq!(found.iter().map(|group| group.series.len()).collect::<Vec<_>>(), [5, 5]);
    }

    #[test]
    fn of_too_many_series_the_slowest_are_drawn() {
        let all: Vec<SeriesRecord> =
            (1..=10).map(|value| series("lock/wait", value * 100)).collect();
        let found = groups(&all, "lock");
        assert_eq!((found.len(), found[0].left_out), (1, 10 - LINES));
        assert_eq!(found[0].series[0].summary.unwrap().p99, 1000);
    }

    #[test]
    fn single_cpus_have_their_own_group() {
        let mut all = vec![series("jitter/wakeup", 9)];
        for cpu in ["0", "1"] {
            let mut one = series("jitter/wakeup", 5);
            one.labels.insert("cpu".to_owned(), cpu.to_owned());
            all.push(one);
        }
        let found = groups(&all, "jitter");
        let sizes: Vec<_> = found.iter().map(|group| (group.series.len(), group.parts)).collect();
        assert_eq!(sizes, [(1, false), (2, true)]);
    }

    #[test]
    fn a_series_without_samples_is_not_drawn() {
        assert_eq!(groups(&[Series::new("swap/page_in").finish()], "swap"), []);
    }
}
