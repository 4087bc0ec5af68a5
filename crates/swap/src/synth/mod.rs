//! Synthetic phones: apps that are launched one after the other, over and over.
//!
//! Every launch touches, in random order: the pages that all apps share (file pages of libraries
//! and anonymous pages of services), the hot and some of the warm pages of the app, its code, and
//! some of its assets. It replaces the new pages of the app's last launch and writes some of its
//! data. Before the next launch, other apps run a little in the background.
//!
//! Random numbers come from a seed. Nothing of this was measured; the presets are chosen to
//! reproduce what Bahn & Kim publish of their phones (JIIBC 23-2-8, 2023).
//!
//! | module | subject |
//! |---|---|
//! | [`preset`] | parameters of a phone and its user |
//! | [`presets`] | phones by name |
//! | `layout` | the pages of each part of a phone |
//! | `chance` | random numbers |

mod chance;
mod layout;
pub mod preset;
pub mod presets;

pub use preset::{Apps, Order, Phone, Preset};

use unjank_host::{Nanos, Result};

use crate::trace::{Backing, Event, Events, Names, Operation, ProcessIndex, Space};
use chance::Chance;
use layout::{Actors, Layout, Part, Region};

/// Time from one launch to the next.
const LAUNCH_EVERY: Nanos = Nanos::from_millis(30_000);
/// Time from a launch to the background work after it; longer than any launch.
const BACKGROUND_AFTER: Nanos = Nanos::from_millis(15_000);
/// Time from one touch to the next.
const TOUCH_EVERY: Nanos = Nanos(10_000);
/// The number of consecutive pages that are touched in order.
const RUN: usize = 16;

/// The trace of a phone. At most one launch of it is in memory.
#[derive(Debug, Clone)]
pub struct Synth {
    preset: Preset,
    layout: Layout,
    names: Names,
    chance: Chance,
    /// The number of the next launch.
    next: u32,
    /// How often each app was launched.
    rounds: Vec<u32>,
    now: Nanos,
    waiting: Vec<Touch>,
}

#[derive(Debug, Clone, Copy)]
struct Touch {
    page: layout::PhonePage,
    operation: Operation,
}

impl Synth {
    /// A phone by its preset and a seed.
    pub fn new(preset: Preset, seed: u64) -> Self {
        let (layout, names) = Layout::new(&preset);
        Self {
            layout,
            names,
            chance: Chance::new(seed),
            next: 0,
            rounds: vec![0; preset.apps.count as usize],
            now: Nanos::ZERO,
            waiting: Vec::new(),
            preset,
        }
    }

    /// Number of launches in the trace.
    pub fn launches(&self) -> u32 {
        self.preset.launches
    }

    fn launch(&mut self, events: &mut Vec<Event>) {
        self.now = Nanos(LAUNCH_EVERY.0 * u64::from(self.next));
        let app = self.preset.order.next(self.next, self.preset.apps.count, &mut self.chance);
        let round = self.rounds[app as usize];
        self.rounds[app as usize] += 1;
        self.next += 1;
        let who = self.layout.launched(app, self.next, &mut self.names);
        let apps = self.preset.apps;
        events.push(mark(self.now, who.app));
        self.take(self.layout.hot(app, round), 1.0, apps.hot_changed);
        self.take(self.layout.of(app, Part::Warm), apps.warm_share, apps.hot_changed);
        let starts = round == 0;
        let (code, assets) =
            if starts { (1.0, apps.assets_at_start) } else { (apps.code_again, apps.assets_again) };
        self.take(self.layout.of(app, Part::Code), code, 0.0);
        self.take(self.layout.of(app, Part::Assets), assets, 0.0);
        if starts {
            self.take(self.layout.of(app, Part::Cold), 1.0, 1.0);
        }
        for page in self.layout.of(app, Part::New).pages() {
            self.waiting.push(Touch { page, operation: Operation::FirstTouch });
        }
        for _ in 0..apps.data_writes {
            self.take(self.layout.of(app, Part::Data), apps.data_share, 1.0);
        }
        self.run_between_passes(who, events);
        self.now = Nanos(LAUNCH_EVERY.0 * u64::from(self.next - 1) + BACKGROUND_AFTER.0);
        for other in 0..apps.count {
            let rounds = self.rounds[other as usize];
            if other != app && rounds > 0 && apps.background_share > 0.0 {
                let hot = self.layout.hot(other, rounds - 1);
                self.take(hot, apps.background_share, apps.hot_changed);
                self.run(self.layout.background(other), events);
            }
        }
    }

