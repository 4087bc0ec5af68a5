//! The machine is borrowed: what is changed is written down before, and put
//! back whatever happens.
//!
//! A [`Session`] keeps a journal, a file in a state directory, and holds an
//! exclusive `flock(2)` on it for as long as it lives. A change is
//! *announced* in the journal, on the disk, before it is made, and *settled*
//! with what the knob reads afterwards. It is put back
//!
//! - when its guard ([`Knob`], [`Directory`], [`SwapArea`]) is dropped, or the session ends;
//! - when the process is killed: a [keeper](crate::keeper) process waits for the
//!   lock, and gets it from the kernel;
//! - when the keeper is killed too: by the next session, or [`restore`]. A
//!   journal whose lock is free is stale, and whoever gets the lock clears it.
//!
//! A knob that somebody else has changed meanwhile is left to them
//! ([`decide`] is the rule). Everything a journal can hold lies in `/proc`,
//! `/sys` or `/dev` and is gone after a boot; such a journal is only cleared.
//!
//! ```text
//! unjank.journal/2, JSON lines, each in {"crc32":"…","line":…}
//! {"schema":"unjank.journal/2","pid":77,"boot_id":"b6…","root":"/","started_at":"2026-…"}
//! {"intent":{"seq":1,"path":"/proc/sys/vm/swappiness","kind":"file","before":"60","wanted":"10"}}
//! {"settled":{"seq":1,"value":"10"}}
//! {"set":{"seq":1,"value":"20"}}          another value by the same guard
//! {"settled":{"seq":1,"value":"20"}}
//! {"restored":{"seq":1}}
//! ```
//!
//! `unjank.journal/1`, without checksums, is read as well.
//!
//! | file | subject |
//! |---|---|
//! | `session`, `guard`, `shared`, `holding`, `taken`, `step` | taking knobs and giving them back |
//! | `stale` | seeing to it when a session could not |
//! | `entry`, `ledger`, `content`, `rule`, `value` | what is written and what follows from it: pure |
//! | `undo` | doing what the rule says |
//! | `visible` | whether something is gone or only hidden |
//! | `dependants` | what the kernel forgets when a knob changes |
//! | `site`, `kernel_fs`, `knob_file`, `directory`, `swap_place` | what may be changed, and how |
//! | `state_dir`, `file` | where journals lie, and their locks |

mod content;
mod dependants;
mod directory;
mod entry;
mod file;
mod fuse;
mod guard;
mod holding;
mod kernel_fs;
mod knob_file;
mod ledger;
mod report;
mod rule;
mod session;
mod shared;
mod site;
mod stale;
pub(crate) mod state_dir;
mod step;
mod swap_place;
mod taken;
mod undo;
mod value;
pub(crate) mod visible;

#[cfg(test)]
mod tests;

pub(crate) use content::DAMAGED;
pub use content::Journal;
pub use entry::{Change, Entry, Header, LARGEST_JOURNAL, SCHEMA};
pub use guard::{Directory, Knob, SwapArea};
pub use ledger::{Held, Kind, Ledger};
pub use report::{ChangeReport, Obstacle, Outcome};
pub use rule::{Action, Seen, decide};
pub use session::Session;
pub(crate) use stale::see_to;
pub use stale::{FoundJournal, Standing, restore};
pub use undo::Mode;
