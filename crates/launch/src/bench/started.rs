//! One program from its start until it is ready, ends or times out.

use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use unjank_host::notify::Listener;
use unjank_host::process::group::{GroupEnd, ProcessGroup, wait_for_end};
use unjank_host::process::strays::{Strays, change_policy};
use unjank_host::sched::{InheritedPolicy, Policy, ThreadId};
use unjank_host::{Error, Nanos, Result, Root, Timestamp};

use super::options::{Program, ReadyMeans};
use super::ready::{self, Displays, Line, Patience, Port, Ready, Relay, Window};

/// How long after the end of a program and of its descendants their readiness may still be
/// reported: on a busy machine, the thread that reads the report gets a CPU late.
const GRACE: Nanos = Nanos::from_millis(1_000);
/// Interval between checks whether to stop.
const INTERVAL: Nanos = Nanos::from_millis(50);

/// A running program. Dropping this kills its whole process group.
#[derive(Debug)]
pub struct Started {
    began: Timestamp,
    ready: Ready,
    group: ProcessGroup,
    events: Receiver<Event>,
    watcher: ReadyWatcher,
    stderr: Arc<Mutex<String>>,
    /// Processes that left the group, as daemons do; `None` for a service.
    strays: Option<Strays>,
    other_policy: Option<OtherPolicy>,
    /// Its way to its compositor, which is open until it has ended.
    _relay: Option<Relay>,
}

/// A policy that the program has for this launch only.
#[derive(Debug)]
struct OtherPolicy {
    policy: Policy,
    before: Policy,
}

/// How a program that was asked to end has ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ending {
    /// The exit status of its first process.
    pub status: Option<ExitStatus>,
    /// Whether a process that it started had to be killed.
    pub was_killed: bool,
    /// Processes that it started and that run on, outside its group. They have the policy of this
    /// process again, if the launch had another one.
    pub left: usize,
}

/// Events from the threads that watch the program.
#[derive(Debug)]
enum Event {
    Ready { at: Timestamp, line: Option<String>, by: ThreadId },
    Ended(Timestamp),
    OutputEnded,
    Failed(Error),
}

/// The result of waiting for readiness.
#[derive(Debug)]
pub enum WaitResult {
    /// It was ready.
    Ready {
        /// Time from just before fork and exec until then.
        took: Nanos,
        /// The line that reported it.
        line: Option<String>,
        /// The thread of this process that noticed it; `None` if the end or the
        /// start of the program is meant.
        by: Option<ThreadId>,
    },
    /// It ended before it was ready, and so did its descendants in its group.
    Ended,
    /// It was not ready in time.
    TimedOut,
    /// The user wants to stop.
    Interrupted,
}

/// The thread that waits until the program is ready. Dropping this ends it and
/// removes what it made.
#[derive(Debug)]
struct ReadyWatcher {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The source of the readiness report, opened before the program starts.
enum ReadySource {
    Nothing,
    Port(Port),
    Listener(Listener),
    Window(Box<Window>),
}

impl Started {
    /// Starts the program. Its time begins just before that.
    ///
    /// # Errors
    /// The program does not exist; its port is in use; no display.
    pub fn begin(program: &Program, means: &ReadyMeans, patience: &Patience<'_>) -> Result<Self> {
        let (sender, events) = mpsc::channel();
        let (source, relay) = ReadySource::of(&program.ready, means, patience, &sender)?;
        let [name, arguments @ ..] = program.command.as_slice() else {
            return Err(Error::Invalid("give a command to launch".to_owned()));
        };
        let is_ready = program.ready.line();
        let mut command = Command::new(name);
        command
            .args(arguments)
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(if is_ready.is_some() { Stdio::piped() } else { Stdio::null() })
            .stderr(Stdio::piped());
        match &source {
            ReadySource::Listener(listener) => command.env("NOTIFY_SOCKET", listener.path()),
            // Other programs must not notify unjank's own service manager.
            _ => command.env_remove("NOTIFY_SOCKET"),
        };
        if let Some(relay) = &relay {
            // A connection that somebody has opened for it already comes first.
            command.env("WAYLAND_DISPLAY", relay.path()).env_remove("WAYLAND_SOCKET");
        }
        if let Some(group) = &program.group {
            group.enter(&mut command)?;
        }
        let strays = if program.is_service { None } else { Some(Strays::watch()?) };
        let inherited = match program.policy {
            Some(policy) => Some((policy, InheritedPolicy::enter(&Root::system(), policy)?)),
            None => None,
        };
        let began = Timestamp::now();
        let group = ProcessGroup::start(&mut command);
        let other_policy =
            inherited.map(|(policy, guard)| OtherPolicy { policy, before: guard.before() });
        let mut group = group.map_err(|error| match error {
            Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Error::Invalid(format!("command not found: {}", name.display()))
            }
            error => error,
        })?;
        let (stdout, stderr) = group.take_output();
        let leader = group.id();
        let watcher = ReadyWatcher::begin(source, leader, sender.clone())?;
        if let (Some(is_ready), Some(stdout)) = (is_ready, stdout) {
            let sender = sender.clone();
            ready::watch_stdout(stdout, is_ready, move |line| {
                send(&sender, line.map_or(Event::OutputEnded, Event::from));
            })?;
        }
        spawn(move || {
            // Fails once the child is reaped, when nobody needs it.
            if let Ok(at) = wait_for_end(leader) {
                send(&sender, Event::Ended(at));
            }
        })?;
        let stderr = match stderr {
            Some(stderr) => ready::last_lines(stderr)?,
            None => Arc::default(),
        };
        Ok(Self {
            began,
            ready: program.ready.clone(),
            group,
            events,
            watcher,
            stderr,
            strays,
            other_policy,
            _relay: relay,
        })
    }

