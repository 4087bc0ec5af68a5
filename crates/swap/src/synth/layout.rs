//! The pages of each part of a synthetic phone.

use unjank_host::Nanos;

use super::Preset;
use crate::trace::{Backing, Event, Member, Names, Operation, ProcessIndex, Space};

/// A part of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// File pages of libraries that all apps share.
    Libraries,
    /// Anonymous pages of services that all apps use.
    Services,
    /// Anonymous pages that some launches of their app touch.
    Warm,
    /// Anonymous pages that every launch creates.
    New,
    /// Anonymous pages that are created when the app starts and not touched again.
    Cold,
    /// File pages of the app's code.
    Code,
    /// File pages of the app's assets.
    Assets,
    /// File pages of databases and settings, which are written.
    Data,
}

/// A page of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PhonePage {
    /// The index of the space.
    space: u32,
    page: u32,
}

/// Consecutive pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    space: u32,
    first: u32,
    end: u32,
}

impl Region {
    pub(super) fn pages(self) -> impl Iterator<Item = PhonePage> {
        (self.first..self.end).map(move |page| PhonePage { space: self.space, page })
    }
}

const SHARED: [&str; 2] = ["libraries", "services"];
const OF_APP: [&str; 4] = ["heap", "code", "assets", "data"];

/// The spaces of a phone: first the shared ones, then those of each app.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    preset: Preset,
    spaces: Vec<Space>,
    services: ProcessIndex,
    apps: Vec<ProcessIndex>,
}

/// The processes that touch pages: an app and the services that it uses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Actors {
    pub(super) app: ProcessIndex,
    services: ProcessIndex,
}

impl Layout {
    /// The spaces and processes of a phone, and their names.
    pub(super) fn new(preset: &Preset) -> (Self, Names) {
        let mut names = Names::default();
        let services = names.add_process("services");
        let mut spaces: Vec<_> = SHARED.iter().map(|name| names.add_space(name)).collect();
        let mut apps = Vec::new();
        for app in 1..=preset.apps.count {
            apps.push(names.add_process(&format!("app {app}")));
            spaces.extend(OF_APP.map(|part| names.add_space(&format!("app {app} {part}"))));
        }
        (Self { preset: *preset, spaces, services, apps }, names)
    }

    /// A part that all apps share.
    pub(super) fn shared(&self, part: Part) -> Region {
        match part {
            Part::Libraries => region(0, 0, self.preset.libraries),
            _ => region(1, 0, self.preset.services),
        }
    }

    /// The anonymous pages that every launch of an app touches. Some of them are replaced at each
    /// launch.
    pub(super) fn hot(&self, app: u32, round: u32) -> Region {
        let apps = self.preset.apps.of(app);
        let first = apps.new + apps.warm + apps.cold + round * apps.hot_renewed;
        region(of_app(app, 0), first, apps.hot)
    }

    /// A part of an app.
    pub(super) fn of(&self, app: u32, part: Part) -> Region {
        let apps = self.preset.apps.of(app);
        match part {
            Part::Warm => region(of_app(app, 0), apps.new, apps.warm),
            Part::Cold => region(of_app(app, 0), apps.new + apps.warm, apps.cold),
            Part::Code => region(of_app(app, 1), 0, apps.code),
            Part::Assets => region(of_app(app, 2), 0, apps.assets),
            Part::Data => region(of_app(app, 3), 0, apps.data),
            _ => region(of_app(app, 0), 0, apps.new),
        }
    }

    /// The processes of a launch: an app, and the services that work for it.
    pub(super) fn launched(&self, app: u32, launch: u32, names: &mut Names) -> Actors {
        let mut member = |who: ProcessIndex| {
            let name = names.process(who).name.clone();
            let launch = Some(launch);
            // There are far fewer than the maximum, so this does not fail.
            names
                .member(Member { name: name.as_bytes(), launch, ..Member::default() })
                .unwrap_or(who)
        };
        Actors { app: member(self.apps[app as usize]), services: member(self.services) }
    }

    /// The processes of an app in the background.
    pub(super) fn background(&self, app: u32) -> Actors {
        Actors { app: self.apps[app as usize], services: self.services }
    }

    /// A touch of a page. Pages of services are touched by the services' process.
    pub(super) fn event(
        &self,
        page: PhonePage,
        operation: Operation,
        who: Actors,
        at: Nanos,
    ) -> Event {
        let part = page.space as usize;
        let anonymous = part == 1 || (part > 1 && (part - 2).is_multiple_of(OF_APP.len()));
        Event {
            at,
            page: page.page.into(),
            who: if part == 1 { who.services } else { who.app },
            space: self.spaces[part],
            operation,
            backing: if anonymous { Backing::Anonymous } else { Backing::File },
        }
    }
}

fn of_app(app: u32, part: u32) -> u32 {
    SHARED.len() as u32 + app * OF_APP.len() as u32 + part
}

fn region(space: u32, first: u32, pages: u32) -> Region {
    Region { space, first, end: first + pages }
}
