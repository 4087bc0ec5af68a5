//! Kills a peer that does not answer, so that the call to it returns.
//!
//! Calls block in the kernel without a timeout, which would make them slower. A
//! second thread checks once a second whether calls are answered. A call whose
//! peer or caller only waits for a CPU is not ended.

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

const POLL: Duration = Duration::from_secs(1);
/// Polls in a row without an answer, with peer and caller asleep or stopped, after
/// which the peer is killed.
const ASLEEP_POLLS: u32 = 5;
/// Polls without an answer after which a peer that computes is killed.
const LONGEST: u32 = 300;
/// Polls without an answer after which the peer is killed if the user wants to
/// stop.
const ENDING_POLLS: u32 = 2;
/// `SIGKILL` of `signal(7)`.
const KILL: i32 = 9;

/// Counts answers, and notes whether the peer was killed. The atomics carry no
/// other data, so they are relaxed.
pub(crate) struct Watch {
    peer: Option<u32>,
    answers: AtomicU64,
    gave_up: AtomicBool,
}

impl Watch {
    /// Watches the process `peer`; nothing if another program answers, which must
    /// not be killed.
    pub(crate) fn new(peer: Option<u32>) -> Self {
        Self { peer, answers: AtomicU64::new(0), gave_up: AtomicBool::new(false) }
    }

    /// Notes that a call was answered.
    #[inline]
    pub(crate) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the peer was killed because it did not answer.
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
                    while over.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                        let answers = self.answers.load(Ordering::Relaxed);
                        let asleep = !is_under_way(peer, caller);
                        if silence.is_too_long(answers, asleep, monitor.stop_requested()) {
                            self.gave_up.store(true, Ordering::Relaxed);
                            // Fails only if the peer has ended already.
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

/// Runs `calls` to `peer`, which is killed if it does not answer.
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

/// Whether a thread of the peer, or the calling thread, is runnable or waits for a
/// page: `proc_pid_stat(5)`.
fn is_under_way(peer: u32, caller: ThreadId) -> bool {
    let root = Root::system();
    let peers = threads::ids(&root, peer).unwrap_or_default();
    let peers = peers.into_iter().map(|thread| (peer, thread));
    let mut all = peers.chain([(std::process::id(), caller)]);
    all.any(|(process, thread)| matches!(threads::state(&root, process, thread), Some('R' | 'D')))
}

/// Polls in a row without an answer.
#[derive(Debug, Default)]
struct Silence {
    answers: u64,
    polls: u32,
    /// The latest polls in a row with peer and caller asleep.
    asleep: u32,
}

impl Silence {
    /// Takes in one poll.
    fn is_too_long(&mut self, answers: u64, asleep: bool, stop_requested: bool) -> bool {
        if answers != self.answers {
            *self = Self { answers, polls: 0, asleep: 0 };
            return false;
        }
        self.polls += 1;
        self.asleep = if asleep { self.asleep + 1 } else { 0 };
        let longest = if stop_requested { ENDING_POLLS } else { LONGEST };
        self.polls >= longest || self.asleep >= ASLEEP_POLLS
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
        let polls = (1..=2 * ASLEEP_POLLS).find(|_| silence.is_too_long(99, true, false)).unwrap();
        assert_eq!(polls, ASLEEP_POLLS);
        let mut silence = Silence::default();
        assert!(!silence.is_too_long(0, false, true));
        assert!(silence.is_too_long(0, false, true));
    }

    #[test]
    fn a_peer_that_waits_for_a_cpu_has_longer() {
        let mut silence = Silence::default();
        // It sleeps now and then, as a starting process does.
        for poll in 1..LONGEST {
            assert!(!silence.is_too_long(0, poll % ASLEEP_POLLS != 0, false), "{poll}");
        }
        assert!(silence.is_too_long(0, false, false), "it computes for ever");
    }

    #[test]
    fn a_computing_thread_is_under_way_and_a_sleeping_or_stopped_one_is_not() {
        let (send, receive) = mpsc::channel();
        let (_held, never) = mpsc::channel::<()>();
        thread::spawn(move || {
            send.send(ThreadId::current()).unwrap();
            let _over = never.recv();
        });
        let asleep = receive.recv().unwrap();
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
