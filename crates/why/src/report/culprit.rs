//! The cause of a delay in a few words: the largest part of its split, and the thread or device
//! behind it.

use std::collections::BTreeMap;

use unjank_units::Nanos;

use super::about::doing;
use super::explained::Explained;
use super::names::thread_name;
use super::run_queue;
use crate::path::{Activity, Detail, Way};
use crate::split::Cell;

/// The cause of a delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Culprit {
    /// What happened in most of the time, in words: `waiting for a CPU`.
    pub activity: &'static str,
    /// How the path left the thread for it: `own thread`, `lock` …
    pub way: &'static str,
    /// The share of the time.
    pub share: f64,
    /// The thread or the device behind it, without its number, if the recording shows one.
    pub who: Option<String>,
    /// Whether the recording does not show what happened.
    pub is_unknown: bool,
    /// Whether it waited for a CPU that nobody had: its control group may have used up its limit,
    /// or the recording lacks its run.
    pub by_nobody: bool,
    /// Whether it waited for a CPU that it had already: the recording lacks a switch.
    pub by_itself: bool,
}

impl Culprit {
    /// The cause of the explained time; `None` if it is empty.
    pub fn of(launch: &Explained) -> Option<Self> {
        let (&(way, cell), &time) = launch.split().cells.iter().max_by_key(|(_, time)| **time)?;
        let who = match cell {
            Cell::Of(Activity::RunQueue | Activity::Waking) => occupant(launch, way),
            Cell::Of(Activity::Storage | Activity::PageIn) => device(launch),
            _ if way != Way::Own => other_thread(launch, way),
            _ => None,
        };
        let by_nobody = who.as_deref() == Some(run_queue::HELD_BACK);
        let by_itself = who.as_deref() == Some(run_queue::ITSELF);
        Some(Self {
            activity: doing(cell),
            way: super::split::name(way),
            share: time.get() as f64 / (launch.total().get() as f64).max(1.0),
            who,
            is_unknown: cell == Cell::Of(Activity::Unknown),
            by_nobody,
            by_itself,
        })
    }

    /// The cause without shares, by which incidents are counted together: `waiting for a CPU
    /// (stress-ng)`.
    pub fn key(&self) -> String {
        let way = if self.way == super::split::name(Way::Own) { "" } else { self.way };
        let way = if way.is_empty() { String::new() } else { format!("{way}: ") };
        let who = self.who.as_ref().map_or_else(String::new, |who| format!(" ({who})"));
        format!("{way}{}{who}", self.activity)
    }
}

/// Who had the CPU for most of the time in which the path waited for it.
fn occupant(launch: &Explained, way: Way) -> Option<String> {
    let segments = launch.path().segments.iter().filter(|segment| segment.way == way);
    let times = run_queue::occupants(launch, segments);
    times.into_iter().max_by_key(|(_, time)| *time).map(|(name, _)| name)
}

/// The device of most of the requests that the path waited for.
fn device(launch: &Explained) -> Option<String> {
    let mut times: BTreeMap<String, Nanos> = BTreeMap::new();
    for segment in &launch.path().segments {
        if let Detail::Request(id) = segment.detail
            && let Some(request) = launch.history().request(id)
        {
            let time = times.entry(format!("device {}", request.asked.device)).or_default();
            *time = *time + segment.length();
        }
    }
    times.into_iter().max_by_key(|(_, time)| *time).map(|(name, _)| name)
}

/// The thread that the path was on for most of a way.
fn other_thread(launch: &Explained, way: Way) -> Option<String> {
    let mut times: BTreeMap<String, Nanos> = BTreeMap::new();
    for segment in launch.path().segments.iter().filter(|segment| segment.way == way) {
        let name = launch.history().name(segment.thread).map(|name| name.to_string());
        let name = name.unwrap_or_else(|| thread_name(launch.history(), segment.thread));
        let time = times.entry(name).or_default();
        *time = *time + segment.length();
    }
    times.into_iter().max_by_key(|(_, time)| *time).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use unjank_host::tracefs::script::Script;

    use super::super::scripted::explained;
    use super::*;

    #[test]
    fn a_wait_for_a_cpu_names_who_had_it() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 10, 7, 9)
            .wakes(1, 20, 7, 0)
            .runs(0, 900, 9, 7)
            .sleeps(0, 950, 7, 0);
        let culprit = Culprit::of(&explained(&script, 900)).unwrap();
        assert_eq!(culprit.key(), "waiting for a CPU (hog)");
        assert!(culprit.share > 0.9 && !culprit.is_unknown);
    }

    #[test]
    fn a_thread_that_waits_for_the_cpu_that_it_has_shows_a_missing_switch() {
        // It goes to sleep and is woken, but its switch away is not recorded.
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(1, 10, 7, 0)
            .wakes(1, 20, 7, 0)
            .runs(0, 900, 7, 7)
            .sleeps(0, 950, 7, 0);
        let culprit = Culprit::of(&explained(&script, 900)).unwrap();
        assert!(culprit.by_itself && !culprit.by_nobody, "{culprit:?}");
    }

    #[test]
    fn another_thread_is_named_if_the_path_was_on_it() {
        let script = Script::new()
            .runs(0, 0, 0, 7)
            .sleeps(0, 10, 7, 0)
            .runs(1, 5, 0, 8)
            .wakes(1, 800, 7, 0)
            .runs(0, 801, 0, 7)
            .sleeps(0, 850, 7, 0);
        let culprit = Culprit::of(&explained(&script, 850)).unwrap();
        assert_eq!(culprit.key(), "other thread: computing (t8)");
    }
}
