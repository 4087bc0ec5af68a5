//! Sources of launches on Android: foreground processes and the event log.

mod foreground;
mod logcat;

pub use foreground::Foreground;
pub use logcat::{LogEvent, LogLines};
