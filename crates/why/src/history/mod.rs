//! The history of a recording: the states of each thread over time, and what ended each wait. It is
//! built in one pass over the events.

mod builder;
mod by_id;
mod gaps;
mod interrupt_names;
mod interrupts;
mod life;
mod machine;
mod messages;
mod origin;
mod packets;
mod requests;
mod span;
mod spans;
mod thread;
mod timers;
mod wait;
mod work;

pub(crate) use by_id::ById;
pub use life::{Birth, Life, Place, Read};
pub use machine::History;
pub use origin::{Armed, Cause, InterruptId, Origin, RequestId};
pub use requests::Request;
pub use span::{Span, State};
pub use spans::Spans;
pub use wait::{Asleep, Carrier, Wait, Wake};
pub use work::{Queued, WorkItem};

#[cfg(test)]
mod tests;
