//! A recorded trace as the kernel's own pages and descriptions, to be kept in a
//! file.

use super::instance::Instance;
use super::page::Layout;
use super::raw_pages::{CutPage, RawPages};
use crate::clock::Timestamp;
use crate::error::Result;

/// The recording of an instance, as the kernel's own bytes.
#[derive(Debug, Clone)]
pub struct Capture {
    pub(super) layout: Layout,
    /// `events/header_page` and `events/header_event`.
    pub(super) headers: [String; 2],
    /// The systems and `format` files of its events.
    pub(super) formats: Vec<(String, String)>,
    /// `trace_clock`.
    pub(super) clock: String,
    /// The pages of each CPU.
    pub(super) cpus: Vec<(usize, Vec<CutPage>)>,
    /// `per_cpu/cpuN/stats` of each CPU.
    pub(super) statistics: Vec<(usize, String)>,
    /// The start and the stop of the recording.
    pub(super) recorded: (Timestamp, Timestamp),
}

impl Instance {
    /// Collects a recording for a file, after its stop. `pages` are those that
    /// [`take_pages`](Self::take_pages) took since the latest start; `events` are
    /// the events of the instance, as `system/name`.
    ///
    /// # Errors
    /// The file that could not be read.
    pub fn capture(&self, pages: &RawPages, events: &[&str]) -> Result<Capture> {
        let root = self.tracefs.root();
        let read = |name: &str| -> Result<String> {
            let own = self.dir().join(name);
            root.read(if root.exists(&own) { own } else { self.tracefs.path(name) })
        };
        let mut formats = Vec::new();
        for &event in events.iter().chain(&["ftrace/print"]) {
            // This kernel may lack the event.
            if let Some(format) = root.read_if_there(self.format_of(event))? {
                let system = event.split('/').next().unwrap_or_default();
                formats.push((system.to_owned(), format));
            }
        }
        Ok(Capture {
            layout: self.layout,
            headers: [read("events/header_page")?, read("events/header_event")?],
            formats,
            clock: read("trace_clock")?,
            cpus: pages.shared(),
            statistics: self.stats()?,
            recorded: self.recorded(),
        })
    }
}

impl Capture {
    /// The start and the stop of the recording.
    pub fn recorded(&self) -> (Timestamp, Timestamp) {
        self.recorded
    }
}
