//! The delay of inter-process calls: a thread waits for the answer of another
//! process.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | request/reply round trips between two processes |
//! | [`transport`] | the transports, client and server side |
//! | [`throughput`] | calls back to back, over payload sizes |
//! | [`latency`] | pairs of processes at real-time and ordinary priority |
//! | [`inversion`] | the cost of priority inversion for a real-time call |
//! | [`mod@bench`] | calls compared with those of other tools |
//! | [`trace`] | calls over binder in a recording |
//! | [`paper`] | the figures of AOSP's tests beside ours |
//! | [`explain`] | verdicts, and the cause of one slow call |

pub mod bench;
pub mod explain;
pub mod inversion;
pub mod latency;
pub mod paper;
pub mod probe;
mod starts;
pub mod throughput;
pub mod trace;
pub mod transport;
mod watch;

pub use probe::{Options, Placement, run};
pub use transport::{Role, Transport, run_peer};
