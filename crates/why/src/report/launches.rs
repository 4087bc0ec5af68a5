//! Launches of one program: a summary of each, and the recordings that may be drawn.

use unjank_host::input::Stop;
use unjank_units::{Bytes, Nanos};

use super::about::About;
use super::explained::Explained;
use super::handoff::Handoff;
use super::what_if::{self, Lengths, Saving};
use crate::split::Split;

/// The part of a launch that is kept after its recording is dropped.
#[derive(Debug)]
pub(super) struct LaunchSummary {
    /// Its time by cause.
    pub(super) split: Split,
    /// Its predicted length with each change.
    lengths: Lengths,
    /// Why its clock frequencies are not known; `None` if they are.
    pub(super) no_clocks: Option<String>,
}

impl LaunchSummary {
    /// The length of the launch.
    pub(super) fn total(&self) -> Nanos {
        self.split.total()
    }
}

/// Launches of one program, of which one is drawn. A launch is reduced to its
/// summary when it is added. Its recording is kept only if it may be drawn, and all
/// of them together fit in a limit. A launch that was [cut
/// short](Explained::cut_short) does not count, and is drawn only if all were.
#[derive(Debug, Default)]
pub struct Launches {
    most: Bytes,
    handoff: Option<Handoff>,
    all: Vec<LaunchSummary>,
    recordings: Vec<Kept>,
    /// The number of launches that were cut short.
    cut: usize,
    /// The first of them, until there is another one.
    first_cut: Option<Explained>,
    pub(super) warnings: Vec<String>,
    stop: Stop,
}

/// The recording of a launch.
#[derive(Debug)]
struct Kept {
    /// The launch: an index of `all`.
    number: usize,
    size: Bytes,
    launch: Explained,
}

impl Launches {
    /// No launches yet. The kept recordings take at most `most` together, but one is
    /// always kept.
    pub fn new(most: Bytes, about: &About) -> Self {
        Self { most, handoff: about.handoff.clone(), ..Self::default() }
    }

    /// The same, with a stop request: a launch whose replays it interrupts is not added.
    #[must_use]
    pub fn until(self, stop: Stop) -> Self {
        Self { stop, ..self }
    }

    /// A single launch or window.
    pub fn single(launch: Explained, about: &About) -> Self {
        Self::new(Bytes::default(), about).with(launch)
    }

    /// The same launches and this one.
    #[must_use]
    pub fn with(mut self, launch: Explained) -> Self {
        self.add(launch, Bytes::default());
        self
    }

    /// Adds a launch. `size` is the memory of its recording, which counts towards the limit.
    pub fn add(&mut self, mut launch: Explained, size: Bytes) {
        if launch.is_cut {
            self.cut += 1;
            if self.all.is_empty() {
                self.first_cut.get_or_insert(launch);
            }
            return;
        }
        let lengths = what_if::lengths(&launch, self.handoff.as_ref(), &self.stop);
        let Some(lengths) = lengths else { return };
        self.first_cut = None;
        self.warnings.append(&mut launch.warnings);
        self.all.push(LaunchSummary {
            split: launch.split.clone(),
            lengths,
            no_clocks: launch.without_clocks().map(str::to_owned),
        });
        self.recordings.push(Kept { number: self.all.len() - 1, size, launch });
        let distances = self.distances();
        let distance = |kept: &Kept| distances.get(kept.number).copied();
        while self.recordings.len() > 1 && self.size() > self.most {
            let kept = self.recordings.iter().enumerate();
            let Some((farthest, _)) = kept.max_by_key(|(_, kept)| distance(kept)) else { break };
            self.recordings.swap_remove(farthest);
        }
    }

    /// The launch of median length, which is drawn, or the nearest one whose
    /// recording is kept; `None` if there is none.
    pub fn typical(&self) -> Option<&Explained> {
        self.nearest().map(|kept| &kept.launch).or(self.first_cut.as_ref())
    }

