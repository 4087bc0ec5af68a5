//! Temporary changes of the machine: recorded before they are made, and put
//! back in any case.
//!
//! A [`Session`] keeps a journal, a file in a state directory, and holds an
//! exclusive `flock(2)` on it for as long as it lives. A change is
//! *announced* in the journal, on the disk, before it is made, and *settled*
//! afterwards with the value that the knob reads. It is put back
//!
//! - when its guard ([`Knob`], [`Directory`], [`SwapArea`], [`Zram`]) is dropped, or the session
//!   ends;
//! - when the process is killed: a [keeper](crate::keeper) process waits for the
//!   lock, which the kernel releases;
//! - when the keeper is killed too: by the next session, or [`restore`]. A
//!   journal whose lock is free is stale; the process that gets the lock clears
//!   it.
//!
//! A session can end and leave its changes in place ([`Session::keep`]) until the
//! command that made them takes them back ([`undo_kept`]).
//!
//! A knob that another program has changed meanwhile is left alone
//! ([`decide`] is the rule). Everything a journal can hold lies in `/proc`,
//! `/sys` or `/dev` and is reset by a boot; after one the journal is only
//! removed.
//!
//! ```text
//! unjank.journal/2, JSON lines, each in {"crc32":"…","line":…}
//! {"schema":"unjank.journal/2","pid":77,"boot_id":"b6…","root":"/","started_at":"2026-…"}
//! {"intent":{"seq":1,"path":"/proc/sys/vm/swappiness","kind":"file","before":"60","wanted":"10"}}
//! {"settled":{"seq":1,"value":"10"}}
//! {"set":{"seq":1,"value":"20"}}          another value from the same guard
//! {"settled":{"seq":1,"value":"20"}}
//! {"restored":{"seq":1}}
//! {"kept":{"by":"swap tune"}}             the changes stay
//! ```
//!
//! `unjank.journal/1`, without checksums, is read as well.
//!
//! | file | subject |
//! |---|---|
//! | `session`, `guard`, `taken`, `pending_change` | changing knobs and putting them back |
//! | `session_state`, `shared_state` | the state of a session, shared with its guards |
//! | `stale` | journals of sessions that could not put their changes back |
//! | `kept` | changes that a command leaves in place, and takes back later |
//! | `entry`, `ledger`, `content`, `rule`, `value` | the lines, and decisions from them: pure |
//! | `undo` | applying the rule |
//! | `report` | the result of putting a change back |
//! | `visible`, `covered` | whether a file is gone or only hidden, and whether another is mounted over it |
//! | `couplings`, `dependants`, `coupled` | knobs that the kernel changes with another one: which, where, and how they are put back |
//! | `one_way` | knobs that cannot be put back: pure |
//! | `site`, `kernel_fs`, `knob_file`, `directory`, `swap_place`, `zram_place` | what may be changed, and how |
//! | `state_dir`, `file` | the directory of the journals, the files and their locks |
//! | `failpoint` | failures for tests |

mod content;
mod coupled;
mod couplings;
mod covered;
mod dependants;
mod directory;
mod entry;
mod failpoint;
mod file;
mod guard;
mod kept;
mod kernel_fs;
mod knob_file;
mod ledger;
mod one_way;
mod pending_change;
mod report;
mod rule;
mod session;
mod session_state;
mod shared_state;
mod site;
mod stale;
pub(crate) mod state_dir;
mod swap_place;
mod taken;
mod undo;
mod value;
pub(crate) mod visible;
mod zram_place;

#[cfg(test)]
mod tests;

pub(crate) use content::DAMAGED;
pub use content::Journal;
pub use entry::{Change, Entry, Header, LARGEST_JOURNAL, SCHEMA};
pub use guard::{Directory, Knob, SwapArea, Zram};
pub use kept::{kept, undo_kept};
pub use ledger::{ChangeKind, Held, Ledger};
pub use report::{ChangeReport, Obstacle, RestoreOutcome};
pub use rule::{Action, CurrentState, decide};
pub use session::Session;
pub(crate) use stale::wait_and_restore;
pub use stale::{FoundJournal, JournalStatus, restore};
pub use undo::Mode;
