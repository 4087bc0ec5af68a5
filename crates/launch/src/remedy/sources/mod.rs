//! Where launches are seen: programs that begin to run, processes that Android
//! brings to the front, and what its log says.

mod front;
mod logcat;

pub use front::Front;
pub use logcat::{LogEvent, LogLines};
