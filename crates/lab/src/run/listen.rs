//! The output of QEMU: both of its pipes, merged.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use unjank_host::process::Helper;

/// Pieces in the queue. If it is full, QEMU waits, and with it the guest.
const QUEUE: usize = 64;
/// The largest piece, in bytes.
const PIECE: usize = 64 << 10;

/// A running QEMU, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    // Dropped first, so that a thread blocked in sending is released; a reading
    // thread reaches the end of its pipe once QEMU has ended.
    pieces: Receiver<Output>,
    _qemu: Helper,
}

/// A piece of output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// From the guest, through its port.
    Channel(Vec<u8>),
    /// From the guest's kernel, or from QEMU.
    Console(Vec<u8>),
    /// None within the timeout.
    Nothing,
    /// None any more: QEMU has ended.
    End,
}

impl Listener {
    /// Starts the reading threads.
    pub(super) fn new(mut qemu: Helper) -> Self {
        let (send, pieces) = sync_channel(QUEUE);
        let (stdout, stderr) = qemu.take_output();
        if let Some(stdout) = stdout {
            read_from(stdout, send.clone(), Output::Channel);
        }
        if let Some(stderr) = stderr {
            read_from(stderr, send, Output::Console);
        }
        Self { pieces, _qemu: qemu }
    }

    /// The next piece, or `Nothing` if none arrives within `timeout`.
    pub(super) fn next(&self, timeout: Duration) -> Output {
        self.pieces.recv_timeout(timeout).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Output::Nothing,
            RecvTimeoutError::Disconnected => Output::End,
        })
    }
}

fn read_from(
    mut pipe: impl Read + Send + 'static,
    pieces: SyncSender<Output>,
    wrap: fn(Vec<u8>) -> Output,
) {
    thread::spawn(move || {
        let mut piece = vec![0; PIECE];
        while let Ok(length @ 1..) = pipe.read(&mut piece) {
            if pieces.send(wrap(piece[..length].to_vec())).is_err() {
                break;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn both_pipes_are_read_to_their_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo frames; echo console >&2"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let listener = Listener::new(Helper::start(&mut command).unwrap());
        let mut output = [const { Vec::new() }; 2];
        loop {
            match listener.next(Duration::from_secs(600)) {
                Output::Channel(bytes) => output[0].extend(bytes),
                Output::Console(bytes) => output[1].extend(bytes),
                Output::Nothing => panic!("it has ended"),
                Output::End => break,
            }
        }
        assert_eq!(output, [b"frames\n".to_vec(), b"console\n".to_vec()]);
    }

    #[test]
    fn dropping_a_listener_ends_a_program_that_still_writes() {
        let mut command = Command::new("yes");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let helper = Helper::start(&mut command).unwrap();
        let process = format!("/proc/{}", helper.id());
        let listener = Listener::new(helper);
        assert!(matches!(listener.next(Duration::from_secs(600)), Output::Channel(_)));
        drop(listener);
        assert!(!std::path::Path::new(&process).exists());
    }
}
