//! Converts traced kernel events to page events. Pure except for looking up processes in `/proc`.

use std::collections::HashSet;

use unjank_host::sched::ThreadId;
use unjank_host::swap_area::Area;
use unjank_host::tracefs::{BlockRequest, Comm, FilePages, StorageEvent};
use unjank_host::{Nanos, Timestamp};

use crate::trace::{Backing, Event, LimitReached, Names, Operation, PAGE, ProcessIndex, Space};

use super::counts::Counts;
use super::launches::{Execution, Launches};
use super::tasks::Tasks;

/// The order of the largest folios.
const LARGEST_ORDER: u8 = 18;

/// Converts traced events to events of a trace, and counts them.
pub(super) struct Converter {
    areas: Vec<(Area, Space)>,
    tasks: Tasks,
    pub(super) names: Names,
    pub(super) counts: Counts,
    launches: Launches,
    /// Processes that have paged under any name.
    paged: HashSet<u32>,
    /// Events that are not written yet.
    events: Vec<Event>,
    /// Pages of 4 KiB in a page of the kernel.
    per_page: u64,
    /// The time of the first event.
    origin: Option<Timestamp>,
    /// Whether a process leads a process group.
    leads: fn(u32) -> bool,
    /// The number of unjank's own process.
    own: u32,
}

impl Converter {
    pub(super) fn new(
        areas: Vec<Area>,
        tasks: Tasks,
        kernel_page: u64,
        own: u32,
        leads: fn(u32) -> bool,
    ) -> Result<Self, LimitReached> {
        let mut names = Names::default();
        let numbered = areas.into_iter().map(|area| {
            let space = names.space_number(area.name.as_bytes())?;
            Ok((area, space))
        });
        let areas = numbered.collect::<Result<_, LimitReached>>()?;
        Ok(Self {
            areas,
            tasks,
            names,
            counts: Counts::default(),
            launches: Launches::default(),
            paged: HashSet::new(),
            events: Vec::new(),
            per_page: (kernel_page / PAGE).max(1),
            origin: None,
            leads,
            own,
        })
    }

    pub(super) fn areas(&self) -> impl Iterator<Item = &Area> {
        self.areas.iter().map(|(area, _)| area)
    }

    /// Adds an area. It replaces a swap area of the same name, which is gone.
    pub(super) fn add(&mut self, area: Area) -> Result<(), LimitReached> {
        let space = self.names.space_number(area.name.as_bytes())?;
        self.areas.retain(|(known, _)| !known.is_swap || known.name != area.name);
        self.areas.insert(0, (area, space));
        Ok(())
    }

    /// Marks `process` as the recorded command.
    pub(super) fn is_command(&mut self, process: u32, has_own_group: bool) {
        self.tasks.is_command(process, has_own_group);
    }

    /// Whether there is a recorded command.
    pub(super) fn has_command(&self) -> bool {
        self.tasks.has_command()
    }

    /// Takes an event at time `at` in thread `current`.
    pub(super) fn take(
        &mut self,
        at: Timestamp,
        current: ThreadId,
        event: &StorageEvent,
    ) -> Result<(), LimitReached> {
        match event {
            StorageEvent::Request(request) => self.request(at, current, request),
            StorageEvent::Cached(pages) => {
                self.counts.file_page_ins += self.file(at, current, pages, Operation::PageIn)?;
                Ok(())
            }
            StorageEvent::Uncached(pages) => {
                self.counts.file_drops += self.file(at, current, pages, Operation::CleanDrop)?;
                Ok(())
            }
            // Not asked for: `pswpout` and `swpout_zero` of /proc/vmstat say the same together.
            StorageEvent::Reclaimed { .. }
            | StorageEvent::Touched(_)
            | StorageEvent::Queued(_)
            | StorageEvent::Issued(_)
            | StorageEvent::Completed(_) => Ok(()),
            StorageEvent::Started { thread, same_process } => {
                self.tasks.started(current, *thread, *same_process);
                if !same_process && self.launches.is_pending() {
                    self.launches.started(self.tasks.process(current), thread.0);
                }
                Ok(())
            }
            StorageEvent::Executed { process, program, .. } => {
                self.executed(at, *process, *program)
            }
            StorageEvent::Ended { thread, last } => {
                // Processes without events in this trace are ignored.
                let Some(who) = self.tasks.ended(*thread, *last) else { return Ok(()) };
                let number = self.names.process(who).pid;
                let was_launched = number.is_some_and(|number| self.launches.ended(number));
                let has_paged = number.is_some_and(|number| self.paged.remove(&number));
                if was_launched || has_paged {
                    self.counts.exits += 1;
                    self.note(at, who, Operation::Exit);
                }
                Ok(())
            }
        }
    }

