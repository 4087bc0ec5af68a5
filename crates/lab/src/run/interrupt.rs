//! Ctrl-C, on its way to the command in the phone.

use std::io::Write as _;
use std::process::ChildStdin;

use unjank_host::{Nanos, Timestamp};

/// Time for the command to end, and to tell what it has measured so far. Who does not want to wait
/// interrupts once more.
const PATIENCE: Nanos = Nanos::from_millis(300_000);

/// What to say of a command that takes longer.
pub(super) const IGNORED: &str =
    "the command went on for five minutes after it was interrupted: what it had measured is lost";

/// The wish to end, and whether the guest knows.
#[derive(Debug)]
pub(super) struct Interrupt {
    line: Option<ChildStdin>,
    wanted: Option<Timestamp>,
}

/// What to do while the user wants the phone to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Hear the command out.
    Wait,
    /// End it: there is no command yet.
    End,
    /// End it: the command goes on and on.
    GiveUp,
}

impl Interrupt {
    /// One that reaches the guest through QEMU's stdin.
    pub(super) fn through(line: Option<ChildStdin>) -> Self {
        Self { line, wanted: None }
    }

    /// The user wants the phone to end, which is `up` or not; the guest is told
    /// once.
    pub(super) fn step(&mut self, up: bool, now: Timestamp) -> Step {
        let first = self.wanted.is_none();
        let since = *self.wanted.get_or_insert(now);
        if !up {
            return Step::End;
        }
        if let Some(line) = self.line.as_mut().filter(|_| first) {
            // A QEMU that has ended is heard of on its other pipes.
            let _it_has_ended = line.write_all(b"\n");
        }
        if now.since(since) < PATIENCE { Step::Wait } else { Step::GiveUp }
    }

    /// Whether the user wanted the phone to end before its commands did.
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
    fn a_command_is_told_once_and_given_time() {
        let mut cat = Command::new("cat");
        let mut cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut interrupt = Interrupt::through(cat.stdin.take());
        let after = |time| Timestamp::from_nanos(7 + time);
        assert_eq!(interrupt.step(true, after(0)), Step::Wait);
        assert_eq!(interrupt.step(true, after(PATIENCE.get() - 1)), Step::Wait);
        assert_eq!(interrupt.step(true, after(PATIENCE.get())), Step::GiveUp);
        drop(interrupt);
        assert_eq!(read_to_string(cat.stdout.take().unwrap()).unwrap(), "\n");
        cat.wait().unwrap();
    }
}
