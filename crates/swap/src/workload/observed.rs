//! Requests of a real memory from the events of a trace: page-ins and page-outs, or reads and
//! writes of the storage below it.
//!
//! Such traces seldom have drops of clean pages. A page that comes in twice without having gone out
//! was dropped in between; the drop is put half way. Ends of processes are ignored, because these
//! traces do not say which process a page belongs to.

use unjank_cachesim::paged::{Paged, PagedLaunch};
use unjank_cachesim::workload::{Span, Times};
use unjank_cachesim::{Page, PagingEvent, PagingKind};
use unjank_host::Nanos;

use super::builder::Refused;
use super::marks::{Launching, Marks};
use crate::trace::{Event, Names, Numbering, Operation};

/// The page is not in memory.
const OUT: u32 = 0;

/// Collects events of a real memory.
pub struct Observed {
    numbering: Numbering,
    batch: Vec<Page>,
    stream: Vec<PagingEvent>,
    times: Times,
    marks: Marks,
    /// For each page, one more than the index of its last page-in, or [`OUT`].
    came_in: Vec<u32>,
    /// Inferred drops, each with the index of the event that follows.
    drops: Vec<(u32, Page)>,
}

impl Observed {
    /// No events so far.
    pub fn new(launching: Launching) -> Self {
        Self {
            numbering: Numbering::default(),
            batch: Vec::new(),
            stream: Vec::new(),
            times: Times::default(),
            marks: Marks::new(launching),
            came_in: Vec::new(),
            drops: Vec::new(),
        }
    }

    /// Takes events; `names` are those of the trace.
    ///
    /// # Errors
    /// There are too many pages.
    pub fn extend(&mut self, events: &[Event], names: &Names) -> Result<(), Refused> {
        let mut pages = std::mem::take(&mut self.batch);
        pages.clear();
        let of_pages = events.iter().filter(|event| event.operation.is_of_page());
        self.numbering.pages(of_pages, &mut pages)?;
        self.came_in.resize(self.numbering.footprint() as usize, OUT);
        let mut next = pages.iter();
        for event in events {
            let kind = match event.operation {
                Operation::Read | Operation::PageIn => PagingKind::PageIn,
                Operation::Write | Operation::PageOut => PagingKind::PageOut,
                Operation::CleanDrop => PagingKind::CleanDrop,
                Operation::FirstTouch => PagingKind::Gone,
                Operation::Launch => {
                    self.marks.begin(event, names, self.stream.len());
                    continue;
                }
                Operation::Exit => {
                    self.marks.exit(event, names);
                    continue;
                }
            };
            if let Some(page) = next.next() {
                self.marks.step(event, names, self.stream.len());
                self.push(*page, kind, event.at);
            }
        }
        self.batch = pages;
        Ok(())
    }

    fn push(&mut self, page: Page, kind: PagingKind, at: Nanos) {
        let place = self.stream.len() as u32;
        let came_in = &mut self.came_in[page.index()];
        if kind == PagingKind::PageIn {
            if *came_in != OUT {
                self.drops.push((*came_in + (place - *came_in) / 2, page));
            }
            *came_in = place + 1;
        } else {
            *came_in = OUT;
        }
        self.times.note(place as usize, at);
        self.stream.push(PagingEvent::new(page, kind));
    }

    /// The requests of memory; `names` are those of the trace.
    pub fn finish(mut self, names: &Names) -> Paged {
        let (apps, launches, spans) = self.marks.finish(names);
        let footprint = self.numbering.footprint();
        self.drops.sort_unstable_by_key(|(before, _)| *before);
        let mut paged = Paged {
            stream: Vec::with_capacity(self.stream.len() + self.drops.len()),
            footprint,
            apps: apps.into_iter().map(|app| app.name).collect(),
            ..Paged::default()
        };
        let drops = &self.drops;
        let mut dropped = 0;
        for (place, paging) in self.stream.iter().enumerate() {
            while let Some((_, page)) = drops.get(dropped).filter(|drop| drop.0 as usize == place) {
                paged.times.note(paged.stream.len(), self.times.at(place));
                paged.stream.push(PagingEvent::new(*page, PagingKind::CleanDrop));
                dropped += 1;
            }
            paged.times.note(paged.stream.len(), self.times.at(place));
            paged.stream.push(*paging);
        }
        // Inserted drops shift later events.
        let moved = |place: usize| place + drops.partition_point(|drop| (drop.0 as usize) < place);
        paged.launches = launches
            .iter()
            .map(|launch| PagedLaunch {
                app: launch.app,
                round: launch.round,
                starts: launch.round == 0,
            })
            .collect();
        let moved = |span: &Span| Span { begin: moved(span.begin), end: moved(span.end), ..*span };
        paged.spans = spans.iter().map(moved).collect();
        paged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Options, Trace};

    fn observe(csv: &str) -> Paged {
        let text = format!("time,process,space,page,operation,backing\n{csv}");
        let mut trace = Trace::from_memory("t", text.into_bytes(), &Options::default()).unwrap();
        let (mut events, mut observed) =
            (Vec::new(), Observed::new(Launching::lasting(Nanos(2_000_000_000))));
        while trace.read(&mut events, 2).unwrap() {
            observed.extend(&events, trace.names()).unwrap();
            events.clear();
        }
        observed.extend(&events, trace.names()).unwrap();
        observed.finish(trace.names())
    }

    #[test]
    fn a_page_that_comes_in_twice_was_dropped_half_way() {
        let paged = observe(
            "0,a,swap,1,page-in,anonymous\n\
             1,a,swap,2,page-in,anonymous\n\
             2,a,swap,3,page-out,anonymous\n\
             3,a,swap,1,page-in,anonymous\n\
             4,a,swap,2,page-out,anonymous\n",
        );
        let events: Vec<_> = paged.stream.iter().map(|paging| format!("{paging:?}")).collect();
        let expected =
            ["PageIn 0", "PageIn 1", "CleanDrop 0", "PageOut 2", "PageIn 0", "PageOut 1"];
        assert_eq!(events, expected);
        assert_eq!(paged.footprint, 3);
    }

    #[test]
    fn inserted_drops_shift_launches() {
        let paged = observe(
            "0,a,disk,1,read,unknown\n\
             1,a,disk,1,read,unknown\n\
             5,b,,0,launch,unknown\n\
             6,b,disk,2,read,unknown\n\
             6,a,disk,3,read,unknown\n\
             6,b,disk,4,read,unknown\n\
             7,b,disk,2,write,unknown\n",
        );
        assert_eq!(paged.launches, [PagedLaunch { app: 0, round: 0, starts: true }]);
        let spans: Vec<_> = paged.spans.iter().map(|span| (span.begin, span.end)).collect();
        assert_eq!(spans, [(3, 4), (5, 6)]);
        assert_eq!([3, 5].map(|place| paged.stream[place].page()), [Page(1), Page(3)]);
        assert_eq!(paged.apps, ["b"]);
    }
}
