//! Memory with swap: from what programs do to what memory asks of whatever
//! lies below. What lies below never changes what memory does, so this is done
//! once for all tiers.
//!
//! - A page that is touched for the first time, again, was given back between:
//!   what was in it is gone, here and below.
//! - A page of a file that a program writes is in storage at once, as that of a
//!   database that syncs; it does not take part in what the tier sees.
//! - An app that was launched pins pages (graphics) until its process ends.

mod observed;

pub use observed::Observed;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::memory::MemoryPolicy;
    use crate::model::page::Space;
    use crate::model::workload::{Builder, Launching};
    use crate::trace::{Options, Trace};
    use unjank_host::Nanos;

    /// What memory of so many pages asks for, and what was written past it.
    fn page(csv: &str, capacity: u64, readahead: u32, pinned: u32) -> (Vec<String>, Paged) {
        let text = format!("time,process,space,page,operation,backing\n{csv}");
        let mut trace = Trace::from_memory("t", text.into_bytes(), &Options::default()).unwrap();
        let (mut events, mut builder) =
            (Vec::new(), Builder::new(Launching::lasting(Nanos(1 << 40))));
        while trace.read(&mut events, 64).unwrap() {}
        builder.extend(&events, trace.names()).unwrap();
        let workload = builder.finish(trace.names());
        let space = Space::new(capacity, workload.pages.footprint().into()).unwrap();
        let readahead = Readahead::new(readahead);
        let paged = MemoryPolicy::Lru.page(&workload, space, readahead, pinned);
        (paged.stream.iter().map(|paging| format!("{paging:?}")).collect(), paged)
    }

    #[test]
    fn a_page_goes_out_for_another_and_comes_back() {
        let (stream, paged) = page(
            "0,a,heap,0,write,anonymous\n\
             1,a,lib,0,read,file\n\
             2,a,heap,0,read,anonymous\n\
             3,a,lib,0,read,file\n",
            1,
            0,
            0,
        );
        let expected =
            ["PageIn 1", "PageOut 0", "PageIn 0", "CleanDrop 1", "PageIn 1", "CleanDrop 0"];
        assert_eq!(stream, expected);
        assert_eq!(paged.footprint, 2);
    }

    #[test]
    fn what_is_made_anew_or_whose_process_ends_is_gone() {
        let (stream, _) = page(
            "0,a,heap,0,write,anonymous\n\
             1,b,heap,1,write,anonymous\n\
             2,a,heap,0,first-touch,anonymous\n\
             3,b,,0,exit,unknown\n\
             4,b,heap,1,read,anonymous\n",
            1,
            0,
            0,
        );
        // 1 is in storage when its process ends; what it is afterwards is new.
        let expected = ["PageOut 0", "Gone 0", "PageOut 1", "Gone 1", "PageOut 0"];
        assert_eq!(stream, expected);
    }

    #[test]
    fn a_written_file_is_in_storage_at_once() {
        let (stream, paged) =
            page("0,a,data,0,write,file\n1,a,data,0,read,file\n2,a,data,1,write,file\n", 1, 0, 0);
        assert_eq!(stream, ["CleanDrop 0"]);
        assert_eq!(paged.written, [Page(0), Page(1)]);
    }

    #[test]
    fn nobody_waits_for_readahead() {
        let (stream, paged) =
            page("0,a,lib,0,read,file\n1,a,lib,1,read,file\n2,a,lib,2,read,file\n", 3, 2, 0);
        assert_eq!(stream, ["PageIn 0", "PageIn 1", "PageIn 2"]);
        assert_eq!(paged.ahead, [1, 2]);
    }

    #[test]
    fn apps_that_are_alive_take_room() {
        let lines = (0..200).map(|page| format!("{page},a,heap,{page},write,anonymous"));
        let csv = lines.collect::<Vec<_>>().join("\n") + "\n";
        let launch = "300,a,,0,launch,unknown\n301,a,heap,199,read,anonymous\n";
        let (stream, paged) = page(&(csv + launch), 200, 0, 50);
        assert_eq!(stream.len(), 50, "what does not fit beside what is pinned");
        assert_eq!(paged.launches, [PagedLaunch { app: 0, round: 0, starts: true }]);
    }
}
