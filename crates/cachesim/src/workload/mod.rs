//! What the programs of a trace did, ready to be simulated: four bytes an
//! access, and some for each page.
//!
//! | module | subject |
//! |---|---|
//! | `owned` | which anonymous pages each process or app has |
//! | `span` | which steps are part of a launch |
//! | `pages` | what is known of each page |
//! | `steps` | accesses, launches and exits in their order |
//! | `times` | when what happened |

mod owned;
mod pages;
mod span;
pub(crate) mod steps;
mod times;

pub use owned::Owned;
pub use pages::Pages;
pub use span::{InLaunches, Span};
pub use times::Times;

use super::access::Access;

/// What the programs of a trace did.
#[derive(Debug, Clone)]
pub struct Workload {
    /// Every access, in the order of the trace.
    pub accesses: Vec<Access>,
    /// When.
    pub times: Times,
    /// What is known of each page.
    pub pages: Pages,
    /// How many pages have a backing that the trace does not tell.
    pub unknown: u64,
    /// Launches of apps.
    pub launches: Vec<Launch>,
    /// Accesses that are part of them, by place.
    pub spans: Vec<Span>,
    /// Ends of processes: how many accesses there were before, and which.
    pub exits: Vec<(usize, Process)>,
    /// The apps that are launched.
    pub apps: Vec<App>,
}

/// A process of the trace, by its number there.
pub type Process = u32;

/// An app that the trace launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// What it is called.
    pub name: String,
    /// The processes of that name.
    pub processes: Vec<Process>,
}

/// A launch: its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Index of the app.
    pub app: usize,
    /// Which launch of this app it is, from 0.
    pub round: usize,
    /// How many accesses there were before.
    pub place: usize,
}

impl Workload {
    /// The accesses of the launch of this number.
    pub fn accesses_of(&self, launch: usize) -> impl Iterator<Item = &Access> {
        let spans = self.spans.iter().filter(move |span| span.launch == launch);
        spans.flat_map(|span| &self.accesses[span.begin..span.end])
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.accesses) + self.times.bytes() + self.pages.bytes()
    }
}
