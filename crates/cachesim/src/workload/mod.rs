//! The accesses, launches and exits of the programs of a trace: four bytes per access, and some per
//! page.
//!
//! | module | subject |
//! |---|---|
//! | `owned` | the anonymous pages of each process or app |
//! | `span` | which steps are part of a launch |
//! | `pages` | backing and owner of each page |
//! | [`steps`] | accesses, launches and exits in their order |
//! | `times` | the times of steps |

mod owned;
mod pages;
mod span;
pub mod steps;
mod times;

pub use owned::OwnedPages;
pub use pages::Pages;
pub use span::{Span, SpanCursor};
pub use times::Times;

use super::access::Access;

/// The accesses, launches and exits of the programs of a trace.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Every access, in the order of the trace.
    pub accesses: Vec<Access>,
    /// The times of the accesses.
    pub times: Times,
    /// Backing and owner of each page.
    pub pages: Pages,
    /// How many pages have an unknown backing.
    pub unknown: u64,
    /// Launches of apps.
    pub launches: Vec<Launch>,
    /// Spans of accesses that are part of launches, by index.
    pub spans: Vec<Span>,
    /// Ends of processes: the number of accesses before each, and the process.
    pub exits: Vec<(usize, Process)>,
    /// The apps that are launched.
    pub apps: Vec<App>,
}

/// The number of a process in the trace.
pub type Process = u32;

/// An app that the trace launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The app's name.
    pub name: String,
    /// The processes of that name.
    pub processes: Vec<Process>,
}

/// The mark of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Index of the app.
    pub app: usize,
    /// Number of the launch among those of its app, from 0.
    pub round: usize,
    /// The number of accesses before the mark.
    pub place: usize,
}

impl Workload {
    /// The accesses that are part of the launch with this number.
    pub fn accesses_of(&self, launch: usize) -> impl Iterator<Item = &Access> {
        let spans = self.spans.iter().filter(move |span| span.launch == launch);
        spans.flat_map(|span| &self.accesses[span.begin..span.end])
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.accesses) + self.times.bytes() + self.pages.bytes()
    }
}
