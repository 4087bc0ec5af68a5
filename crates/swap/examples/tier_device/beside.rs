//! Processes that use the device. A page fault that waits for the device holds locks of its process,
//! so that the process that replaces a server must be another one.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::Result;

/// Does something while another process uses the device. The process goes on until its input ends.
pub(crate) fn beside(user: &[&str], act: impl FnOnce() -> Result<()>) -> Result<()> {
    let process = start(user)?;
    act()?;
    let status = end(process)?;
    if status.success() { Ok(()) } else { Err(format!("{user:?}: {status}").into()) }
}

/// The same, with a process that may be killed because a page of it cannot be read.
pub(crate) fn beside_lost_pages(user: &[&str], act: impl FnOnce() -> Result<()>) -> Result<()> {
    let process = start(user)?;
    act()?;
    let status = end(process)?;
    if status.success() || status.signal() == Some(libc::SIGBUS) {
        Ok(())
    } else {
        Err(format!("{user:?}: {status}").into())
    }
}

fn start(user: &[&str]) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    Ok(command.args(user).stdin(Stdio::piped()).spawn()?)
}

fn end(mut process: Child) -> Result<ExitStatus> {
    drop(process.stdin.take());
    Ok(process.wait()?)
}