    /// Queues touches of pages: each with probability `share`, and as a write with probability
    /// `changed`.
    fn take(&mut self, region: Region, share: f64, changed: f64) {
        for page in region.pages() {
            if self.chance.happens(share) {
                let is_write = self.chance.happens(changed);
                let operation = if is_write { Operation::Write } else { Operation::Read };
                self.waiting.push(Touch { page, operation });
            }
        }
    }

    /// Touches the shared pages and the queued ones in turns.
    fn run_between_passes(&mut self, who: Actors, events: &mut Vec<Event>) {
        let own = std::mem::take(&mut self.waiting);
        let mut runs: Vec<&[Touch]> = own.chunks(RUN).collect();
        self.chance.shuffle(&mut runs);
        let (share, changed) = (self.preset.shared_share, self.preset.services_changed);
        let passes = self.preset.shared_passes.max(1) as usize;
        for part in runs.chunks(runs.len().div_ceil(passes).max(1)) {
            self.take(self.layout.shared(Part::Libraries), share, 0.0);
            self.take(self.layout.shared(Part::Services), share, changed);
            self.run(who, events);
            for run in part {
                self.waiting.extend_from_slice(run);
            }
            self.run(who, events);
        }
    }

    /// Touches the queued pages, in runs of neighbours in random order.
    fn run(&mut self, who: Actors, events: &mut Vec<Event>) {
        let mut runs: Vec<&[Touch]> = self.waiting.chunks(RUN).collect();
        self.chance.shuffle(&mut runs);
        for touch in runs.into_iter().flatten() {
            events.push(self.layout.event(touch.page, touch.operation, who, self.now));
            self.now = self.now + TOUCH_EVERY;
        }
        self.waiting.clear();
    }
}

impl Events for Synth {
    fn read(&mut self, events: &mut Vec<Event>, most: usize) -> Result<bool> {
        let before = events.len();
        while self.next < self.preset.launches && events.len() - before < most {
            self.launch(events);
        }
        Ok(self.next < self.preset.launches)
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn progress(&self) -> Option<f64> {
        Some(f64::from(self.next) / f64::from(self.preset.launches.max(1)))
    }
}

fn mark(at: Nanos, who: ProcessIndex) -> Event {
    let (operation, backing) = (Operation::Launch, Backing::Unknown);
    Event { at, page: 0, who, space: Space::NONE, operation, backing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(preset: Preset, seed: u64) -> Vec<Event> {
        let (mut synth, mut events) = (Synth::new(preset, seed), Vec::new());
        while synth.read(&mut events, 1).unwrap() {}
        events
    }

    #[test]
    fn the_trace_depends_on_the_seed_only() {
        let small = Preset { launches: 5, ..presets::GAMES };
        assert_eq!(events(small, 1), events(small, 1));
        assert_ne!(events(small, 1), events(small, 2));
    }

    #[test]
    fn times_never_go_backwards_and_launches_are_all_there() {
        for preset in presets::ALL {
            let preset = Preset { launches: 20, ..*preset };
            let events = events(preset, 1);
            assert!(events.is_sorted_by_key(|event| event.at), "{}", preset.name);
            let launches = events.iter().filter(|event| event.operation == Operation::Launch);
            assert_eq!(launches.count(), 20, "{}", preset.name);
        }
    }

    #[test]
    fn spaces_and_processes_have_names() {
        let preset = Preset { launches: 2, ..presets::GAMES };
        let (mut synth, mut events) = (Synth::new(preset, 1), Vec::new());
        while synth.read(&mut events, 1).unwrap() {}
        let of = |name: &str| {
            let space = synth.names().spaces().iter().position(|space| space == name).unwrap();
            events.iter().filter(move |event| event.space.0 as usize == space)
        };
        assert!(of("libraries").all(|event| event.backing == Backing::File));
        assert!(of("app 1 heap").all(|event| event.backing == Backing::Anonymous));
        let services = synth.names().process(of("services").next().unwrap().who);
        assert_eq!((services.name.as_str(), services.launch), ("services", Some(1)));
        assert_eq!(of("app 3 heap").count(), 0, "its launch comes later");
    }
}
