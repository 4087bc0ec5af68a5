//! Threads of other processes whose policy was changed. Each change is recorded
//! before it is made, so that it can be put back later.
//!
//! Unlike a knob ([`crate::journal`]), a thread may keep its new policy after
//! the unjank that set it has ended. So each [`Ledger`] is a file that can
//! stay: it is *kept* if its session ended normally, *tied* if the changes end
//! with their session, and *cut off* if its session was killed or could not put
//! everything back. A lock shows whether the session lives.
//! [`crate::journal::decide`] is the rule for putting back a change. A boot ends
//! all threads, so an entry need not be on the disk before a change; it only has
//! to be written.
//!
//! ```text
//! unjank.threads/2, JSON lines, each in {"crc32":"…","line":…}
//! {"schema":"unjank.threads/2","process":77,"owner":80,"tied":false,"boot_id":"b6…","started_at":"2026-…"}
//! {"limit":{"process":77,"began":900,"before":{"soft":null,"hard":null},"during":{"soft":1000000000,"hard":null},"at_ns":5100}}
//! {"intent":{"process":77,"thread":79,"began":901,"name":"meas","before":{"policy":{"other":{"nice":0}},"reset_on_fork":false,"nice":0},"wanted":{"policy":{"fifo":80},"reset_on_fork":true,"nice":0},"at_ns":5200}}
//! {"settled":{"thread":79}}
//! {"restored":{"thread":79}}
//! "kept"
//! ```
//!
//! `unjank.threads/1`, without checksums and `kept`, is read as well.
//!
//! | file | subject |
//! |---|---|
//! | `entry`, `contents` | the lines, and the state that follows from them: pure |
//! | `scheduler` | the kernel's scheduler, or a test's |
//! | `file` | the file of one ledger and its lock |
//! | `ledger` | a session that changes threads |
//! | `undo` | applying the rule |
//! | `other_ledgers` | whether another session has changed a thread later |
//! | `over` | changes that are over, although their ledgers may not say so |
//! | `rehearsal` | a scheduler for a dry run, which changes nothing |
//! | `restore` | putting back the changes of ended sessions |

mod contents;
mod entry;
mod file;
mod ledger;
mod other_ledgers;
mod over;
mod rehearsal;
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
