//! The delay of swapped-out pages: what the app needs is not in memory.
//!
//! | module | subject |
//! |---|---|
//! | [`analyze`] | what a trace says: skew, reuse, thrashing, who made it |
//! | [`probe`] | what it costs to bring a page back |
//! | [`explain`] | from page-in costs to a verdict |
//! | [`mrc`] | misses over the size of the cache, of a trace under any policy |
//! | `launches` | which events are part of which launch |
//! | [`paper`] | the figures of Bahn & Kim on synthetic phones |
//! | [`record`] | what is paged in and out on this machine, as a trace |
//! | [`simulate`] | a trace on a model |
//! | [`sweep`] | many policies and sizes on a model |
//! | [`synth`] | traces of phones that do not exist |
//! | [`trace`] | traces of storage and swap, from any of the usual formats |
//! | [`workload`] | from traces to what a model of [`unjank_cachesim`] takes |

pub mod analyze;
pub mod explain;
mod launches;
pub mod mrc;
pub mod paper;
pub mod probe;
pub mod record;
pub mod simulate;
pub mod sweep;
pub mod synth;
pub mod trace;
pub mod workload;

pub use probe::{Options, Pages, run};
