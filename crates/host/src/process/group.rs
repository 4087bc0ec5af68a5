//! A program in its own process group: started, watched and ended with its
//! descendants in the group.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::process::{Helper, pid, send_signal_to_group};
use crate::root::Root;
use unjank_units::Nanos;

const SIGTERM: i32 = libc::SIGTERM;
const SIGKILL: i32 = libc::SIGKILL;

/// The interval of checks whether a program that was asked to end has ended.
const LOOK: Nanos = Nanos::from_millis(2);

/// A program in its own process group, with its descendants there. Dropping
/// this kills the whole group. If unjank itself is killed, the kernel kills the
/// program (but not its descendants).
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Helper,
    reaped: Option<ExitStatus>,
    /// Some of the descendants that ran at the last look.
    others: Vec<u32>,
}

/// How a group that was asked to end has ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct GroupEnd {
    /// The exit status of its first process.
    pub status: Option<ExitStatus>,
    /// Whether a process of it still ran when the grace was over.
    pub was_killed: bool,
}

impl ProcessGroup {
    /// Starts `command`. The calling thread must outlive it.
    ///
    /// # Errors
    /// The program could not be started.
    pub fn start(command: &mut Command) -> Result<Self> {
        Ok(Self { leader: Helper::start_tied(command)?, reaped: None, others: Vec::new() })
    }

    /// The number of the first process, which is also that of the group.
    pub fn id(&self) -> u32 {
        self.leader.id()
    }

    /// Its stdout and stderr, if piped. Each can be taken once.
    pub fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        self.leader.take_output()
    }

    /// Its stdin, if piped. It can be taken once.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.leader.take_input()
    }

    /// Whether its first process has not ended yet.
    pub fn is_alive(&self) -> bool {
        self.reaped.is_none() && matches!(ended(self.id(), WaitIdOptions::NOHANG), Ok(None))
    }

    /// Whether any process of the group still runs. Looks at all processes of the machine only
    /// if none of those that it knows does.
    pub fn any_runs(&mut self) -> bool {
        if self.is_alive() {
            return true;
        }
        if self.reaped.is_some() {
            return false;
        }
        let (root, group) = (Root::system(), self.id());
        self.others.retain(|process| pid::runs_in_group(&root, *process, group));
        if self.others.is_empty() {
            self.others = pid::in_group(&root, group);
        }
        !self.others.is_empty()
    }

    /// Asks the whole group to end (SIGTERM), and kills what is left of it after `grace`.
    pub fn end(&mut self, grace: Nanos) -> GroupEnd {
        // The number is the group's own until its first process is reaped.
        let _all_have_ended = send_signal_to_group(self.id(), SIGTERM);
        let end = Timestamp::now() + grace;
        let mut runs = self.any_runs();
        while runs && Timestamp::now() < end {
            (Timestamp::now() + LOOK).sleep_until();
            runs = self.any_runs();
        }
        self.kill();
        GroupEnd { status: self.reaped, was_killed: runs }
    }

    fn kill(&mut self) {
        if self.reaped.is_some() {
            return;
        }
        let _all_have_ended = send_signal_to_group(self.id(), SIGKILL);
        let end = waitid_of(self.id()).and_then(|id| waitid(id, WaitIdOptions::EXITED).ok());
        self.reaped = Some(end.flatten().map_or_else(ExitStatus::default, |status| {
            let signal = status.terminating_signal();
            ExitStatus::from_raw(signal.unwrap_or(status.exit_status().unwrap_or(0) << 8))
        }));
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until `child`, a child of this process, has ended, without reaping it.
/// Returns the time at which that was known.
///
/// # Errors
/// There is no such child.
pub fn wait_for_end(child: u32) -> Result<Timestamp> {
    ended(child, WaitIdOptions::empty())?;
    Ok(Timestamp::now())
}

fn ended(child: u32, how: WaitIdOptions) -> Result<Option<()>> {
    let failed = |error| Error::syscall("waitid", format!("process {child}"), error);
    let id = waitid_of(child).ok_or_else(|| failed(Errno::CHILD))?;
    let how = how | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(id.clone(), how) {
            Err(Errno::INTR) => {}
            other => return other.map(|status| status.map(|_| ())).map_err(failed),
        }
    }
}

fn waitid_of(child: u32) -> Option<WaitId<'static>> {
    i32::try_from(child).ok().and_then(Pid::from_raw).map(WaitId::Pid)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;

    use super::*;

    const PATIENCE: Nanos = Nanos::from_millis(600_000);

    fn shell(script: &str) -> ProcessGroup {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        ProcessGroup::start(&mut command).unwrap()
    }

    #[test]
    fn descendants_of_a_program_end_with_it() {
        let mut group = shell("sleep 600 & echo there; wait");
        let mut output = BufReader::new(group.take_output().0.unwrap());
        output.read_line(&mut String::new()).unwrap();
        assert!(group.is_alive());
        let end = group.end(PATIENCE);
        assert_eq!(end.status.unwrap().signal(), Some(SIGTERM));
        assert!(!end.was_killed);
        assert_eq!(output.read(&mut [0]).unwrap(), 0, "the pipe ends when both have ended");
    }

    #[test]
    fn a_descendant_that_takes_its_time_to_end_is_not_killed() {
        let slow =
            "trap 'sleep 0.3; echo saved; exit' TERM; echo there; while :; do sleep 0.1; done";
        let mut group = shell(&format!("sh -c \"{slow}\" & wait"));
        let mut output = BufReader::new(group.take_output().0.unwrap());
        output.read_line(&mut String::new()).unwrap();
        assert!(group.any_runs());
        assert_eq!(group.end(PATIENCE).status.unwrap().signal(), Some(SIGTERM), "it ends at once");
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "saved\n");
        assert!(!group.any_runs());
    }

    #[test]
    fn a_program_that_ignores_sigterm_is_killed() {
        let mut group = shell("trap '' TERM; echo there; while true; do sleep 600; done");
        let mut output = BufReader::new(group.take_output().0.unwrap());
        output.read_line(&mut String::new()).unwrap();
        let end = group.end(Nanos::from_millis(20));
        assert_eq!(end.status.unwrap().signal(), Some(SIGKILL));
        assert!(end.was_killed);
        assert_eq!(output.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn the_exit_code_is_returned_and_the_end_can_be_waited_for() {
        let mut group = shell("exit 7");
        let started = Timestamp::now();
        assert!(wait_for_end(group.id()).unwrap() >= started);
        assert!(!group.is_alive());
        assert_eq!(group.end(PATIENCE).status.unwrap().code(), Some(7));
        assert!(wait_for_end(1).is_err(), "not a child");
    }

    #[test]
    fn a_group_ends_with_its_owner() {
        let mut group = shell("sleep 600 & echo there; wait");
        let mut output = BufReader::new(group.take_output().0.unwrap());
        output.read_line(&mut String::new()).unwrap();
        drop(group);
        assert_eq!(output.read(&mut [0]).unwrap(), 0);
    }
}
