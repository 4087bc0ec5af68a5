//! Starts the measuring application in its own JVM, sets its threads' policies,
//! and follows its output.

use std::collections::VecDeque;
use std::io::{Read, Write as _};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use unjank_host::lines::each_line;
use unjank_host::process::group::ProcessGroup;
use unjank_host::sched::{AffinityGuard, CpuSet, ThreadId, set_policy};
use unjank_host::threads::{self, Thread};
use unjank_host::{Error, Nanos, Result, Root, Timestamp, process::pid};
use unjank_measure::Monitor;

use super::variant::{Priorities, Variant};

/// Name of the application's measuring thread.
const MEASURING: &str = "meas";
/// Time limit for a JVM to start, and to end.
const START_TIMEOUT: Nanos = Nanos::from_millis(300_000);
/// Time between two checks of the monitor.
const LOOK: Duration = Duration::from_millis(100);
/// Lines of output that the queue holds.
const LINES: usize = 1_000;
/// Lines of stderr that an error shows.
const SHOWN: usize = 5;

/// A JVM that runs the application, which waits for `go`.
pub(crate) struct Application {
    group: ProcessGroup,
    input: ChildStdin,
    said: Receiver<Line>,
    complaints: VecDeque<String>,
}

enum Line {
    Out(String),
    Complaint(String),
}

impl Application {
    /// Starts `java` on `cpus` and waits until its threads exist; `None` if
    /// interrupted.
    pub(crate) fn start(
        mut java: Command,
        cpus: &CpuSet,
        monitor: &dyn Monitor,
    ) -> Result<Option<Self>> {
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = {
            // A child inherits the affinity of the thread that starts it.
            let _pinned = AffinityGuard::pin(cpus)?;
            ProcessGroup::start(&mut java)?
        };
        let gone = || Error::Invalid("the JVM has no stdin or stdout".to_owned());
        let (out, err) = group.take_output();
        let (sender, said) = sync_channel(LINES);
        let complaints = sender.clone();
        forward(out.ok_or_else(gone)?, Line::Out, sender);
        forward(err.ok_or_else(gone)?, Line::Complaint, complaints);
        let input = group.take_input().ok_or_else(gone)?;
        let mut application = Self { group, input, said, complaints: VecDeque::new() };
        let is_ready = application.wait_for(
            "ready",
            Timestamp::now() + START_TIMEOUT,
            monitor,
            &mut |_| {},
        )?;
        Ok(is_ready.then_some(application))
    }

    /// Sets the policies of a variant on its threads.
    pub(crate) fn raise(
        &self,
        variant: Variant,
        priorities: Priorities,
        root: &Root,
    ) -> Result<()> {
        for thread in threads::list(root, self.group.id())?.threads {
            let Some(policy) = variant.policy_of(&thread.name, priorities) else { continue };
            // Threads that the VM starts later work for it, and inherit the policy.
            match set_policy(thread.id, policy, false) {
                // The thread has ended meanwhile.
                Err(error) if error.is_not_found() => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// The measuring thread: of the JVM, or of the process that it has started
    /// for the wake-ups.
    pub(crate) fn measuring_thread(&self, root: &Root) -> Result<Option<ThreadId>> {
        let jvm = self.group.id();
        for process in [vec![jvm], pid::children(root, jvm)].concat() {
            let threads = threads::list(root, process)?.threads;
            if let Some(thread) = threads.iter().find(|thread| thread.name == MEASURING) {
                return Ok(Some(thread.id));
            }
        }
        Ok(None)
    }

    /// Starts the measurement and waits until it is done, at most for
    /// `expected` and `patience` together. Returns false if it was interrupted.
    ///
    /// # Errors
    /// `Unsupported` if it hangs: in a process whose threads are all real-time, a
    /// spinning thread can keep the CPU from the thread that it waits for.
    pub(crate) fn measure(
        &mut self,
        [expected, patience]: [Nanos; 2],
        root: &Root,
        monitor: &dyn Monitor,
        progress: &mut dyn FnMut(Nanos),
    ) -> Result<bool> {
        self.input
            .write_all(b"go\n")
            .map_err(|error| Error::file("write", "stdin of the JVM", error))?;
        let until = Timestamp::now() + expected + patience;
        let before = threads::list(root, self.group.id())?.threads;
        let answer = self.wait_for("done", until, monitor, progress);
        if answer.is_err() && Timestamp::now() >= until && self.group.is_alive() {
            return Err(Error::Unsupported(format!(
                "the JVM hangs: it has not ended {patience} after its last wake-up was due{}",
                self.busiest(root, &before)?
            )));
        }
        answer
    }

    /// Names the thread that took most CPU time since `before`.
    fn busiest(&self, root: &Root, before: &[Thread]) -> Result<String> {
        let now = threads::list(root, self.group.id())?.threads;
        let taken = |thread: &Thread| {
            let then = before.iter().find(|then| then.id == thread.id);
            Nanos(thread.cpu_time.get() - then.map_or(0, |then| then.cpu_time.get()))
        };
        let busiest = now.iter().max_by_key(|thread| taken(thread));
        Ok(busiest.map_or_else(String::new, |thread| {
            format!("; {} has taken {} of CPU time", thread.name, taken(thread))
        }))
    }

    /// Waits until it has written its file and ended.
    pub(crate) fn end(mut self, monitor: &dyn Monitor) -> Result<()> {
        let until = Timestamp::now() + START_TIMEOUT;
        while self.group.is_alive() && !monitor.stop_requested() && Timestamp::now() < until {
            if let Ok(Line::Complaint(line)) = self.said.recv_timeout(LOOK) {
                self.complain(line);
            }
        }
        match self.group.end(Nanos::ZERO).status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.failure(&format!("ended with {status}"))),
            None => Err(self.failure("did not end")),
        }
    }

    fn wait_for(
        &mut self,
        word: &str,
        until: Timestamp,
        monitor: &dyn Monitor,
        progress: &mut dyn FnMut(Nanos),
    ) -> Result<bool> {
        let begin = Timestamp::now();
        loop {
            match self.said.recv_timeout(LOOK) {
                Ok(Line::Out(line)) if line.split(' ').next() == Some(word) => return Ok(true),
                Ok(Line::Complaint(line)) => self.complain(line),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.failure(&format!("ended before it was {word}")));
                }
                Ok(Line::Out(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if monitor.stop_requested() {
                return Ok(false);
            }
            let now = Timestamp::now();
            if now >= until {
                return Err(self.failure(&format!("is not {word} after {}", now.since(begin))));
            }
            progress(now.since(begin));
        }
    }

    /// Keeps the last lines.
    fn complain(&mut self, line: String) {
        self.complaints.push_back(line);
        if self.complaints.len() > SHOWN {
            self.complaints.pop_front();
        }
    }

    fn failure(&self, what: &str) -> Error {
        let said = self.complaints.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        Error::Invalid(format!("the measuring application {what}{said}"))
    }
}

fn forward(
    from: impl Read + Send + 'static,
    line: impl Fn(String) -> Line + Send + 'static,
    to: SyncSender<Line>,
) {
    std::thread::spawn(move || {
        // Read to the end even without a receiver: a JVM whose pipe is full blocks.
        each_line(from, |text| drop(to.send(line(text.to_owned()))));
    });
}
