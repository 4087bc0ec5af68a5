//! Memory with swap: from what programs do to what memory asks of whatever
//! lies below. What lies below never changes what memory does, so this is done
//! once for all tiers.
//!
//! - A page that is touched for the first time, again, was given back between:
//!   what was in it is gone, here and below.
//! - A page of a file that a program writes is in storage at once, as that of a
//!   database that syncs; it does not take part in what the tier sees.
//! - An app that was launched pins pages (graphics) until its process ends.

use super::access::Did;
use super::memory::{Evicted, Fault, Memory, Readahead, Reclaim};
use super::page::Page;
use super::paging::{Happened, Paging};
use super::workload::steps::Step;
use super::workload::{App, Owned, Span, Times, Workload};

/// What memory asked of whatever lies below.
#[derive(Debug, Clone, Default)]
pub struct Paged {
    /// In its order.
    pub stream: Vec<Paging>,
    /// When.
    pub times: Times,
    /// How many different pages there are.
    pub footprint: u32,
    /// Launches of apps.
    pub launches: Vec<PagedLaunch>,
    /// What of the stream is part of them, by place.
    pub spans: Vec<Span>,
    /// The apps that are launched, by their names.
    pub apps: Vec<String>,
    /// Pages of files that were written past the tier, each as often as it was.
    pub written: Vec<Page>,
    /// Places in the stream of page-ins that nobody waited for: readahead.
    pub ahead: Vec<usize>,
}

/// A launch of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagedLaunch {
    /// Index of the app.
    pub app: usize,
    /// Which launch of this app it is, from 0.
    pub round: usize,
    /// Whether the app had to start, rather than come back.
    pub starts: bool,
}

impl Paged {
    /// Runs a workload through memory. Each app that is alive pins `pinned`
    /// pages.
    pub fn run<R: Reclaim>(
        workload: &Workload,
        memory: Memory<R>,
        readahead: Readahead,
        pinned: u32,
    ) -> Self {
        let mut running = Running {
            workload,
            memory,
            readahead,
            pinned,
            alive: vec![false; workload.apps.len()],
            owned: (!workload.exits.is_empty()).then(|| Owned::by_process(&workload.pages)),
            paged: Self {
                footprint: workload.pages.footprint(),
                apps: workload.apps.iter().map(|app| app.name.clone()).collect(),
                ..Self::default()
            },
        };
        // Accesses so far: what happens between two has the time of the next.
        let mut at = 0;
        for step in workload.steps() {
            match step {
                Step::Exit(process) => running.exit(process as usize, at),
                Step::Launch(launch) => running.launch(launch.app, launch.round, at),
                Step::Access(access, launch) => {
                    let before = running.paged.stream.len();
                    running.access(access);
                    let after = running.paged.stream.len();
                    if let Some(launch) = launch {
                        Span::cover(&mut running.paged.spans, launch, before..after);
                    }
                    at = access + 1;
                }
            }
        }
        running.paged
    }
}

struct Running<'a, R> {
    workload: &'a Workload,
    memory: Memory<R>,
    readahead: Readahead,
    pinned: u32,
    alive: Vec<bool>,
    owned: Option<Owned>,
    paged: Paged,
}

impl<R: Reclaim> Running<'_, R> {
    fn access(&mut self, at: usize) {
        let access = self.workload.accesses[at];
        let page = access.page();
        match (access.did(), self.workload.pages.is_of_file(page)) {
            (Did::Read, _) | (Did::First, true) => self.touch(page, false, at),
            (Did::Write, false) => self.touch(page, true, at),
            (Did::Write, true) => {
                self.paged.written.push(page);
                let evicted = self.memory.write_through(page);
                self.leave(evicted, at);
            }
            (Did::First, false) => {
                self.discard(page, at);
                self.touch(page, true, at);
            }
        }
    }

    fn touch(&mut self, page: Page, change: bool, at: usize) {
        let touched = self.memory.touch(page, change);
        // What is asked for is found before what leaves can push it out.
        if touched.fault == Fault::PageIn {
            self.push(page, Happened::PageIn, at);
        }
        self.leave(touched.evicted, at);
        if touched.fault == Fault::PageIn {
            self.read_ahead(page, at);
        }
    }

    fn read_ahead(&mut self, page: Page, at: usize) {
        for neighbour in self.readahead.neighbours(page, self.paged.footprint) {
            if let Some(evicted) = self.memory.bring_ahead(neighbour) {
                self.paged.ahead.push(self.paged.stream.len());
                self.push(neighbour, Happened::PageIn, at);
                self.leave(evicted, at);
            }
        }
    }

    fn launch(&mut self, app: usize, round: usize, at: usize) {
        let starts = !std::mem::replace(&mut self.alive[app], true);
        self.paged.launches.push(PagedLaunch { app, round, starts });
        if starts {
            self.memory.pin(self.pinned);
            self.leave(None, at);
        }
    }

    fn exit(&mut self, process: usize, at: usize) {
        let Some(owned) = self.owned.take() else { return };
        for page in owned.of(process) {
            self.discard(*page, at);
        }
        self.owned = Some(owned);
        let of_process = |app: &App| app.processes.contains(&(process as u32));
        if let Some(app) = self.workload.apps.iter().position(of_process)
            && std::mem::take(&mut self.alive[app])
        {
            self.memory.unpin(self.pinned);
        }
    }

    fn discard(&mut self, page: Page, at: usize) {
        if self.memory.discard(page) {
            self.push(page, Happened::Gone, at);
        }
    }

    /// Tells of the page that left, and of those for which there is no room.
    fn leave(&mut self, evicted: Option<Evicted>, at: usize) {
        let mut next = evicted;
        while let Some(Evicted { page, dirty }) = next.or_else(|| self.memory.squeeze()) {
            self.push(page, if dirty { Happened::PageOut } else { Happened::CleanDrop }, at);
            next = None;
        }
    }

    fn push(&mut self, page: Page, happened: Happened, at: usize) {
        let index = self.paged.stream.len();
        if Times::is_kept(index) {
            self.paged.times.note(index, self.workload.times.at(at));
        }
        self.paged.stream.push(Paging::new(page, happened));
    }
}
