//! Memory without swap, as stock Android runs it: anonymous pages stay in memory.
//!
//! When memory is full, the app that was launched longest ago is killed (Android's low memory
//! killer). A killed app starts again at its next launch: it reads the file pages that its first
//! launch read, and creates the anonymous pages that its first launch touched.

use super::access::{Access, AccessKind};
use super::bits::Bits;
use super::page::{Page, Space};
use super::replacement::{Lru, Replacement};
use super::tier::{PerPage, Traffic, Waits};
use super::workload::steps::Step;
use super::workload::{Launch, OwnedPages, Workload};

/// Rules for killing apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Apps are killed when fewer pages than this are left for files: `minfree` of Android's low
    /// memory killer.
    pub minfree: u32,
    /// Pages that each living app pins: graphics.
    pub pinned: u32,
}

/// The result of a run without swap.
#[derive(Debug, Clone)]
pub struct Killing {
    /// Reads and writes of storage.
    pub traffic: Traffic,
    /// Reads and writes of storage by page.
    pub per_page: PerPage,
    /// Apps that were killed.
    pub kills: u64,
    /// Launches of apps that had been killed.
    pub restarts: u64,
    /// Each launch, whether its app had to start, and the page-ins that it waited for.
    pub launches: Vec<(Launch, bool, Waits)>,
}

impl Killing {
    /// Runs a workload in memory of the capacity of `space`, whose footprint is
    /// that of the workload.
    pub fn run(workload: &Workload, space: Space, rules: Rules) -> Self {
        let mut running = Running::new(workload, space, rules);
        for step in workload.steps() {
            match step {
                Step::Exit(process) => running.exit(process),
                Step::Launch(launch) => running.launch(launch),
                Step::Access(at, launch) => {
                    running.launching = launch;
                    running.access(workload.accesses[at]);
                }
            }
        }
        running.result
    }
}

struct Running<'a> {
    workload: &'a Workload,
    rules: Rules,
    capacity: u32,
    /// Anonymous pages in memory.
    anonymous: Bits,
    /// Anonymous and pinned pages in memory.
    taken: u32,
    files: Lru,
    owned: OwnedPages,
    /// The app that owns each page; the page is freed when the app ends.
    app_of: Vec<Option<usize>>,
    /// The first launch of each app, by its number.
    first: Vec<Option<usize>>,
    /// Apps that are alive, the one that was launched longest ago first.
    alive: Vec<usize>,
    /// The launch that the current access is part of.
    launching: Option<usize>,
    result: Killing,
}

impl<'a> Running<'a> {
    fn new(workload: &'a Workload, space: Space, rules: Rules) -> Self {
        let (pages, apps) = (&workload.pages, &workload.apps);
        let owned = OwnedPages::by_app(pages, apps);
        let mut app_of = vec![None; pages.footprint() as usize];
        for app in 0..apps.len() {
            for page in owned.of(app) {
                app_of[page.index()] = Some(app);
            }
        }
        Self {
            workload,
            rules,
            capacity: space.capacity(),
            anonymous: Bits::new(space.footprint()),
            taken: 0,
            files: Lru::new(space),
            owned,
            app_of,
            first: vec![None; apps.len()],
            alive: Vec::new(),
            launching: None,
            result: Killing {
                traffic: Traffic::default(),
                per_page: PerPage::new(space.footprint()),
                kills: 0,
                restarts: 0,
                launches: Vec::new(),
            },
        }
    }

    fn launch(&mut self, launch: Launch) {
        let app = launch.app;
        let place = self.alive.iter().position(|known| *known == app);
        if let Some(place) = place {
            self.alive.remove(place);
        }
        self.alive.push(app);
        let number = self.result.launches.len();
        self.launching = Some(number);
        self.result.launches.push((launch, place.is_none(), Waits::default()));
        if place.is_some() {
            return;
        }
        self.taken += self.rules.pinned;
        self.make_room();
        match self.first[app] {
            None => self.first[app] = Some(number),
            Some(first) => {
                self.result.restarts += 1;
                let workload = self.workload;
                for access in workload.accesses_of(first) {
                    match (self.workload.pages.is_of_file(access.page()), access.kind()) {
                        (true, AccessKind::Write) => {}
                        (true, _) => self.read_file(access.page()),
                        (false, _) => self.hold_anonymous(access.page()),
                    }
                }
            }
        }
    }

    fn access(&mut self, access: Access) {
        let page = access.page();
        if self.workload.pages.is_of_file(page) {
            if access.kind() == AccessKind::Write {
                self.result.traffic.storage_writes += 1;
                self.result.per_page.note(page);
                self.hold_file(page);
            } else {
                self.read_file(page);
            }
            return;
        }
        let is_dead = |app: usize| self.first[app].is_some() && !self.alive.contains(&app);
        if self.app_of[page.index()].is_some_and(is_dead) {
            // A dead app does nothing in the background.
            return;
        }
        self.hold_anonymous(page);
    }

    fn hold_anonymous(&mut self, page: Page) {
        if !self.anonymous.set(page) {
            self.taken += 1;
            self.make_room();
        }
    }

    fn exit(&mut self, process: u32) {
        let apps = &self.workload.apps;
        let app = apps.iter().position(|app| app.processes.contains(&process));
        match app {
            None => self.free(process),
            Some(app) => {
                if let Some(place) = self.alive.iter().position(|known| *known == app) {
                    self.end(place);
                }
            }
        }
    }

    /// Frees the pages of a process that belongs to no app.
    fn free(&mut self, process: u32) {
        let pages = &self.workload.pages;
        for page in pages.all().filter(|page| pages.owner(*page) == process) {
            self.taken -= u32::from(self.anonymous.get(page));
            self.anonymous.clear(page);
        }
    }

    /// Kills apps until `minfree` pages are left for files, then drops file pages that do not fit.
    fn make_room(&mut self) {
        while self.taken.saturating_add(self.rules.minfree) > self.capacity && self.alive.len() > 1
        {
            self.end(0);
            self.result.kills += 1;
        }
        self.drop_files();
    }

    /// Ends the app at this index of `alive`.
    fn end(&mut self, place: usize) {
        let app = self.alive.remove(place);
        self.taken -= self.rules.pinned;
        for page in self.owned.of(app) {
            self.taken -= u32::from(self.anonymous.get(*page));
            self.anonymous.clear(*page);
        }
    }

    fn read_file(&mut self, page: Page) {
        if !self.files.contains(page) {
            self.result.traffic.page_ins += 1;
            self.result.traffic.storage_reads += 1;
            self.result.per_page.note(page);
            if let Some(launch) = self.launching {
                self.result.launches[launch].2.storage += 1;
            }
        }
        self.hold_file(page);
    }

    fn hold_file(&mut self, page: Page) {
        let dropped = if self.files.contains(page) {
            self.files.hit(page);
            None
        } else {
            self.files.admit(page)
        };
        self.result.traffic.clean_drops += u64::from(dropped.is_some());
        self.drop_files();
    }

    /// Drops file pages until the rest fits. One page stays: it is in use.
    fn drop_files(&mut self) {
        let room = self.capacity.saturating_sub(self.taken).max(1);
        while self.files.len() > room && self.files.evict().is_some() {
            self.result.traffic.clean_drops += 1;
        }
    }
}
