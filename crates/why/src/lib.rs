//! Explains one launch: every nanosecond of its wall time gets exactly one cause.
//!
//! ```text
//! trace ─► history ─► path ─► split        what the time was spent on
//!             └──────────────► what_if     what a remedy would save
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`live`] | launches and running programs of this machine, explained |
//! | [`record`] | two private traces of a machine and of the explained program |
//! | [`android`] | launches and frames of Android apps in a recording |
//! | [`choose`] | the thread and the window of a recording in a file |
//! | [`history`] | what each thread did when, who woke it, which requests a device served |
//! | [`path`] | the critical path: backwards from the end of the window through the wakers |
//! | [`split`] | the path's time by cause |
//! | [`what_if`] | replays of the history with changed lengths, and the predicted end |
//! | [`foreign_calls`] | system calls of machines with another architecture |
//! | [`late`] | the threads that were late in a recording for which nobody has named a thread |
//! | [`report`] | findings about launches: verdict, tables and facts |
//! | [`export`] | a launch in formats of other tools |
//! | [`unrecorded`] | findings from the kernel's counters, without a recording |
//! | [`cost`] | the cost of recording, measured in pairs of launches |

pub mod android;
pub mod choose;
pub mod cost;
mod exec;
pub mod export;
pub mod foreign_calls;
pub mod history;
pub mod late;
pub mod live;
pub mod path;
pub mod record;
pub mod report;
pub mod split;
pub mod unrecorded;
pub mod what_if;
