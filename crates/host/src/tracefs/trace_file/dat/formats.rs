//! The layout of pages and records in a `trace.dat`.

use super::super::super::decode::Decoder;
use super::super::super::format::Format;
use super::super::super::page::Layout;
use super::super::fault::Fault;
use super::bytes::Cursor;
use crate::input::Stop;

/// The largest number of events that are decoded; unjank knows about fifty.
const MOST_KNOWN: usize = 256;
/// The kernel's two events for a new thread. Only the first one distinguishes
/// threads from processes, but `trace-cmd record -e sched` does not record it.
const NEW_TASK: (&str, &str) = ("task", "task_newtask");
const FORK: (&str, &str) = ("sched", "sched_process_fork");

/// The layouts of the events that are decoded.
#[derive(Debug, Default)]
pub(super) struct Formats {
    known: Vec<(String, Format)>,
}

/// Reads the layout of a page.
pub(super) fn layout(cursor: &mut Cursor<'_>) -> Result<Layout, Fault> {
    cursor.expect(b"header_page\0", "the layout of a page")?;
    let size = cursor.u64("size of the layout")?;
    let at = cursor.place();
    let text = String::from_utf8_lossy(cursor.bytes(size, "the layout")?);
    let layout = Layout::parse(&text)
        .map_err(|why| Fault::at_byte(at, format!("the layout of a page is malformed: {why}")))?;
    cursor.expect(b"header_event\0", "the layout of a record")?;
    let size = cursor.u64("size of the layout of a record")?;
    cursor.bytes(size, "the layout of a record")?;
    Ok(layout)
}

impl Formats {
    /// Reads the events of the tracer itself.
    pub(super) fn read_ftrace(
        &mut self,
        cursor: &mut Cursor<'_>,
        stop: &Stop,
    ) -> Result<(), Fault> {
        let number = cursor.u32("number of ftrace events")?;
        (0..number).try_for_each(|_| self.read_one("ftrace", cursor, stop))
    }

    /// Reads the events of all systems.
    pub(super) fn read_systems(
        &mut self,
        cursor: &mut Cursor<'_>,
        stop: &Stop,
    ) -> Result<(), Fault> {
        for _ in 0..cursor.u32("number of event systems")? {
            let system = cursor.text("name of an event system")?;
            for _ in 0..cursor.u32("number of events")? {
                self.read_one(&system, cursor, stop)?;
            }
        }
        Ok(())
    }

    fn read_one(
        &mut self,
        system: &str,
        cursor: &mut Cursor<'_>,
        stop: &Stop,
    ) -> Result<(), Fault> {
        if stop.is_requested() {
            return Err(Fault::stopped());
        }
        let size = cursor.u64("size of an event's layout")?;
        let text = cursor.bytes(size, "an event's layout")?;
        // An event whose layout cannot be parsed is skipped.
        let Ok(format) = Format::parse(&String::from_utf8_lossy(text)) else { return Ok(()) };
        let is_new = || !self.has((system, &format.name));
        let is_known = || Decoder::default().learn(system, &format).is_ok();
        if self.known.len() < MOST_KNOWN && is_new() && is_known() {
            self.known.push((system.to_owned(), format));
        }
        Ok(())
    }

    /// A decoder for the known events. Of the two events for new threads, it
    /// decodes only the one that `births` names.
    pub(super) fn decoder(&self, births: Births) -> Decoder {
        let left_out = match births {
            Births::NewTask => FORK,
            Births::Fork => NEW_TASK,
        };
        let mut decoder = Decoder::default();
        for (system, format) in &self.known {
            if (system.as_str(), format.name.as_str()) != left_out {
                // `read_one` has learned it before, so this succeeds.
                let _known = decoder.learn(system, format);
            }
        }
        decoder
    }

    /// Whether the file describes this event.
    fn has(&self, (system, name): (&str, &str)) -> bool {
        self.known.iter().any(|(of, it)| of == system && it.name == name)
    }

    /// `task_newtask` if the file describes it, otherwise `sched_process_fork`.
    pub(super) fn births(&self) -> Births {
        if self.has(NEW_TASK) { Births::NewTask } else { Births::Fork }
    }

    /// Whether the file describes `sched_switch`, without which nothing can be
    /// explained.
    pub(super) fn has_switches(&self) -> bool {
        self.has(("sched", "sched_switch"))
    }
}

/// The event from which new threads are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Births {
    NewTask,
    Fork,
}
