//! The delay of inter-process calls: the answer comes from another process.
//!
//! | module | subject |
//! |---|---|
//! | [`probe`] | request/reply round trips between two processes |
//! | [`transport`] | the ways a call can take, from both ends |
//! | [`explain`] | from round trips to a verdict |

pub mod explain;
pub mod probe;
pub mod transport;

pub use probe::{Options, Placement, run};
pub use transport::{Peer, PeerCommand, Transport, serve};
