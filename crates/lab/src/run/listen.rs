//! What comes out of QEMU, from both of its pipes in one line.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use unjank_host::process::Helper;

/// Pieces that wait for a slow reader. Then QEMU waits, and the guest.
const QUEUE: usize = 64;
/// The largest piece.
const PIECE: usize = 64 << 10;

/// A running QEMU, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    // Dropped first: a thread that waits to send is then free, and one that
    // reads comes to the end of its pipe once QEMU is gone.
    pieces: Receiver<Heard>,
    _qemu: Helper,
}

/// A piece of what is said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// By the guest, through its port.
    Channel(Vec<u8>),
    /// By its kernel, or by QEMU.
    Console(Vec<u8>),
    /// So far.
    Nothing,
    /// Any more: QEMU has ended.
    End,
}

impl Listener {
    /// Begins to listen.
    pub(super) fn new(mut qemu: Helper) -> Self {
        let (send, pieces) = sync_channel(QUEUE);
        let (stdout, stderr) = qemu.take_output();
        if let Some(stdout) = stdout {
            read_from(stdout, send.clone(), Heard::Channel);
        }
        if let Some(stderr) = stderr {
            read_from(stderr, send, Heard::Console);
        }
        Self { pieces, _qemu: qemu }
    }

    /// The next piece, or `Nothing` if none comes within `patience`.
    pub(super) fn next(&self, patience: Duration) -> Heard {
        self.pieces.recv_timeout(patience).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Heard::Nothing,
            RecvTimeoutError::Disconnected => Heard::End,
        })
    }
}

fn read_from(
    mut pipe: impl Read + Send + 'static,
    pieces: SyncSender<Heard>,
    wrap: fn(Vec<u8>) -> Heard,
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
    fn both_pipes_are_heard_to_their_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo frames; echo console >&2"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let listener = Listener::new(Helper::start(&mut command).unwrap());
        let mut heard = [const { Vec::new() }; 2];
        loop {
            match listener.next(Duration::from_secs(600)) {
                Heard::Channel(bytes) => heard[0].extend(bytes),
                Heard::Console(bytes) => heard[1].extend(bytes),
                Heard::Nothing => panic!("it has ended"),
                Heard::End => break,
            }
        }
        assert_eq!(heard, [b"frames\n".to_vec(), b"console\n".to_vec()]);
    }

    #[test]
    fn a_listener_that_goes_takes_a_talkative_program_with_it() {
        let mut command = Command::new("yes");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let helper = Helper::start(&mut command).unwrap();
        let process = format!("/proc/{}", helper.id());
        let listener = Listener::new(helper);
        assert!(matches!(listener.next(Duration::from_secs(600)), Heard::Channel(_)));
        drop(listener);
        assert!(!std::path::Path::new(&process).exists());
    }
}
