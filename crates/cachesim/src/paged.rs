//! Memory with swap: turns the accesses of programs into requests to the levels below memory.
//!
//! The levels below never change these requests, so they are computed once for all tiers.
//!
//! - A page that is touched "for the first time" once more was freed in between: its content is
//!   gone, in memory and below.
//! - A file page that a program writes is in storage at once, like that of a database that syncs.
//!   The tier does not see the write.
//! - An app that was launched pins pages (graphics) until its process ends.

use super::access::AccessKind;
use super::memory::{Evicted, Fault, Memory, Readahead, Reclaim};
use super::page::Page;
use super::paging::{PagingEvent, PagingKind};
use super::workload::steps::Step;
use super::workload::{App, OwnedPages, Span, Times, Workload};

/// The requests of memory to the levels below it.
#[derive(Debug, Clone, Default)]
pub struct Paged {
    /// The requests in order.
    pub stream: Vec<PagingEvent>,
    /// The times of the requests.
    pub times: Times,
    /// How many different pages there are.
    pub footprint: u32,
    /// Launches of apps.
    pub launches: Vec<PagedLaunch>,
    /// Spans of requests that are part of launches, by index in the stream.
    pub spans: Vec<Span>,
    /// The names of the apps that are launched.
    pub apps: Vec<String>,
    /// Writes of file pages that bypass the tier, one entry per write.
    pub written: Vec<Page>,
    /// Indices in the stream of page-ins that nothing waits for: readahead.
    pub prefetched: Vec<usize>,
}

/// A launch of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagedLaunch {
    /// Index of the app.
    pub app: usize,
    /// Number of the launch among those of its app, from 0.
    pub round: usize,
    /// Whether the app had to start, rather than come back.
    pub starts: bool,
}

impl Paged {
    /// Runs a workload through memory. Each living app pins `pinned` pages.
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
            owned: (!workload.exits.is_empty()).then(|| OwnedPages::by_process(&workload.pages)),
            paged: Self {
                footprint: workload.pages.footprint(),
                apps: workload.apps.iter().map(|app| app.name.clone()).collect(),
                ..Self::default()
            },
        };
        // Accesses so far. Events between two accesses get the time of the next one.
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
    owned: Option<OwnedPages>,
    paged: Paged,
}

impl<R: Reclaim> Running<'_, R> {
    fn access(&mut self, at: usize) {
        let access = self.workload.accesses[at];
        let page = access.page();
        match (access.kind(), self.workload.pages.is_of_file(page)) {
            (AccessKind::Read, _) | (AccessKind::FirstTouch, true) => self.touch(page, false, at),
            (AccessKind::Write, false) => self.touch(page, true, at),
            (AccessKind::Write, true) => {
                self.paged.written.push(page);
                let evicted = self.memory.write_through(page);
                self.leave(evicted, at);
            }
            (AccessKind::FirstTouch, false) => {
                self.discard(page, at);
                self.touch(page, true, at);
            }
        }
    }

    fn touch(&mut self, page: Page, change: bool, at: usize) {
        let touched = self.memory.touch(page, change);
        // The page-in comes first: the eviction below could push its page out of the tier.
        if touched.fault == Fault::PageIn {
            self.push(page, PagingKind::PageIn, at);
        }
        self.leave(touched.evicted, at);
        if touched.fault == Fault::PageIn {
            self.read_ahead(page, at);
        }
    }

    fn read_ahead(&mut self, page: Page, at: usize) {
        for neighbour in self.readahead.neighbours(page, self.paged.footprint) {
            if let Some(evicted) = self.memory.prefetch(neighbour) {
                self.paged.prefetched.push(self.paged.stream.len());
                self.push(neighbour, PagingKind::PageIn, at);
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
            self.push(page, PagingKind::Gone, at);
        }
    }

    /// Records the evicted page, and further ones until memory fits beside the pinned pages.
    fn leave(&mut self, evicted: Option<Evicted>, at: usize) {
        let mut next = evicted;
        while let Some(Evicted { page, dirty }) = next.or_else(|| self.memory.squeeze()) {
            self.push(page, if dirty { PagingKind::PageOut } else { PagingKind::CleanDrop }, at);
            next = None;
        }
    }

    fn push(&mut self, page: Page, kind: PagingKind, at: usize) {
        let index = self.paged.stream.len();
        if Times::is_kept(index) {
            self.paged.times.note(index, self.workload.times.at(at));
        }
        self.paged.stream.push(PagingEvent::new(page, kind));
    }
}
