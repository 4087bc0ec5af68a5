//! Builds a workload from the events of a trace.

use unjank_cachesim::page::{Page, SpaceError};
use unjank_cachesim::workload::{Pages, Process, Times};
use unjank_cachesim::{Access, AccessKind, Workload};

use super::marks::{Launching, Marks};
use crate::trace::{Backing, Event, Names, Numbering, Operation};

/// The reason why a trace cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The trace has paging events of memory, not accesses of programs.
    #[error("the trace has {0} events, so it records a memory, not programs; leave out --memory")]
    OfPaging(&'static str),
    /// The trace has too many pages.
    #[error(transparent)]
    TooLarge(#[from] SpaceError),
}

/// Builds a workload from events.
pub struct Builder {
    numbering: Numbering,
    batch: Vec<Page>,
    accesses: Vec<Access>,
    times: Times,
    of_file: Vec<bool>,
    unknown: u64,
    owners: Vec<Process>,
    marks: Marks,
    exits: Vec<(usize, Process)>,
}

impl Builder {
    /// No events so far.
    pub fn new(launching: Launching) -> Self {
        Self {
            numbering: Numbering::default(),
            batch: Vec::new(),
            accesses: Vec::new(),
            times: Times::default(),
            of_file: Vec::new(),
            unknown: 0,
            owners: Vec::new(),
            marks: Marks::new(launching),
            exits: Vec::new(),
        }
    }

    /// Takes events; `names` are those of the trace.
    ///
    /// # Errors
    /// Paging events, or too many pages.
    pub fn extend(&mut self, events: &[Event], names: &Names) -> Result<(), Refused> {
        let mut pages = std::mem::take(&mut self.batch);
        pages.clear();
        let of_pages = events.iter().filter(|event| event.operation.is_of_page());
        self.numbering.pages(of_pages, &mut pages)?;
        let mut next = pages.iter();
        for event in events {
            let kind = match event.operation {
                Operation::Read => AccessKind::Read,
                Operation::Write => AccessKind::Write,
                Operation::FirstTouch => AccessKind::FirstTouch,
                Operation::Exit => {
                    self.marks.exit(event, names);
                    self.exits.push((self.accesses.len(), event.who.0));
                    continue;
                }
                Operation::Launch => {
                    self.marks.begin(event, names, self.accesses.len());
                    continue;
                }
                paging => return Err(Refused::OfPaging(paging.name())),
            };
            if let Some(page) = next.next() {
                self.note(*page, event);
                self.marks.step(event, names, self.accesses.len());
                self.times.note(self.accesses.len(), event.at);
                self.accesses.push(Access::new(*page, kind));
            }
        }
        self.batch = pages;
        Ok(())
    }

    /// The workload; `names` are those of the trace.
    pub fn finish(self, names: &Names) -> Workload {
        let Self { accesses, times, of_file, unknown, owners, marks, exits, .. } = self;
        let (apps, launches, spans) = marks.finish(names);
        let pages = Pages::new(&of_file, owners);
        Workload { accesses, times, pages, unknown, launches, spans, exits, apps }
    }

    /// Records backing and owner of a page when it appears first.
    fn note(&mut self, page: Page, event: &Event) {
        if page.index() == self.owners.len() {
            self.of_file.push(is_of_file(event));
            self.unknown += u64::from(event.backing == Backing::Unknown);
            self.owners.push(event.who.0);
        }
    }
}

/// Whether the page has a copy in storage from the beginning. A page of unknown backing has one
/// unless the trace begins with its first touch: most traces of unknown backing are of blocks and
/// objects, whose first read is a read from storage.
fn is_of_file(event: &Event) -> bool {
    match event.backing {
        Backing::File => true,
        Backing::Anonymous => false,
        Backing::Unknown => event.operation != Operation::FirstTouch,
    }
}

#[cfg(test)]
mod tests {
    use unjank_host::Nanos;

    use unjank_cachesim::workload::{Launch, Span};

    use super::*;
    use crate::trace::{Options, Trace};

    fn build(csv: &str, launch_for: u64) -> Result<Workload, Refused> {
        let text = format!("time,process,space,page,operation,backing\n{csv}");
        let mut trace = Trace::from_memory("t", text.into_bytes(), &Options::default()).unwrap();
        let (mut events, mut builder) =
            (Vec::new(), Builder::new(Launching::lasting(Nanos(launch_for))));
        while trace.read(&mut events, 3).unwrap() {
            builder.extend(&events, trace.names())?;
            events.clear();
        }
        builder.extend(&events, trace.names())?;
        Ok(builder.finish(trace.names()))
    }

    #[test]
    fn pages_belong_to_their_first_users_and_launches_end() {
        let workload = build(
            "0,a,,0,launch,unknown\n\
             1,a,heap,7,first-touch,anonymous\n\
             2,a,lib,7,read,file\n\
             5,b,lib,7,read,file\n\
             6,b,,0,launch,unknown\n\
             7,b,heap,7,write,anonymous\n\
             8,a,,0,launch,unknown\n\
             9,a,,0,exit,unknown\n",
            3_000_000_000,
        )
        .unwrap();
        let accesses: Vec<_> = workload.accesses.iter().map(|a| (a.page().0, a.kind())).collect();
        assert_eq!(
            accesses,
            [
                (0, AccessKind::FirstTouch),
                (1, AccessKind::Read),
                (1, AccessKind::Read),
                (0, AccessKind::Write)
            ]
        );
        let pages = &workload.pages;
        assert_eq!((pages.footprint(), pages.of_files().collect::<Vec<_>>()), (2, vec![Page(1)]));
        assert_eq!(pages.owner(Page(0)), pages.owner(Page(1)));
        let names: Vec<_> = workload.apps.iter().map(|app| &*app.name).collect();
        assert_eq!(names, ["a", "b"]);
        let launch = |app, round, place| Launch { app, round, place };
        assert_eq!(workload.launches, [launch(0, 0, 0), launch(1, 0, 3), launch(0, 1, 4)]);
        let span = |launch, begin, end| Span { launch, begin, end };
        assert_eq!(
            workload.spans,
            [span(0, 0, 2), span(1, 3, 4)],
            "b's read before its launch is no part of one"
        );
        assert_eq!(workload.exits, [(4, pages.owner(Page(0)))]);
    }

    #[test]
    fn a_page_of_unknown_backing_is_of_a_file_unless_its_first_touch_is_traced() {
        let csv = "0,a,x,1,read,unknown\n1,a,x,2,first-touch,unknown\n2,a,x,3,write,anonymous\n";
        let workload = build(csv, 1).unwrap();
        assert_eq!(workload.pages.of_files().collect::<Vec<_>>(), [Page(0)]);
        assert_eq!(workload.unknown, 2);
    }

    #[test]
    fn paging_events_are_refused() {
        let refused = build("0,a,swap,1,page-out,anonymous\n", 1).unwrap_err();
        assert_eq!(refused, Refused::OfPaging("page-out"));
    }
}
