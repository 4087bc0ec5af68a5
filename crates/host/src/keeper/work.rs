//! The keeper's side: waits for the end of its owner and puts the changes back.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::LONGEST_LINE;
use super::order::Order;
use crate::error::{Error, Result};
use crate::journal::state_dir::StateDir;
use crate::journal::{self, RestoreOutcome};
use crate::process;
use crate::root::Root;
use crate::thread_ledger;
use crate::tracefs;

/// The result of a keeper's work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeeperReport {
    /// The owner, if known.
    pub pid: Option<u32>,
    /// The results of putting back the owner's changes, oldest first; empty if
    /// the owner ended normally.
    pub outcomes: Vec<RestoreOutcome>,
    /// The journal or ledger that stays because something failed.
    pub left: Option<PathBuf>,
    /// Whether parts of that file are damaged.
    pub is_damaged: bool,
}

/// Makes the calling process a keeper: takes its order from `owner`, waits
/// for the owner's end, and puts back what is left. The process permanently
/// leaves its terminal and ignores the signals that ask it to end.
///
/// # Errors
/// An invalid order, or a state directory that cannot be used (both are also
/// sent to the owner). The owner's changes cannot be examined.
pub fn run(owner: OwnedFd) -> Result<KeeperReport> {
    let mut owner = BufReader::new(UnixStream::from(owner));
    process::outlive_owner(c"unjank-keeper");
    let order = match take_order(&mut owner) {
        Ok(order) => order,
        Err(error) => {
            answer(&owner, &error.to_string());
            return Err(error);
        }
    };
    answer(&owner, "up");
    if order.is_followed_by_watch() {
        // This is `watch` or the owner's end; the journal's lock decides.
        let _watch = owner.by_ref().take(LONGEST_LINE).read_line(&mut String::new());
        answer(&owner, "ready");
    } else {
        let _nothing_more = io::copy(&mut owner, &mut io::sink());
    }
    match order {
        Order::Journal { root, state_dir, journal } => {
            journal::wait_and_restore(&Root::at(root), &state_dir, &journal)
        }
        Order::Threads { state_dir, owner } => thread_ledger::wait_and_restore(&state_dir, owner),
        Order::Trace { root, instance } => {
            tracefs::remove_after_owner(&Root::at(root), &instance)?;
            Ok(KeeperReport::default())
        }
    }
}

fn take_order(owner: &mut BufReader<UnixStream>) -> Result<Order> {
    let mut order = String::new();
    let no_order = |reason: String| {
        Error::Invalid(format!("a keeper needs an order from the unjank that starts it: {reason}"))
    };
    owner.take(LONGEST_LINE).read_line(&mut order).map_err(|e| no_order(e.to_string()))?;
    let order: Order = serde_json::from_str(&order).map_err(|e| no_order(e.to_string()))?;
    if !order.is_sound() {
        return Err(no_order("its file name leads out of its directory".to_owned()));
    }
    if let Order::Journal { state_dir, .. } | Order::Threads { state_dir, .. } = &order
        && StateDir::open_if_there(state_dir)?.is_none()
    {
        return Err(no_order(format!("{} does not exist", state_dir.display())));
    }
    Ok(order)
}

fn answer(owner: &BufReader<UnixStream>, word: &str) {
    // An owner that is gone needs no answer.
    let _nobody_listens = owner.get_ref().write_all(format!("{word}\n").as_bytes());
}
