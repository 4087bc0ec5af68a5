//! What the programs of a trace did, ready to be simulated: four bytes an
//! access, and some for each page.
//!
//! | module | subject |
//! |---|---|
//! | `builder` | from the events of a trace |
//! | `marks` | launches of apps |
//! | `owned` | which anonymous pages each process or app has |
//! | `pages` | what is known of each page |
//! | `steps` | accesses, launches and exits in their order |
//! | `times` | when what happened |

mod builder;
pub(in crate::model) mod marks;
mod owned;
mod pages;
pub(in crate::model) mod steps;
mod times;

pub use builder::{Builder, Refused};
pub use owned::Owned;
pub use pages::Pages;
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
    /// Launches of apps.
    pub launches: Vec<Launch>,
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

/// A launch: the accesses from its mark to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Index of the app.
    pub app: usize,
    /// Which launch of this app it is, from 0.
    pub round: usize,
    /// The first access.
    pub begin: usize,
    /// The access after the last one.
    pub end: usize,
}

impl Workload {
    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.accesses) + self.times.bytes() + self.pages.bytes()
    }
}