    /// The events that can be written at `now`.
    pub(super) fn settled(&mut self, now: Timestamp) -> std::vec::Drain<'_, Event> {
        let done = self.launches.settle(now, self.events.len());
        self.events.drain(..done)
    }

    fn executed(
        &mut self,
        at: Timestamp,
        process: ThreadId,
        program: Comm,
    ) -> Result<(), LimitReached> {
        self.tasks.executed(process, program);
        let index = self.events.len();
        match self.launches.executed(at, process.0, program, index, self.leads) {
            Execution::Launch => {
                self.counts.launches += 1;
                self.tasks.launched(process.0, self.counts.launches as u32);
                let who = self.tasks.who(process, b"", &mut self.names)?;
                self.note(at, who, Operation::Launch);
            }
            Execution::Becomes(index) => {
                let who = self.tasks.who(process, b"", &mut self.names)?;
                if let Some(mark) = self.events.get_mut(index) {
                    mark.who = who;
                }
            }
            Execution::Other => {}
        }
        Ok(())
    }

    fn request(
        &mut self,
        at: Timestamp,
        current: ThreadId,
        request: &BlockRequest,
    ) -> Result<(), LimitReached> {
        let (sector, sectors) = (request.sector, u64::from(request.sectors));
        let in_area = |(area, space): &(Area, Space)| {
            Some((area.pages(request.device, sector, sectors)?, area.is_swap, *space))
        };
        // Swap areas come first: a swap area on a recorded device is still swap.
        let Some((pages, is_swap, space)) = self.areas.iter().find_map(in_area) else {
            return Ok(());
        };
        let Some(is_write) = is_write(request.letters.as_bytes()) else {
            self.counts.no_transfers += u64::from(is_swap);
            return Ok(());
        };
        let who = self.tasks.who(current, request.comm.as_bytes(), &mut self.names)?;
        let (operation, backing) = match (is_swap, is_write) {
            (true, false) => (Operation::PageIn, Backing::Anonymous),
            (true, true) => (Operation::PageOut, Backing::Anonymous),
            (false, false) => (Operation::Read, Backing::Unknown),
            (false, true) => (Operation::Write, Backing::Unknown),
        };
        let count = pages.end() - pages.start() + 1;
        if is_swap {
            self.counts.moved(who, is_write, count);
            self.paged.extend(self.names.process(who).pid);
        } else {
            self.counts.others += 1;
        }
        let at = self.since_origin(at);
        self.events.extend(pages.map(|page| Event { at, page, who, space, operation, backing }));
        Ok(())
    }

    /// Adds page-cache events. Returns the number of pages of 4 KiB.
    fn file(
        &mut self,
        at: Timestamp,
        current: ThreadId,
        pages: &FilePages,
        operation: Operation,
    ) -> Result<u64, LimitReached> {
        let who = self.tasks.who(current, b"", &mut self.names)?;
        if self.names.process(who).pid == Some(self.own) {
            return Ok(0);
        }
        let name = format!("inode {:x} on {}", pages.inode, pages.device);
        let count = self.per_page << pages.order.min(LARGEST_ORDER);
        let Ok(space) = self.names.space_number(name.as_bytes()) else {
            // Too many files; the rest of the trace is still good.
            self.counts.files_left_out += count;
            return Ok(0);
        };
        let at = self.since_origin(at);
        let first = pages.first.saturating_mul(self.per_page);
        self.events.extend((first..first.saturating_add(count)).map(|page| Event {
            at,
            page,
            who,
            space,
            operation,
            backing: Backing::File,
        }));
        Ok(count)
    }

    /// Adds an event of a process rather than of a page.
    fn note(&mut self, at: Timestamp, who: ProcessIndex, operation: Operation) {
        let at = self.since_origin(at);
        let (space, backing) = (Space::NONE, Backing::Unknown);
        self.events.push(Event { at, page: 0, who, space, operation, backing });
    }

    fn since_origin(&mut self, at: Timestamp) -> Nanos {
        at.since(*self.origin.get_or_insert(at))
    }
}

