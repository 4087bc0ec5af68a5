//! The keeper: a process that puts everything back if its owner is killed.
//!
//! It is a second process of the same program ([`keep`]), which its owner
//! starts before it changes anything. The two talk over a socket that is the
//! keeper's standard input:
//!
//! | owner | keeper |
//! |---|---|
//! | starts it and sends the order: what to see to | |
//! | | `up`: in a session of its own, deaf to Ctrl-C, order understood |
//!
//! What follows depends on the order. For the journal of a session:
//!
//! | owner | keeper |
//! |---|---|
//! | makes and locks the journal, sends `watch` | |
//! | | `ready`, then waits for the lock of the journal |
//! | changes knobs, puts them back, removes the journal, ends | |
//! | | gets the lock, finds nothing, ends |
//!
//! For threads and for a trace instance it waits for the end of the socket,
//! which the kernel closes with its owner, and looks at what is left then.
//!
//! If the owner dies at any place in these tables, the socket closes or the
//! lock comes free, and the keeper looks for what there is. There is no moment
//! with a change and without somebody to see to it.
//!
//! | file | subject |
//! |---|---|
//! | `owner` | starting a keeper, and its end |
//! | `order` | what it is told |
//! | `work` | being one |

mod order;
mod owner;
mod work;

pub(crate) use order::Order;
#[cfg(fuzzing)]
pub use order::read_order_for_fuzzing;
pub(crate) use owner::Keeper;
pub use owner::KeeperCommand;
pub use work::{KeeperReport, keep};

/// The longest order or answer.
const LONGEST_LINE: u64 = 64 << 10;
