//! The process of one start, which another thread starts, reads and reaps: each of
//! these blocks for as long as the machine is short of memory.

use std::process::{Command, ExitStatus};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unjank_host::Result;
use unjank_host::process::peer::Peer;
use unjank_host::process::{Helper, send_signal};

use crate::commands::repetition::{Report, Task};

/// `SIGINT` of `signal(7)`.
pub(super) const INTERRUPT: i32 = 2;
/// `SIGKILL`.
const KILL: i32 = 9;

/// News of the process. The channel ends once the process is gone.
pub(super) enum News {
    /// It could not be started.
    NotStarted(unjank_host::Error),
    Report(Report),
    /// It ended without a report, for this reason.
    NoReport(Result<ExitStatus>),
    /// Its report could not be read.
    Unreadable(std::io::Error),
}

/// The process, as the thread that waits for it sees it.
#[derive(Debug, Clone, Default)]
pub(super) struct Process(Arc<Mutex<State>>);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Starting,
    /// With this number, which stays its own until it is reaped.
    Running(u32),
    Over,
    GivenUp,
}

impl Process {
    /// Starts the process by `command` and tells `news` about it, until it is gone.
    /// The kernel kills the process when the calling thread ends.
    pub(super) fn conduct(&self, command: Command, task: &Task, news: &Sender<News>) {
        // If nobody listens any more, the process was given up.
        let tell = |one| drop(news.send(one));
        let Peer { mut process, mut orders, mut answers } = match Peer::start(command) {
            Ok(peer) => peer,
            Err(error) => return tell(News::NotStarted(error)),
        };
        if !self.begin(&process) {
            // Killed and reaped.
            return;
        }
        // A process that has ended takes no task; one without a task ends.
        if orders.send(task).is_err() {
            drop(orders);
        }
        let report = answers.receive();
        self.end();
        match report {
            Ok(Some(report)) => tell(News::Report(report)),
            Ok(None) => tell(News::NoReport(process.wait())),
            Err(error) => tell(News::Unreadable(error)),
        }
    }

    /// Asks it to report what it has. Returns whether it runs.
    pub(super) fn interrupt(&self) -> bool {
        match *self.state() {
            // A process that has ended has reported.
            State::Running(number) => send_signal(number, INTERRUPT).is_ok(),
            State::Over | State::GivenUp => true,
            State::Starting => false,
        }
    }

    /// Kills it, at once or as soon as it is started. Does not wait for its end: a
    /// process that waits for storage ends later.
    pub(super) fn give_up(&self) {
        let mut state = self.state();
        if let State::Running(number) = *state {
            // It may have ended by itself.
            let _ended = send_signal(number, KILL);
        }
        *state = State::GivenUp;
    }

    /// Notes that it runs; false if it was given up.
    fn begin(&self, process: &Helper) -> bool {
        let mut state = self.state();
        let wanted = *state == State::Starting;
        if wanted {
            *state = State::Running(process.id());
        }
        wanted
    }

    /// After this it may be reaped, and another process may get its number.
    fn end(&self) {
        *self.state() = State::Over;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use unjank_host::Nanos;

    use super::*;

    fn task() -> Task {
        let duration = Nanos::from_millis(1);
        Task::Lock(unjank_lock::Options { cpus: None, duration, turn: 0 })
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_process_that_is_given_up_before_it_starts_does_not_stay() {
        let (sender, news) = mpsc::channel();
        let process = Process::default();
        assert!(!process.interrupt(), "not yet: it is asked again");
        process.give_up();
        process.conduct(shell("sleep 600"), &task(), &sender);
        drop(sender);
        assert!(news.recv().is_err());
    }

    #[test]
    fn a_process_that_never_reports_ends_when_it_is_given_up() {
        let (sender, news) = mpsc::channel();
        let process = Process::default();
        let conductor = process.clone();
        let thread = thread::spawn(move || {
            conductor.conduct(shell("exec sleep 600"), &task(), &sender);
        });
        while !matches!(*process.state(), State::Running(_)) {
            thread::yield_now();
        }
        process.give_up();
        thread.join().unwrap();
        assert!(matches!(news.recv(), Ok(News::NoReport(Ok(status))) if !status.success()));
        assert!(news.recv().is_err(), "it is gone");
    }

    #[test]
    fn a_process_without_a_report_says_how_it_ended() {
        let (sender, news) = mpsc::channel();
        Process::default().conduct(shell("exit 7"), &task(), &sender);
        assert!(matches!(news.recv(), Ok(News::NoReport(Ok(status))) if status.code() == Some(7)));
        let (sender, news) = mpsc::channel();
        Process::default().conduct(Command::new("/no/such/program"), &task(), &sender);
        assert!(matches!(news.recv(), Ok(News::NotStarted(_))));
    }
}
