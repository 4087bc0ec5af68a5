//! What each thread did when, and what ended each of its waits: one pass over
//! the events of a trace.

mod builder;
mod gaps;
mod interrupts;
mod life;
mod machine;
mod order;
mod origin;
mod packets;
mod requests;
mod thread;
mod timers;
mod wait;
mod work;

pub use life::{Birth, Life, Span, State};
pub use machine::History;
pub use origin::{Armed, Cause, Origin, RequestId};
pub use requests::Request;
pub use wait::{Asleep, Carrier, Wait, Wake};
pub use work::{Queued, WorkItem};

#[cfg(test)]
mod tests;