    /// The reason why there are no findings; `None` if a launch was recorded to its end.
    pub fn missing(&self) -> Option<&'static str> {
        match (self.all.len(), self.cut) {
            (0, 0) => Some("no launch was explained"),
            (0, _) => Some("the memory for events (--max-memory) was full before a launch ended"),
            _ => None,
        }
    }

    /// The summaries of all that were recorded to their end.
    pub(super) fn all(&self) -> &[LaunchSummary] {
        &self.all
    }

    /// The summary of the [`typical`](Self::typical) one; `None` if it was cut short.
    pub(super) fn typical_summary(&self) -> Option<&LaunchSummary> {
        self.all.get(self.nearest()?.number)
    }

    /// What every change would save, over all of them.
    pub(super) fn savings(&self) -> Vec<Saving> {
        let lengths = self.all.iter().map(|launch| (launch.total(), launch.lengths));
        what_if::savings(&lengths.collect::<Vec<_>>())
    }

    /// A warning if launches were left out because they were cut short.
    pub(super) fn left_out_warning(&self) -> Option<String> {
        let launches = self.cut + self.all.len();
        (self.cut > 0 && launches > 1).then(|| {
            format!(
                "{} of {launches} launches are left out: they were not recorded to their end",
                self.cut
            )
        })
    }

    /// A warning if the typical launch is not the one of median length.
    pub(super) fn median_warning(&self) -> Option<String> {
        let number = self.nearest()?.number;
        let median = self.distances().iter().position(|&distance| distance == 0)?;
        let [shown, median] = [self.all.get(number)?, self.all.get(median)?];
        (shown.total() != median.total()).then(|| {
            format!(
                "the {} for events (--max-memory) hold the recordings of {} of {} launches: the \
                 shown one takes {}, the one of median length {}",
                self.most,
                self.recordings.len(),
                self.all.len(),
                shown.total(),
                median.total()
            )
        })
    }

    fn nearest(&self) -> Option<&Kept> {
        let distances = self.distances();
        self.recordings.iter().min_by_key(|kept| distances.get(kept.number).copied())
    }

    /// How many ranks each launch is away from the median one, the lower one of two.
    fn distances(&self) -> Vec<usize> {
        let mut by_length: Vec<usize> = (0..self.all.len()).collect();
        by_length.sort_by_key(|&number| self.all.get(number).map(LaunchSummary::total));
        let middle = by_length.len().saturating_sub(1) / 2;
        let mut distances = vec![0; by_length.len()];
        for (rank, number) in by_length.into_iter().enumerate() {
            if let Some(distance) = distances.get_mut(number) {
                *distance = rank.abs_diff(middle);
            }
        }
        distances
    }

    fn size(&self) -> Bytes {
        Bytes(self.recordings.iter().fold(0, |sum: u64, kept| sum.saturating_add(kept.size.get())))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use unjank_host::tracefs::script::Script;
    use unjank_measure::Answer;

    use super::super::findings;
    use super::super::scripted::explained;
    use super::*;
    use crate::history::History;

    fn launch(length: u64) -> Explained {
        explained(&Script::new().runs(0, 0, 9, 7).sleeps(0, length, 7, 0), length)
    }

    /// Launches of these lengths, whose recordings take 10 bytes each.
    fn launches(most: u64, lengths: &[u64]) -> Launches {
        let mut launches = Launches::new(Bytes(most), &About::default());
        for &length in lengths {
            launches.add(launch(length), Bytes(10));
        }
        launches
    }

    fn kept(launches: &Launches) -> Vec<u64> {
        let mut kept: Vec<u64> =
            launches.recordings.iter().map(|kept| kept.launch.total().get()).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn recordings_far_from_the_median_are_dropped() {
        let all = [500, 100, 400, 200, 300];
        let roomy = launches(50, &all);
        assert_eq!(kept(&roomy), [100, 200, 300, 400, 500]);
        assert_eq!(roomy.typical().unwrap().total(), Nanos(300));
        assert_eq!(roomy.median_warning(), None);
        let narrow = launches(29, &all);
        assert_eq!(kept(&narrow).len(), 2);
        assert_eq!(narrow.typical().unwrap().total(), Nanos(300));
        let one = launches(0, &all);
        assert_eq!(kept(&one).len(), 1, "one is always kept");
        assert!(launches(0, &[]).typical().is_none());
    }

    #[test]
    fn what_is_said_of_all_counts_those_without_a_recording() {
        let few = launches(10, &[100, 900, 800, 700, 600]);
        assert_eq!(kept(&few), [700]);
        let said = findings(&few, &About::default());
        assert_eq!(said.series[0].n, 5);
        assert_eq!(said.verdicts[0].measured.as_ref().unwrap().n, 5);
        assert!(said.warnings.is_empty(), "{:?}", said.warnings);
        let off = launches(10, &[100, 200, 900, 901, 902]);
        let [warning] = &findings(&off, &About::default()).warnings[..] else { panic!() };
        assert!(warning.contains("hold the recordings of 1 of 5 launches"), "{warning}");
    }

    #[test]
    fn a_stop_request_ends_the_replays_of_a_launch() {
        let stop = Stop::default();
        let launches = Launches::default().until(stop.clone()).with(launch(100));
        stop.flag().store(true, Ordering::Relaxed);
        let launches = launches.with(launch(200));
        assert_eq!(launches.all().len(), 1);
        assert_eq!(launches.typical().unwrap().total(), Nanos(100));
        let trace = Script::new().runs(0, 0, 9, 7).trace();
        assert!(History::until(&trace, &stop).is_none());
    }

    #[test]
    fn a_launch_that_was_cut_short_does_not_count() {
        let cut = || {
            let mut cut = launch(1);
            cut.cut_short("full");
            cut
        };
        let mut all = launches(99, &[]);
        assert!(all.missing().unwrap().starts_with("no launch"));
        all.add(cut(), Bytes(10));
        let none = findings(&all, &About::default());
        let verdict = &none.verdicts[0];
        assert_eq!((verdict.answer, &verdict.measured), (Answer::CannotTell, &None));
        let expected = "The first 1 ns: 100 % computing. The recording ended there, before the \
                        launch did";
        assert_eq!(verdict.reason, expected);
        assert_eq!(none.series[0].labels["launch"], "cut short");
        assert!(none.facts.iter().all(|fact| fact.labels["launch"] == "cut short"));
        assert_eq!(none.warnings, ["full"]);
        assert!(all.missing().unwrap().contains("--max-memory"));
        for launch in [launch(500), cut(), launch(400)] {
            all.add(launch, Bytes(10));
        }
        assert_eq!(all.missing(), None);
        let said = findings(&all, &About::default());
        assert_eq!(said.series[0].n, 2);
        assert_eq!(all.typical().unwrap().total(), Nanos(400));
        assert!(said.facts.iter().all(|fact| !fact.labels.contains_key("launch")));
        let [warning] = &said.warnings[..] else { panic!("{:?}", said.warnings) };
        assert!(warning.starts_with("2 of 4 launches are left out: "), "{warning}");
    }
}