/// Whether a request writes, from the letters of the kernel's `blk_fill_rwbs`; `None` if it
/// neither reads nor writes.
fn is_write(letters: &[u8]) -> Option<bool> {
    // A flush before a write comes first.
    match letters.strip_prefix(b"F").unwrap_or(letters) {
        [b'R', ..] => Some(false),
        [b'W', ..] => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use unjank_host::Root;
    use unjank_host::block_device::DeviceNumber;
    use unjank_host::tracefs::Name;

    use super::*;
    use unjank_host::extents::Extent;
    use unjank_host::swap_area::{of_file, whole};

    const DISK: DeviceNumber = DeviceNumber::new(254, 0);

    fn converter() -> (tempfile::TempDir, Converter) {
        let top = tempfile::tempdir().unwrap();
        let extents = [Extent { logical: 0, physical: 40_960, length: 81_920 }];
        let areas = vec![
            Area::new("/swap".to_owned(), DISK, true, of_file(&extents, 0, 4096)),
            Area::new("vda".to_owned(), DISK, false, whole(0, 1 << 20)),
        ];
        let tasks = Tasks::new(&Root::at(top.path()));
        let leads = |process| process == 7;
        (top, Converter::new(areas, tasks, 4096, 99, leads).unwrap())
    }

    fn request(sector: u64, sectors: u32, letters: &str) -> StorageEvent {
        StorageEvent::Request(BlockRequest {
            device: DISK,
            sector,
            sectors,
            letters: Name::new(letters.as_bytes()),
            comm: Comm::from("app"),
        })
    }

    fn converted(
        converter: &mut Converter,
        at: u64,
        event: &StorageEvent,
    ) -> Vec<(u64, u64, Operation, String)> {
        let before = converter.events.len();
        converter.take(Timestamp::from_nanos(at), ThreadId(7), event).unwrap();
        let parts = |event: &Event| {
            let space = converter.names.space(event.space).to_owned();
            (event.at.get(), event.page, event.operation, space)
        };
        converter.events[before..].iter().map(parts).collect()
    }

    #[test]
    fn requests_to_the_swap_file_are_paging_and_others_are_not() {
        let (_top, mut converter) = converter();
        let swap = |at, page, operation| (at, page, operation, "/swap".to_owned());
        let out = converted(&mut converter, 1000, &request(96, 16, "W"));
        assert_eq!(out, [swap(0, 2, Operation::PageOut), swap(0, 3, Operation::PageOut)]);
        let back = converted(&mut converter, 1500, &request(104, 8, "R"));
        assert_eq!(back, [swap(500, 3, Operation::PageIn)]);
        let other = converted(&mut converter, 1600, &request(240, 8, "RA"));
        assert_eq!(other, [(600, 30, Operation::Read, "vda".to_owned())]);
        assert!(converted(&mut converter, 1700, &request(96, 8, "D")).is_empty());
        let who = converter.counts.by_process.keys().copied().next().unwrap();
        let expected = Counts {
            requests_in: 1,
            requests_out: 1,
            page_ins: 1,
            page_outs: 2,
            others: 1,
            no_transfers: 1,
            by_process: HashMap::from([(who, [1, 2])]),
            ..Counts::default()
        };
        assert_eq!(converter.counts, expected);
    }

    #[test]
    fn a_program_that_leads_a_group_is_launched_and_exits() {
        let (_top, mut converter) = converter();
        let program = Comm::from("game");
        for (process, launches) in [(7, 1), (8, 0)] {
            let event = StorageEvent::Executed {
                process: ThreadId(process),
                before: ThreadId(process),
                program,
            };
            assert_eq!(converted(&mut converter, 5, &event).len(), launches, "{process}");
        }
        let program = "real".into();
        let (process, before) = (ThreadId(7), ThreadId(7));
        let again = StorageEvent::Executed { process, before, program };
        assert!(converted(&mut converter, 6, &again).is_empty(), "a wrapper");
        let who = converter.events[0].who;
        assert_eq!(converter.names.process(who).name, "real");
        assert_eq!(
            converter.settled(Timestamp::from_nanos(7)).count(),
            0,
            "its program may still change"
        );
        let ended = |thread, last| StorageEvent::Ended { thread: ThreadId(thread), last };
        assert_eq!(converted(&mut converter, 9, &ended(7, Some(true)))[0].2, Operation::Exit);
        assert!(
            converted(&mut converter, 9, &ended(300, Some(true))).is_empty(),
            "an unknown process"
        );
        assert!(converted(&mut converter, 9, &ended(8, Some(true))).is_empty(), "it did nothing");
        assert_eq!((converter.counts.launches, converter.counts.exits), (1, 1));
        assert_eq!(converter.settled(Timestamp::from_nanos(10)).count(), 2);
    }

    #[test]
    fn a_large_folio_makes_an_event_for_each_page() {
        let (_top, mut converter) = converter();
        let pages = FilePages { device: DISK, inode: 0x1a, first: 4, order: 2 };
        let events = converted(&mut converter, 0, &StorageEvent::Cached(pages));
        let numbers: Vec<u64> = events.iter().map(|event| event.1).collect();
        assert_eq!(numbers, [4, 5, 6, 7]);
        assert_eq!((events[0].2, events[0].3.as_str()), (Operation::PageIn, "inode 1a on 254,0"));
        assert_eq!(converted(&mut converter, 0, &StorageEvent::Uncached(pages)).len(), 4);
        assert_eq!((converter.counts.file_page_ins, converter.counts.file_drops), (4, 4));
    }

    #[test]
    fn requests_are_classified_by_their_letters() {
        for (letters, expected) in [
            ("R", Some(false)),
            ("RA", Some(false)),
            ("WS", Some(true)),
            ("FWFS", Some(true)),
            ("FF", None),
            ("D", None),
            ("N", None),
            ("", None),
        ] {
            assert_eq!(is_write(letters.as_bytes()), expected, "{letters}");
        }
    }
}
