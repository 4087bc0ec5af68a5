//! Ctrl-C, as the host passes it on: what a terminal does with it, and no
//! further commands.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use unjank_host::Root;
use unjank_host::process::send_signal_to_group;
use unjank_host::virtio_port::open_for_reading;

use crate::channel::INTERRUPT_PORT;
use crate::error::Result;

const SIGINT: i32 = 2;

/// Whether the user wants the command to end, and whom to tell.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    has_come: bool,
    /// The first process of the command that runs, and the leader of its group.
    leader: Option<u32>,
}

impl Interrupt {
    /// Listens to the host from now on.
    pub(super) fn listen(root: &Root) -> Result<Self> {
        let interrupt = Self::default();
        interrupt.clone().comes_from(open_for_reading(root, INTERRUPT_PORT)?);
        Ok(interrupt)
    }

    /// Whether it has come.
    pub(super) fn has_come(&self) -> bool {
        self.state().has_come
    }

    /// From now on it ends the command that `leader` is; at once if it has come
    /// already.
    pub(super) fn reaches(&self, leader: u32) {
        let mut state = self.state();
        state.leader = Some(leader);
        if state.has_come {
            end(leader);
        }
    }

    /// That command has ended. Its number is not given to another process before
    /// all others were.
    pub(super) fn reaches_nobody(&self) {
        self.state().leader = None;
    }

    /// Waits for a byte on a thread of its own. A host that is gone sends none.
    fn comes_from(self, mut port: impl Read + Send + 'static) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            if port.read_exact(&mut [0]).is_ok() {
                let mut state = self.state();
                state.has_come = true;
                state.leader.into_iter().for_each(end);
            }
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the whole group, as a terminal does. What unjank starts to help it is
/// in groups of its own, and ends when unjank says so.
fn end(leader: u32) {
    let _it_has_ended = send_signal_to_group(leader, SIGINT);
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Child, Command};

    use super::*;

    /// What a shell starts in its background ignores the signal; this one does not.
    fn sleep() -> Child {
        let mut sleep = Command::new("env");
        sleep.args(["--default-signal=INT", "sleep", "600"]);
        let sleep = sleep.process_group(0).spawn().unwrap();
        let name = format!("/proc/{}/comm", sleep.id());
        while std::fs::read_to_string(&name).unwrap() != "sleep\n" {
            thread::yield_now();
        }
        sleep
    }

    #[test]
    fn it_ends_the_command_that_runs_and_those_that_begin_later() {
        let interrupt = Interrupt::default();
        let mut running = sleep();
        interrupt.reaches(running.id());
        interrupt.clone().comes_from(&b"\n"[..]).join().unwrap();
        assert!(interrupt.has_come());
        assert_eq!(running.wait().unwrap().signal(), Some(SIGINT));
        interrupt.reaches_nobody();
        let mut late = sleep();
        interrupt.reaches(late.id());
        assert_eq!(late.wait().unwrap().signal(), Some(SIGINT));
    }

    #[test]
    fn a_host_that_is_gone_is_no_interrupt() {
        let interrupt = Interrupt::default();
        interrupt.clone().comes_from(io::empty()).join().unwrap();
        assert!(!interrupt.has_come());
    }
}