    /// Start time of the program.
    pub fn began(&self) -> Timestamp {
        self.began
    }

    /// Process id of its first process.
    pub fn process(&self) -> u32 {
        self.group.id()
    }

    /// Waits until it is ready, has ended, or has taken `timeout`.
    ///
    /// # Errors
    /// The port, socket, display or output failed.
    pub fn wait(&mut self, timeout: Nanos, stop: &dyn Fn() -> bool) -> Result<WaitResult> {
        if matches!(self.ready, Ready::AtOnce) {
            let took = Timestamp::now().since(self.began);
            return Ok(WaitResult::Ready { took, line: None, by: None });
        }
        let mut limit = self.began + timeout;
        let (mut ended, mut all_ended, mut output_ended) = (false, false, false);
        loop {
            let now = Timestamp::now();
            if stop() {
                return Ok(WaitResult::Interrupted);
            }
            // A script that starts a server may end long before the server is ready, and a server
            // may leave the group of the script.
            if ended && !all_ended && !self.any_runs() {
                (all_ended, limit) = (true, limit.min(now + GRACE));
            }
            if now >= limit || (all_ended && output_ended) {
                return Ok(if all_ended { WaitResult::Ended } else { WaitResult::TimedOut });
            }
            let event = match self.events.recv_timeout(limit.since(now).min(INTERVAL).into()) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    (now + INTERVAL).min(limit).sleep_until();
                    continue;
                }
            };
            match event {
                Event::Ready { at, line, by } => {
                    let took = at.since(self.began);
                    return Ok(WaitResult::Ready { took, line, by: Some(by) });
                }
                Event::Ended(at) if matches!(self.ready, Ready::Exit) => {
                    let took = at.since(self.began);
                    return Ok(WaitResult::Ready { took, line: None, by: None });
                }
                Event::Ended(_) => ended = true,
                Event::OutputEnded => output_ended = true,
                Event::Failed(error) => return Err(error),
            }
        }
    }

    /// Whether it or a process that it started still runs.
    fn any_runs(&mut self) -> bool {
        let program = self.group.id();
        self.group.any_runs() || self.strays.as_ref().is_some_and(|it| it.any_runs(program))
    }

    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        self.group.is_alive()
    }

    /// The last lines it printed on stderr so far.
    pub fn last_lines(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends SIGTERM, and SIGKILL after `grace`. If it was to be ready before its end, this is for
    /// all processes that it started: the server of a launch would be in the way of the next. A
    /// program that ends by itself may leave processes behind.
    pub fn end(mut self, grace: Nanos) -> Ending {
        let until = Timestamp::now() + grace;
        self.watcher.over.store(true, Ordering::Relaxed);
        let GroupEnd { status, mut was_killed } = self.group.end(grace);
        if let Some(strays) = self.strays.as_ref().filter(|_| !matches!(self.ready, Ready::Exit)) {
            was_killed |= strays.end(until.since(Timestamp::now()));
        }
        let left = self.strays.map_or_else(Vec::new, |strays| strays.left());
        if let Some(other) = self.other_policy {
            for process in &left {
                change_policy(*process, other.policy, other.before);
            }
        }
        Ending { status, was_killed, left: left.len() }
    }
}

impl ReadyWatcher {
    fn begin(source: ReadySource, leader: u32, events: Sender<Event>) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = spawn(move || source.watch(leader, &events, &is_over))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for ReadyWatcher {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

impl ReadySource {
    /// The source, and for a window on Wayland the relay, which reports by itself.
    fn of(
        ready: &Ready,
        means: &ReadyMeans,
        patience: &Patience<'_>,
        events: &Sender<Event>,
    ) -> Result<(Self, Option<Relay>)> {
        let source = match ready {
            Ready::Exit | Ready::Stdout(_) | Ready::Activity | Ready::AtOnce => Self::Nothing,
            Ready::Port(port) => {
                Port(*port).must_be_free()?;
                Self::Port(Port(*port))
            }
            Ready::Notify => Self::Listener(Listener::bind(&means.sockets)?),
            Ready::Window => {
                let events = events.clone();
                let report = move |at: Result<Timestamp>| {
                    send(&events, at.map_or_else(Event::Failed, Event::ready));
                };
                let Displays { x, wayland } = Displays::watch(means, patience, report)?;
                return Ok((x.map_or(Self::Nothing, Self::Window), wayland));
            }
        };
        Ok((source, None))
    }

    fn watch(self, leader: u32, events: &Sender<Event>, over: &AtomicBool) {
        let is_over = || over.load(Ordering::Relaxed);
        let found = match self {
            Self::Nothing => Ok(None),
            Self::Port(port) => Ok(port.wait(is_over)),
            Self::Window(window) => window.wait(leader, is_over),
            Self::Listener(listener) => loop {
                match listener.ready_within(INTERVAL) {
                    Ok(None) if !is_over() => {}
                    found => break found,
                }
            },
        };
        match found {
            Ok(Some(at)) => send(events, Event::ready(at)),
            Ok(None) => {}
            Err(error) => send(events, Event::Failed(error)),
        }
    }
}

impl Event {
    /// This thread has noticed that the program is ready.
    fn ready(at: Timestamp) -> Self {
        Self::Ready { at, line: None, by: ThreadId::current() }
    }
}

impl From<Line> for Event {
    fn from(Line { at, text, by }: Line) -> Self {
        Self::Ready { at, line: Some(text), by }
    }
}

fn send(events: &Sender<Event>, event: Event) {
    // The receiver is gone once the launch is over.
    let _receiver_is_gone = events.send(event);
}

fn spawn(watch: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new()
        .spawn(watch)
        .map_err(|error| Error::syscall("clone", "a thread that watches a program", error))
}
