//! The keeper: a process that puts everything back if its owner is killed.
//!
//! It is a second process of the same program ([`run`]), which its owner
//! starts before it changes anything. They communicate over a socket that is
//! the keeper's standard input:
//!
//! | owner | keeper |
//! |---|---|
//! | starts it and sends the order: what to put back | |
//! | | `up`: in its own session, ignoring Ctrl-C, order accepted |
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
//! which the kernel closes with its owner, and then puts back what is left.
//!
//! If the owner dies at any place in these tables, the socket closes or the
//! lock becomes free, and the keeper puts back what it finds. So at no moment
//! is there a change without a process that puts it back.
//!
//! | file | subject |
//! |---|---|
//! | `owner` | the owner's side: starting a keeper, and waiting for its end |
//! | `order` | the order that a keeper gets |
//! | `work` | the keeper's side |

mod order;
mod owner;
mod work;

pub(crate) use order::Order;
#[cfg(fuzzing)]
pub use order::read_order_for_fuzzing;
pub(crate) use owner::Keeper;
pub use work::{KeeperReport, run};

/// The longest order or answer in bytes.
const LONGEST_LINE: u64 = 64 << 10;
