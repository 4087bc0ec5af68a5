//! The delay of swapped-out pages: an app waits for memory that was evicted.
//!
//! | module | subject |
//! |---|---|
//! | [`analyze`] | statistics of a trace: skew, reuse, thrashing, launches |
//! | [`bench`](mod@bench) | the experiment of Bahn & Kim with real memory |
//! | [`probe`] | the time of a page-in on this machine |
//! | [`explain`] | the verdict on page-in times |
//! | [`mrc`] | miss-ratio curves of a trace under any policy |
//! | `launches` | assigns events to launches |
//! | [`paper`] | the figures of Bahn & Kim on synthetic phones |
//! | [`policy_program`] | a replacement policy in a program of the user's own |
//! | [`record`] | records the page-ins and page-outs of this machine as a trace |
//! | [`remedy`] | a tier that keeps what comes back |
//! | [`score`](mod@score) | policies by their distance from the offline optimum |
//! | [`simulate`] | replays a trace through a model |
//! | [`stalls`] | what a shortage of memory cost in a recording of the kernel's events |
//! | [`sweep`] | replays traces through many policies and sizes |
//! | [`synth`] | traces of synthetic phones |
//! | [`trace`] | traces of storage and swap in the usual formats |
//! | [`workload`] | turns traces into workloads of [`unjank_cachesim`] |

pub mod analyze;
pub mod bench;
pub mod explain;
mod launches;
pub mod mrc;
pub mod paper;
pub mod policy_program;
pub mod probe;
pub mod record;
pub mod remedy;
pub mod score;
pub mod simulate;
pub mod stalls;
pub mod sweep;
pub mod synth;
pub mod trace;
pub mod workload;

pub use probe::{Options, Pages, run};
