//! A peer that does not answer is ended, so that the call to it returns.
//!
//! Calls block in the kernel, without a time limit that would cost them
//! something. A second thread looks once a second whether they go on. One that
//! is under way on a busy machine goes on, too: its peer or its caller waits
//! for a CPU.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use unjank_host::process::send_signal;
use unjank_host::sched::ThreadId;
use unjank_host::{Error, Result, Root, threads};
use unjank_measure::Monitor;

use crate::transport::Transport;

const LOOK: Duration = Duration::from_secs(1);
/// Looks in a row without an answer that find peer and caller asleep or
/// stopped, after which the peer counts as stopped.
const PATIENCE: u32 = 5;
/// Looks without an answer after which one that computes counts as hung.
const LONGEST: u32 = 300;
/// Looks without an answer that someone who wants to stop waits for.
const STOPPING: u32 = 2;
/// `SIGKILL` of `signal(7)`.
const KILL: i32 = 9;

/// Whether calls go on. Its atomics carry no other data, so they are relaxed.
pub(crate) struct Watch {
    peer: Option<u32>,
    answers: AtomicU64,
    gave_up: AtomicBool,
}

impl Watch {
    /// Of the process `peer`; of nobody where a process of somebody else's
    /// answers, which is not ours to end.
    pub(crate) fn new(peer: Option<u32>) -> Self {
        Self { peer, answers: AtomicU64::new(0), gave_up: AtomicBool::new(false) }
    }

    /// Calls have been answered, or none is under way.
    #[inline]
    pub(crate) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the peer was ended because it did not answer.
    pub(crate) fn gave_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }

    /// Runs `calls` and watches them meanwhile.
    pub(crate) fn during<T>(&self, monitor: &dyn Monitor, calls: impl FnOnce() -> T) -> Result<T> {
        let Some(peer) = self.peer else { return Ok(calls()) };
        thread::scope(|scope| {
            // Closed when the calls are over, however they end.
            let (_going_on, over) = mpsc::channel::<()>();
            let caller = ThreadId::current();
            thread::Builder::new()
                .name("ipc/watch".to_owned())
                .spawn_scoped(scope, move || {
                    let mut silence = Silence::default();
                    while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                        let answers = self.answers.load(Ordering::Relaxed);
                        let rest = !is_under_way(peer, caller);
                        if silence.is_too_long(answers, rest, monitor.stop_requested()) {
                            self.gave_up.store(true, Ordering::Relaxed);
                            // Fails only if it has ended by itself.
                            let _ended = send_signal(peer, KILL);
                            return;
                        }
                    }
                })
                .map_err(|error| Error::syscall("clone", "the thread that watches calls", error))?;
            Ok(calls())
        })
    }
}

/// The result of calls to `peer`, which is ended if it does not answer.
pub(crate) fn watched<T>(
    peer: Option<u32>,
    transport: Transport,
    monitor: &dyn Monitor,
    calls: impl FnOnce(&Watch) -> Result<T>,
) -> Result<T> {
    let watch = Watch::new(peer);
    match watch.during(monitor, || calls(&watch))? {
        Err(_) if watch.gave_up() => Err(no_reply(transport)),
        result => result,
    }
}

/// The error of a call that the watch has ended.
pub(crate) fn no_reply(transport: Transport) -> Error {
    let late = io::Error::new(io::ErrorKind::TimedOut, "no reply: it is stopped, or hangs");
    Error::syscall("call", format!("the peer over {transport}"), late)
}

/// Whether a thread of the peer, or the one that calls it, could go on if it
/// had a CPU or its page: `proc_pid_stat(5)`.
fn is_under_way(peer: u32, caller: ThreadId) -> bool {
    let root = Root::system();
    let peers = threads::ids(&root, peer).unwrap_or_default();
    let peers = peers.into_iter().map(|thread| (peer, thread));
    let mut all = peers.chain([(std::process::id(), caller)]);
    all.any(|(process, thread)| matches!(threads::state(&root, process, thread), Some('R' | 'D')))
}

/// Looks in a row that saw no answer.
#[derive(Debug, Default)]
struct Silence {
    answers: u64,
    looks: u32,
    /// The last of them, in which nobody was under way.
    rests: u32,
}

impl Silence {
    /// Takes a look, at which nobody was under way if `rest`.
    fn is_too_long(&mut self, answers: u64, rest: bool, stop_requested: bool) -> bool {
        if answers != self.answers {
            *self = Self { answers, looks: 0, rests: 0 };
            return false;
        }
        self.looks += 1;
        self.rests = if rest { self.rests + 1 } else { 0 };
        let longest = if stop_requested { STOPPING } else { LONGEST };
        self.looks >= longest || self.rests >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_silence_is_too_long() {
        let mut silence = Silence::default();
        for answers in 1..100 {
            assert!(!silence.is_too_long(answers, true, false));
        }
        let looks = (1..=2 * PATIENCE).find(|_| silence.is_too_long(99, true, false)).unwrap();
        assert_eq!(looks, PATIENCE);
        let mut silence = Silence::default();
        assert!(!silence.is_too_long(0, false, true));
        assert!(silence.is_too_long(0, false, true));
    }

    #[test]
    fn one_that_waits_for_a_cpu_is_not_silent() {
        let mut silence = Silence::default();
        // It sleeps now and then, as one does that starts.
        for look in 1..LONGEST {
            assert!(!silence.is_too_long(0, look % PATIENCE != 0, false), "{look}");
        }
        assert!(silence.is_too_long(0, false, false), "it computes for ever");
    }

    #[test]
    fn who_computes_is_under_way_and_who_sleeps_or_is_stopped_is_not() {
        let (tell, told) = mpsc::channel();
        let (_held, never) = mpsc::channel::<()>();
        thread::spawn(move || {
            tell.send(ThreadId::current()).unwrap();
            let _over = never.recv();
        });
        let asleep = told.recv().unwrap();
        let mut peer = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert!(is_under_way(peer.id(), ThreadId::current()), "the caller is");
        let rests = || {
            while is_under_way(peer.id(), asleep) {
                thread::yield_now();
            }
        };
        rests();
        send_signal(peer.id(), 19).unwrap();
        rests();
        peer.kill().unwrap();
        peer.wait().unwrap();
        let mut peer = std::process::Command::new("yes");
        let mut peer = peer.stdout(std::process::Stdio::null()).spawn().unwrap();
        while !is_under_way(peer.id(), asleep) {
            thread::yield_now();
        }
        peer.kill().unwrap();
        peer.wait().unwrap();
    }
}
