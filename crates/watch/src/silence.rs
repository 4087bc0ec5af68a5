//! Servers that must read their sockets: `Xorg=2s`. Once a second, the kernel lists the Unix sockets
//! with something unread ([`unjank_host::unread_sockets`]).

use std::collections::{BTreeMap, BTreeSet};

use unjank_host::process::pid;
use unjank_host::unread_sockets::{UnreadSocket, unread_sockets};
use unjank_host::{Nanos, Result, Root, Timestamp};

use crate::rule::Rule;

/// The interval between two searches for servers, which read all of `/proc`.
const SEARCH: Nanos = Nanos::from_millis(10_000);
/// The most servers that are watched.
const MOST: usize = 100;
/// A busy server has something unread at most polls, but not all the time. So a socket is read this
/// often again, at this interval, before its server counts as silent.
const CHECKS: (u32, Nanos) = (5, Nanos::from_millis(20));

/// A server that did not read a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilentServer {
    /// The process.
    pub process: u32,
    /// When something unread was first seen.
    pub since: Timestamp,
}

/// Watches the sockets of servers that have a rule.
#[derive(Debug)]
pub struct Silence {
    root: Root,
    rules: Vec<Rule>,
    /// Each with its limit.
    servers: BTreeMap<u32, Nanos>,
    search_at: Timestamp,
    queues: Queues,
}

impl Silence {
    /// Watches servers by rules; the first rule that the name of a process matches counts.
    pub fn new(root: &Root, rules: Vec<Rule>) -> Self {
        let (servers, search_at) = (BTreeMap::new(), Timestamp::default());
        Self { root: root.clone(), rules, servers, search_at, queues: Queues::default() }
    }

    /// Whether there are rules, so that polling is needed.
    pub fn is_needed(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Watches no server any more.
    pub fn stop(&mut self) {
        self.rules.clear();
        self.servers.clear();
    }

    /// The number of watched servers.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether no server is watched.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// A server that has not read a socket for longer than its limit. It is reported once, and again
    /// only after it has read.
    ///
    /// # Errors
    /// The kernel does not list sockets.
    pub fn poll(&mut self, now: Timestamp) -> Result<Option<SilentServer>> {
        if self.rules.is_empty() {
            return Ok(None);
        }
        if now >= self.search_at {
            self.search();
            self.search_at = now + SEARCH;
        }
        let Some(&shortest) = self.servers.values().min() else { return Ok(None) };
        self.queues.see(&unread_sockets()?, now);
        let due = self.queues.unread_for(shortest, now);
        if due.is_empty() {
            return Ok(None);
        }
        for (&process, &limit) in &self.servers {
            let own = pid::sockets(&self.root, process);
            let silent =
                due.iter().find(|(inode, since)| own.contains(inode) && now.since(*since) >= limit);
            if let Some(&(inode, since)) = silent
                && stays_unread(inode)?
            {
                self.queues.reported(inode);
                return Ok(Some(SilentServer { process, since }));
            }
        }
        Ok(None)
    }

    /// Looks for servers that have a rule.
    fn search(&mut self) {
        let limit = |name: &str| {
            let rule = self.rules.iter().find(|rule| rule.applies_to(name));
            rule.map(|rule| rule.limit)
        };
        let servers = pid::named(&self.root, |name| limit(name).is_some());
        let servers = servers.into_iter().take(MOST);
        self.servers =
            servers.filter_map(|(process, name)| Some((process, limit(&name)?))).collect();
    }
}

/// Whether a socket has something unread for some moments without a break.
fn stays_unread(inode: u64) -> Result<bool> {
    let (checks, apart) = CHECKS;
    for _ in 0..checks {
        (Timestamp::now() + apart).sleep_until();
        if !unread_sockets()?.iter().any(|socket| socket.inode == inode) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The sockets with something unread at the last look.
#[derive(Debug, Default)]
struct Queues(BTreeMap<u64, Queue>);

/// The unread bytes of a socket.
#[derive(Debug, Clone, Copy)]
struct Queue {
    unread: u32,
    since: Timestamp,
    is_reported: bool,
}

impl Queues {
    /// Adds a poll. A socket with fewer unread bytes than before has been read.
    fn see(&mut self, sockets: &[UnreadSocket], now: Timestamp) {
        let inodes: BTreeSet<u64> = sockets.iter().map(|socket| socket.inode).collect();
        self.0.retain(|inode, _| inodes.contains(inode));
        for &UnreadSocket { inode, unread } in sockets {
            let new = Queue { unread, since: now, is_reported: false };
            let queue = self.0.entry(inode).or_insert(new);
            if unread < queue.unread {
                *queue = new;
            }
            queue.unread = unread;
        }
    }

    /// The sockets that have not been read for a time, with the beginning of it.
    fn unread_for(&self, time: Nanos, now: Timestamp) -> Vec<(u64, Timestamp)> {
        let due = self.0.iter().filter(|(_, it)| !it.is_reported && now.since(it.since) >= time);
        due.map(|(&inode, queue)| (inode, queue.since)).collect()
    }

    fn reported(&mut self, inode: u64) {
        if let Some(queue) = self.0.get_mut(&inode) {
            queue.is_reported = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    fn socket(inode: u64, unread: u32) -> UnreadSocket {
        UnreadSocket { inode, unread }
    }

    #[test]
    fn a_socket_counts_until_it_is_read_and_is_reported_once() {
        let mut queues = Queues::default();
        let second = Nanos::from_millis(1_000);
        queues.see(&[socket(1, 10), socket(2, 10)], at(1));
        assert_eq!(queues.unread_for(second, at(1)), []);
        // The first one has been read in part, more has come to the second.
        queues.see(&[socket(1, 8), socket(2, 12)], at(2));
        assert_eq!(queues.unread_for(second, at(2)), [(2, at(1))]);
        queues.reported(2);
        queues.see(&[socket(2, 12)], at(3));
        assert_eq!(queues.unread_for(second, at(3)), []);
        queues.see(&[], at(4));
        queues.see(&[socket(2, 12)], at(5));
        queues.see(&[socket(2, 12)], at(6));
        assert_eq!(queues.unread_for(second, at(6)), [(2, at(5))], "read in between");
    }
}
