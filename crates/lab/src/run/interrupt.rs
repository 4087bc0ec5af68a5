//! Passes Ctrl-C on to the command in the phone.

use std::io::Write as _;
use std::process::ChildStdin;

use unjank_host::{Nanos, Timestamp};

/// Time for the command to end and to report its measurements. A second
/// interrupt ends the phone at once.
const TIME_TO_END: Nanos = Nanos::from_millis(300_000);

/// The remark about a command that takes longer.
pub(super) const IGNORED: &str =
    "the command did not end within five minutes of the interrupt: its measurements are lost";

/// A request to end, and the line to the guest.
#[derive(Debug)]
pub(super) struct Interrupt {
    line: Option<ChildStdin>,
    wanted: Option<Timestamp>,
}

/// The step after a request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Wait for the command to end.
    Wait,
    /// End the phone: no command runs yet.
    End,
    /// End the phone: the command has exceeded its time.
    GiveUp,
}

impl Interrupt {
    /// An interrupt that reaches the guest through QEMU's stdin.
    pub(super) fn through(line: Option<ChildStdin>) -> Self {
        Self { line, wanted: None }
    }

    /// Handles a request to end at `now`; `up` is whether the phone has booted.
    /// Only the first request is sent to the guest.
    pub(super) fn step(&mut self, up: bool, now: Timestamp) -> Step {
        let first = self.wanted.is_none();
        let since = *self.wanted.get_or_insert(now);
        if !up {
            return Step::End;
        }
        if let Some(line) = self.line.as_mut().filter(|_| first) {
            // If QEMU has ended, its other pipes report it.
            let _it_has_ended = line.write_all(b"\n");
        }
        if now.since(since) < TIME_TO_END { Step::Wait } else { Step::GiveUp }
    }

    /// Whether the user requested the end before the commands ended.
    pub(super) fn was_wanted(&self) -> bool {
        self.wanted.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io::read_to_string;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_boot_ends_at_once() {
        let mut interrupt = Interrupt::through(None);
        assert!(!interrupt.was_wanted());
        assert_eq!(interrupt.step(false, Timestamp::now()), Step::End);
        assert!(interrupt.was_wanted());
    }

    #[test]
    fn a_command_is_interrupted_once_and_given_time() {
        let mut cat = Command::new("cat");
        let mut cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut interrupt = Interrupt::through(cat.stdin.take());
        let after = |time| Timestamp::from_nanos(7 + time);
        assert_eq!(interrupt.step(true, after(0)), Step::Wait);
        assert_eq!(interrupt.step(true, after(TIME_TO_END.get() - 1)), Step::Wait);
        assert_eq!(interrupt.step(true, after(TIME_TO_END.get())), Step::GiveUp);
        drop(interrupt);
        assert_eq!(read_to_string(cat.stdout.take().unwrap()).unwrap(), "\n");
        cat.wait().unwrap();
    }
}
