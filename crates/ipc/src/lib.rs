//! The delay of inter-process calls: the answer comes from another process.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | request/reply round trips between two processes |
//! | [`transport`] | the ways a call can take, from both ends |
//! | [`throughput`] | calls back to back, over payload sizes |
//! | [`latency`] | pairs of processes at real-time and ordinary priority |
//! | [`inversion`] | what priority inversion costs a real-time call |
//! | [`mod@bench`] | calls against those of other tools |
//! | [`explain`] | from round trips to verdicts, from a trace to a reason |

pub mod bench;
pub mod explain;
pub mod inversion;
pub mod latency;
pub mod probe;
pub mod throughput;
pub mod transport;
mod watch;

pub use probe::{Options, Placement, run};
pub use transport::{PeerCommand, Role, Transport, play};
