//! Runs one command until all processes that it started have ended.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use unjank_host::process::init::{kill_all_others, wait_for};

use super::host::Host;
use super::interrupt::Interrupt;
use crate::channel::{End, Frame};
use crate::error::Result;

/// The environment of every command.
const ENVIRONMENT: [(&str, &str); 4] =
    [("PATH", "/bin"), ("HOME", "/root"), ("TERM", "dumb"), ("COLUMNS", "100")];
/// The variable with the labels of every run.
const LABELS: &str = "UNJANK_LABELS";

/// The exit codes of a command that is missing, and of one that cannot be
/// executed, as in shells.
const NOT_FOUND: u8 = 127;
const NO_PROGRAM: u8 = 126;

/// The largest piece of output in one frame.
const PIECE: usize = 16 << 10;
/// Time for processes that a command left behind with its pipes, such as a
/// keeper, to end by themselves.
const TIME_TO_END: Duration = Duration::from_secs(30);

/// Runs a command, which `interrupt` may end, and sends its output to the host.
pub(super) fn run(
    command: &[String],
    labels: &[String],
    host: &Host,
    interrupt: &Interrupt,
) -> Result<End> {
    let mut child = match start(command, labels) {
        Ok(child) => child,
        Err(error) => {
            let program = command.first().map_or("", String::as_str);
            let message = format!("error: cannot start {program} in the virtual phone: {error}\n");
            host.send(&Frame::Stderr(message.into_bytes()))?;
            let missing = error.kind() == io::ErrorKind::NotFound;
            return Ok(End::Code(if missing { NOT_FOUND } else { NO_PROGRAM }));
        }
    };
    interrupt.set_target(child.id());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (over, pipes) = mpsc::channel::<()>();
    let status = thread::scope(|scope| -> Result<ExitStatus> {
        let other = over.clone();
        scope.spawn(move || {
            let _end_of_the_pipe = over;
            pass_on(stdout, host, Frame::Stdout);
        });
        scope.spawn(move || {
            let _end_of_the_pipe = other;
            pass_on(stderr, host, Frame::Stderr);
        });
        let status = wait_for(child.id())?;
        interrupt.clear_target();
        // A process that holds the other end of a pipe blocks its reader.
        if pipes.recv_timeout(TIME_TO_END) == Err(RecvTimeoutError::Timeout) {
            kill_all_others()?;
        }
        Ok(status)
    })?;
    kill_all_others()?;
    Ok(end(status))
}

fn start(command: &[String], labels: &[String]) -> io::Result<Child> {
    let [program, arguments @ ..] = command else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no name"));
    };
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(ENVIRONMENT)
        .env(LABELS, labels.join(","))
        .current_dir("/root")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Sends the bytes of a pipe to the host. If sending fails, the host is about
/// to end the phone.
fn pass_on(pipe: Option<impl Read>, host: &Host, wrap: fn(Vec<u8>) -> Frame) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = vec![0; PIECE];
    loop {
        match pipe.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => {
                if host.send(&wrap(piece[..length].to_vec())).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
}

fn end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => {
            End::Signal(signal.and_then(|signal| u8::try_from(signal).ok()).unwrap_or(u8::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_code_or_a_signal() {
        assert_eq!(end(ExitStatus::from_raw(5 << 8)), End::Code(5));
        assert_eq!(end(ExitStatus::from_raw(9)), End::Signal(9));
    }
}
