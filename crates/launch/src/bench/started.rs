//! One program, from its start until it is ready, or is not.

use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use unjank_host::notify::Listener;
use unjank_host::process::group::{ProcessGroup, wait_for_end};
use unjank_host::{Error, Nanos, Result, Timestamp};

use super::options::{Options, Program};
use super::ready::{self, Line, Port, Ready, Window};

/// How long after a program's end it is looked whether it had been ready.
const GRACE: Nanos = Nanos::from_millis(200);
/// Between two looks whether the user wants to stop, or all is over.
const LOOK: Nanos = Nanos::from_millis(50);

/// A program that was started. When this is dropped, it and all of its process
/// group are killed.
#[derive(Debug)]
pub(super) struct Started {
    began: Timestamp,
    ready: Ready,
    group: ProcessGroup,
    events: Receiver<Event>,
    lookout: Lookout,
    stderr: Arc<Mutex<String>>,
}

/// What threads that watch it say.
#[derive(Debug)]
enum Event {
    Ready { at: Timestamp, line: Option<String> },
    Ended(Timestamp),
    OutputEnded,
    Failed(Error),
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Came {
    /// It was ready.
    Ready {
        /// From just before fork and exec.
        took: Nanos,
        /// The line by which it said so.
        line: Option<String>,
    },
    /// It ended before that.
    Ended,
    /// It was not ready in time.
    TimedOut,
    /// The user wants to stop.
    Interrupted,
}

/// The thread that looks out for the program to be ready. It ends with this, and
/// what it has made for that is gone.
#[derive(Debug)]
struct Lookout {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What must be there before the program is.
enum Outlook {
    Nothing,
    Port(Port),
    Listener(Listener),
    Window(Box<Window>),
}

impl Started {
    /// Starts it. The time begins just before that.
    ///
    /// # Errors
    /// There is no such program; its port is in use; no display.
    pub(super) fn begin(program: &Program, options: &Options) -> Result<Self> {
        let outlook = Outlook::of(&program.ready, options)?;
        let [name, arguments @ ..] = program.command.as_slice() else {
            return Err(Error::Invalid("there is no command to launch".to_owned()));
        };
        let reads = matches!(program.ready, Ready::Stdout(_));
        let mut command = Command::new(name);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(if reads { Stdio::piped() } else { Stdio::null() })
            .stderr(Stdio::piped());
        match &outlook {
            Outlook::Listener(listener) => command.env("NOTIFY_SOCKET", listener.path()),
            // A manager of unjank's own is not to hear of other programs.
            _ => command.env_remove("NOTIFY_SOCKET"),
        };
        let began = Timestamp::now();
        let mut group = ProcessGroup::start(&mut command).map_err(|error| match error {
            Error::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Error::Invalid(format!("there is no command {}", name.display()))
            }
            error => error,
        })?;
        let (sender, events) = mpsc::channel();
        let (stdout, stderr) = group.take_output();
        let leader = group.id();
        let lookout = Lookout::begin(outlook, leader, sender.clone())?;
        if let (Ready::Stdout(expression), Some(stdout)) = (&program.ready, stdout) {
            let sender = sender.clone();
            ready::watch_stdout(stdout, Some(expression.clone()), move |line| {
                tell(&sender, line.map_or(Event::OutputEnded, Event::from));
            })?;
        }
        spawn(move || {
            // Once reaped it is no child any more, and nobody asks.
            if let Ok(at) = wait_for_end(leader) {
                tell(&sender, Event::Ended(at));
            }
        })?;
        let stderr = match stderr {
            Some(stderr) => ready::last_lines(stderr)?,
            None => Arc::default(),
        };
        Ok(Self { began, ready: program.ready.clone(), group, events, lookout, stderr })
    }

    /// Waits until it is ready, has ended, or has taken `timeout`.
    ///
    /// # Errors
    /// What was watched has failed.
    pub(super) fn wait(&mut self, timeout: Nanos, stop: &dyn Fn() -> bool) -> Result<Came> {
        if matches!(self.ready, Ready::AtOnce) {
            return Ok(Came::Ready { took: Timestamp::now().since(self.began), line: None });
        }
        let mut limit = self.began + timeout;
        let (mut ended, mut output_ended) = (false, false);
        loop {
            let now = Timestamp::now();
            if stop() {
                return Ok(Came::Interrupted);
            }
            if now >= limit || (ended && output_ended) {
                return Ok(if ended { Came::Ended } else { Came::TimedOut });
            }
            let event = match self.events.recv_timeout(limit.since(now).min(LOOK).into()) {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    (now + LOOK).min(limit).sleep_until();
                    continue;
                }
            };
            match event {
                Event::Ready { at, line } => {
                    return Ok(Came::Ready { took: at.since(self.began), line });
                }
                Event::Ended(at) if matches!(self.ready, Ready::Exit) => {
                    return Ok(Came::Ready { took: at.since(self.began), line: None });
                }
                Event::Ended(at) => (ended, limit) = (true, limit.min(at + GRACE)),
                Event::OutputEnded => output_ended = true,
                Event::Failed(error) => return Err(error),
            }
        }
    }

    /// Whether it has not ended yet.
    pub(super) fn is_alive(&self) -> bool {
        self.group.is_alive()
    }

    /// The last lines that it printed on stderr so far.
    pub(super) fn last_words(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks it to end, and kills it after `patience`: how it ended.
    pub(super) fn end(mut self, patience: Nanos) -> Option<ExitStatus> {
        self.lookout.over.store(true, Ordering::Relaxed);
        self.group.end(patience)
    }
}

impl Lookout {
    fn begin(outlook: Outlook, leader: u32, events: Sender<Event>) -> Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = spawn(move || outlook.watch(leader, &events, &is_over))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _it_has_told_what_it_saw = thread.join();
        }
    }
}

impl Outlook {
    fn of(ready: &Ready, options: &Options) -> Result<Self> {
        Ok(match ready {
            Ready::Exit | Ready::Stdout(_) | Ready::AtOnce => Self::Nothing,
            Ready::Port(port) => {
                Port(*port).must_be_free()?;
                Self::Port(Port(*port))
            }
            Ready::Notify => Self::Listener(Listener::bind(&options.sockets)?),
            Ready::Window => Self::Window(Box::new(Window::watch(options.display.as_deref())?)),
        })
    }

    fn watch(self, leader: u32, events: &Sender<Event>, over: &AtomicBool) {
        let is_over = || over.load(Ordering::Relaxed);
        let found = match self {
            Self::Nothing => Ok(None),
            Self::Port(port) => Ok(port.wait(is_over)),
            Self::Window(window) => window.wait(leader, is_over),
            Self::Listener(listener) => loop {
                match listener.ready_within(LOOK) {
                    Ok(None) if !is_over() => {}
                    found => break found,
                }
            },
        };
        match found {
            Ok(Some(at)) => tell(events, Event::Ready { at, line: None }),
            Ok(None) => {}
            Err(error) => tell(events, Event::Failed(error)),
        }
    }
}

impl From<Line> for Event {
    fn from(Line { at, text }: Line) -> Self {
        Self::Ready { at, line: Some(text) }
    }
}

fn tell(events: &Sender<Event>, event: Event) {
    // Nobody listens once the launch is over.
    let _nobody_listens = events.send(event);
}

fn spawn(watch: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new()
        .spawn(watch)
        .map_err(|error| Error::syscall("clone", "a thread that watches a program", error))
}
