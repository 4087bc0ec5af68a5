//! A peer that does not answer is ended, so that the call to it returns.
//!
//! Calls block in the kernel, without a time limit that would cost them
//! something. A second thread looks once a second whether they go on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use unjank_host::process::send_signal;
use unjank_host::{Error, Result};
use unjank_measure::Monitor;

use crate::transport::Transport;

const LOOK: Duration = Duration::from_secs(1);
/// Looks without an answer after which the peer counts as stopped.
const PATIENCE: u32 = 5;
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
            thread::Builder::new()
                .name("ipc/watch".to_owned())
                .spawn_scoped(scope, move || {
                    let mut silence = Silence::default();
                    while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                        let answers = self.answers.load(Ordering::Relaxed);
                        if silence.is_too_long(answers, monitor.stop_requested()) {
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
    let seconds = LOOK.as_secs() * u64::from(PATIENCE);
    let late =
        std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no reply within {seconds} s"));
    Error::syscall("call", format!("the peer over {transport}"), late)
}

/// Looks in a row that saw no answer.
#[derive(Debug, Default)]
struct Silence {
    answers: u64,
    looks: u32,
}

impl Silence {
    /// Takes a look. Someone who wants to stop does not wait as long.
    fn is_too_long(&mut self, answers: u64, stop_requested: bool) -> bool {
        if answers != self.answers {
            *self = Self { answers, looks: 0 };
            return false;
        }
        self.looks += 1;
        self.looks >= if stop_requested { 2 } else { PATIENCE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_silence_is_too_long() {
        let mut silence = Silence::default();
        for answers in 1..100 {
            assert!(!silence.is_too_long(answers, false));
        }
        let looks = (1..=2 * PATIENCE).find(|_| silence.is_too_long(99, false)).unwrap();
        assert_eq!(looks, PATIENCE);
        let mut silence = Silence::default();
        assert!(!silence.is_too_long(0, true));
        assert!(silence.is_too_long(0, true));
    }
}
