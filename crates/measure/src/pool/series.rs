//! Series of several starts.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use unjank_host::Nanos;

use crate::error::Result;
use crate::record::{QUANTILES, Repetition, SeriesRecord, Slice, Summary, Unit};
use crate::series::{LARGEST, SLICES, join, summarise};

/// The identity of a series: name, labels and unit.
type Key<'a> = (&'a str, &'a BTreeMap<String, String>, Unit);

/// Series of the same identity, each with its start's offset from the first
/// start.
type Group<'a> = Vec<(Nanos, &'a SeriesRecord)>;

/// Merges series of the same identity, in the order of their first occurrence.
pub(super) fn pool<'a>(
    series: impl Iterator<Item = (Nanos, &'a SeriesRecord)>,
    starts: usize,
) -> Result<Vec<SeriesRecord>> {
    let mut groups: Vec<(Key<'a>, Group<'a>)> = Vec::new();
    for (at, one) in series {
        let key = (one.name.as_str(), &one.labels, one.unit);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push((at, one)),
            None => groups.push((key, vec![(at, one)])),
        }
    }
    groups.into_iter().map(|(_, group)| one(&group, starts)).collect()
}

fn one(group: &Group<'_>, starts: usize) -> Result<SeriesRecord> {
    let (_, first) = group[0];
    let mut all = Histogram::new_with_bounds(1, LARGEST, 3)
        .expect("1 to 2^42 with three digits are valid bounds");
    for (_, series) in group {
        all += series.histogram()?;
    }
    let summaries = || group.iter().filter_map(|(_, series)| series.summary);
    let extremes = summaries().map(|it| it.min).min().zip(summaries().map(|it| it.max).max());
    let repetition = |&(at, series): &(Nanos, &SeriesRecord)| Repetition {
        at: at.get(),
        n: series.n,
        missed: series.missed,
        histogram: series.histogram.clone(),
    };
    let mut pooled = SeriesRecord {
        name: first.name.clone(),
        unit: first.unit,
        labels: first.labels.clone(),
        n: all.len(),
        missed: group.iter().fold(0, |sum, (_, series)| series.missed.saturating_add(sum)),
        summary: extremes.map(|(min, max)| summarise(&all, min, max)),
        histogram: SeriesRecord::encode(&all),
        slices: slices(group, starts),
        repetitions: group.iter().map(repetition).collect(),
    };
    let starts = pooled.starts()?;
    if let Some(Summary { intervals, min, max, .. }) = &mut pooled.summary {
        *intervals = QUANTILES.map(|q| {
            let [low, high] = starts.as_ref()?.interval(q)?;
            Some([low.max(*min), high.min(*max)])
        });
    }
    Ok(pooled)
}

/// The courses of all starts, one after the other, in no more slices than a
/// single start has, or in one for each start.
fn slices(group: &Group<'_>, starts: usize) -> Vec<Slice> {
    let for_each = (SLICES / starts.max(1)).max(1);
    let together = SLICES.div_ceil(for_each);
    let of_one = |&(at, series): &(Nanos, &SeriesRecord)| -> Vec<Slice> {
        let joined = series.slices.chunks(together).filter_map(|slices| {
            let mut slices = slices.iter();
            let mut joined = *slices.next()?;
            for slice in slices {
                join(&mut joined, slice);
            }
            joined.at = joined.at.saturating_add(at.get());
            Some(joined)
        });
        joined.collect()
    };
    let mut slices: Vec<Slice> = group.iter().flat_map(of_one).collect();
    // A start's last slice may begin when the next start does.
    slices.sort_by_key(|slice| slice.at);
    slices.dedup_by(|later, earlier| {
        let same = later.at == earlier.at;
        if same {
            join(earlier, later);
        }
        same
    });
    slices
}
