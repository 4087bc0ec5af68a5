//! Ctrl-C from the host: interrupts the command as a terminal does, and
//! prevents further commands.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use unjank_host::Root;
use unjank_host::process::send_signal_to_group;
use unjank_host::virtio_port::open_for_reading;

use crate::channel::INTERRUPT_PORT;
use crate::error::Result;

const SIGINT: i32 = 2;

/// Whether the interrupt has arrived, and the command that it ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Interrupt(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    arrived: bool,
    /// The first process of the running command, which leads its process group.
    leader: Option<u32>,
}

impl Interrupt {
    /// Starts listening to the host.
    pub(super) fn listen(root: &Root) -> Result<Self> {
        let interrupt = Self::default();
        interrupt.clone().wait_on(open_for_reading(root, INTERRUPT_PORT)?);
        Ok(interrupt)
    }

    /// Whether it has arrived.
    pub(super) fn arrived(&self) -> bool {
        self.state().arrived
    }

    /// Sets the command that it ends, by its group leader; ends it at once if
    /// the interrupt has already arrived.
    pub(super) fn set_target(&self, leader: u32) {
        let mut state = self.state();
        state.leader = Some(leader);
        if state.arrived {
            end(leader);
        }
    }

    /// Clears the command after its end, so that a process that reuses its
    /// number is not signalled.
    pub(super) fn clear_target(&self) {
        self.state().leader = None;
    }

    /// Waits for a byte on a separate thread. A host that is gone sends none.
    fn wait_on(self, mut port: impl Read + Send + 'static) -> thread::JoinHandle<()> {
        thread::spawn(move || {
            if port.read_exact(&mut [0]).is_ok() {
                let mut state = self.state();
                state.arrived = true;
                state.leader.into_iter().for_each(end);
            }
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Signals the whole process group, as a terminal does. Helpers of unjank are
/// in their own groups, and unjank ends them.
fn end(leader: u32) {
    let _it_has_ended = send_signal_to_group(leader, SIGINT);
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Child, Command};

    use super::*;

    /// Background processes of a shell ignore the signal; this one does not.
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
    fn it_ends_the_running_command_and_later_ones() {
        let interrupt = Interrupt::default();
        let mut running = sleep();
        interrupt.set_target(running.id());
        interrupt.clone().wait_on(&b"\n"[..]).join().unwrap();
        assert!(interrupt.arrived());
        assert_eq!(running.wait().unwrap().signal(), Some(SIGINT));
        interrupt.clear_target();
        let mut late = sleep();
        interrupt.set_target(late.id());
        assert_eq!(late.wait().unwrap().signal(), Some(SIGINT));
    }

    #[test]
    fn a_host_that_is_gone_does_not_interrupt() {
        let interrupt = Interrupt::default();
        interrupt.clone().wait_on(io::empty()).join().unwrap();
        assert!(!interrupt.arrived());
    }
}
