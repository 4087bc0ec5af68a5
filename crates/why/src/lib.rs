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
//! | [`choose`] | the thread and the window of a recording in a file |
//! | [`history`] | what each thread did when, who woke it, which requests a device served |
//! | [`path`] | the critical path: backwards from the end of the window through the wakers |
//! | [`split`] | the path's time by cause |
//! | [`what_if`] | the same history with other lengths, and when it would have ended |
//! | [`report`] | what a command says of launches |
//! | [`export`] | a launch in formats of other tools |
//! | [`unrecorded`] | what is known without a recording |
//! | [`cost`] | what recording costs |

pub mod choose;
pub mod cost;
pub mod export;
pub mod history;
pub mod live;
pub mod path;
pub mod record;
pub mod report;
pub mod split;
pub mod unrecorded;
pub mod what_if;
