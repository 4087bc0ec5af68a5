//! Threads of other processes whose policy was changed, written down before,
//! so that it can be put back whenever that is wanted.
//!
//! Unlike a knob ([`crate::journal`]), a thread may keep its new policy after
//! the unjank that gave it has ended. So each [`Ledger`] is a file that stays:
//! it is *kept* when its session ended as it should, *tied* ones end with their
//! session, and what a session left that was cut off is *cut off*. A lock tells
//! whether the session lives. What is done about a change is the rule of
//! [`crate::journal::decide`]. A boot ends all threads, so nothing has to be
//! on the disk before a change, only out of this process.
//!
//! ```text
//! unjank.threads/2, JSON lines, each in {"crc32":"…","line":…}
//! {"schema":"unjank.threads/2","process":77,"owner":80,"tied":false,"boot_id":"b6…","started_at":"2026-…"}
//! {"limit":{"process":77,"began":900,"before":{"soft":null,"hard":null},"during":{"soft":1000000000,"hard":null}}}
//! {"intent":{"process":77,"thread":79,"began":901,"name":"meas","before":{"policy":{"other":{"nice":0}},"reset_on_fork":false,"nice":0},"wanted":{"policy":{"fifo":80},"reset_on_fork":true,"nice":0}}}
//! {"settled":{"thread":79}}
//! {"restored":{"thread":79}}
//! "kept"
//! ```
//!
//! `unjank.threads/1`, without checksums and `kept`, is read as well.
//!
//! | file | subject |
//! |---|---|
//! | `entry`, `contents` | what is written and what follows from it: pure |
//! | `scheduler` | the kernel, or what stands for it in a test |
//! | `file` | one ledger's file and its lock |
//! | `ledger` | a session that changes threads |
//! | `undo` | doing what the rule says |
//! | `restore` | putting back what sessions have left |

mod contents;
mod entry;
mod file;
mod ledger;
mod restore;
mod scheduler;
#[cfg(test)]
mod tests;
mod undo;

pub use entry::{Entry, Header, Intent, SCHEMA, ThreadState};
pub use ledger::Ledger;
pub(crate) use restore::wait_and_restore;
pub use restore::{FoundLedger, LedgerStatus, Selection, restore};
pub use scheduler::{Kernel, Scheduler};
pub use undo::ThreadReport;

/// Reads `bytes` as a ledger; for the fuzzer.
#[cfg(fuzzing)]
pub fn parse_for_fuzzing(bytes: &[u8]) {
    let _either = contents::Contents::parse(std::path::Path::new("fuzzed"), bytes);
}
