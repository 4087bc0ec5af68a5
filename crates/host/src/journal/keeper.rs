//! The keeper: a process that puts everything back if its owner is killed.
//!
//! The two talk over a socket that is the keeper's standard input:
//!
//! | owner | keeper |
//! |---|---|
//! | starts it and sends the order: which journal of which tree | |
//! | | `up`: in a session of its own, deaf to Ctrl-C, order understood |
//! | makes and locks the journal, sends `watch` | |
//! | | `ready`, then waits for the lock of the journal |
//! | changes knobs, puts them back, removes the journal, ends | |
//! | | gets the lock, finds nothing, ends |
//!
//! If the owner dies at any place in this table, the socket closes or the
//! lock comes free, and the keeper looks for the journal. There is no moment
//! with a journal and without somebody to see to it.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::file::{Claim, JournalFile};
use super::report::ChangeReport;
use super::site::Site;
use super::stale::clear;
use super::state_dir::StateDir;
use super::undo::Mode;
use crate::error::{Error, Result};
use crate::root::Root;

/// The longest order or answer.
const LONGEST_LINE: u64 = 64 << 10;
/// How long a keeper may take to start on a machine that is very busy.
const SLOWEST_START: Duration = Duration::from_secs(30);
/// How long an owner waits for its keeper to end. It has nothing left to do.
const SLOWEST_END: Duration = Duration::from_secs(5);

/// How to start a keeper: a program that calls [`keep`] with its standard
/// input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeeperCommand {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl KeeperCommand {
    /// The program and its arguments.
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments }
    }

    /// The very program that runs now, even if its file has been replaced.
    pub fn this_program<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self::new("/proc/self/exe", arguments)
    }
}

/// What a keeper has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) root: String,
    pub(super) state_dir: PathBuf,
    pub(super) journal: String,
}

/// The owner's side of a keeper.
#[derive(Debug)]
pub(super) struct Keeper {
    command: KeeperCommand,
    order: Order,
    child: Child,
    line: BufReader<UnixStream>,
}

impl Keeper {
    /// Starts a keeper and waits until it is `up`.
    pub(super) fn start(command: KeeperCommand, order: Order) -> Result<Self> {
        let failed = |source| Error::file("start the keeper", &command.program, source);
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        ours.set_read_timeout(Some(SLOWEST_START)).map_err(failed)?;
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut keeper = Self { command, order, child, line: BufReader::new(ours) };
        let order = serde_json::to_string(&keeper.order).expect("an order is plain text");
        keeper.say(&order, "up")?;
        Ok(keeper)
    }

    /// Tells it that the journal is there, and waits until it is `ready`.
    pub(super) fn watch(&mut self) -> Result<()> {
        self.say("watch", "ready")
    }

    /// Starts another one if this one is gone: somebody may have killed it.
    pub(super) fn ensure(&mut self) -> Result<()> {
        if matches!(self.child.try_wait(), Ok(None)) {
            return Ok(());
        }
        *self = Self::start(self.command.clone(), self.order.clone())?;
        self.watch()
    }

    fn say(&mut self, words: &str, expected: &str) -> Result<()> {
        // The errors of the socket say nothing to the user, and "broken pipe"
        // would be taken for a reader of our output that went away.
        let _an_answer_tells = self.line.get_ref().write_all(format!("{words}\n").as_bytes());
        let mut answer = String::new();
        let heard = self.line.by_ref().take(LONGEST_LINE).read_line(&mut answer);
        let answer = answer.trim_end();
        if answer == expected {
            return Ok(());
        }
        let problem = match heard {
            Ok(_) if !answer.is_empty() => answer.to_owned(),
            Err(error) if !says_ended(&error) => format!("no answer from it: {error}"),
            _ => "it ended before it was ready".to_owned(),
        };
        let _it_may_be_gone = self.child.kill();
        let _reaped = self.child.wait();
        let program = &self.command.program;
        Err(Error::file("start the keeper", program, io::Error::other(problem)))
    }
}

/// Waits for the keeper's end: the journal is let go, or was never made.
impl Drop for Keeper {
    fn drop(&mut self) {
        let stream = self.line.get_ref();
        let _it_may_be_gone = stream.shutdown(Shutdown::Write);
        let _for_the_wait = stream.set_read_timeout(Some(SLOWEST_END));
        // Its end closes the socket. A keeper that somebody has stopped is
        // left alone rather than waited for.
        let heard = self.line.read_exact(&mut [0]);
        if heard.is_err_and(|error| says_ended(&error)) {
            let _reaped = self.child.wait();
        }
    }
}

/// The other end is closed; abruptly, if it had not read everything.
fn says_ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}

/// What a keeper had to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The owner, where its journal tells.
    pub pid: Option<u32>,
    /// What its owner had left changed, oldest first: nothing if the owner
    /// came to its normal end.
    pub changes: Vec<ChangeReport>,
    /// The journal, if it is still there because something failed.
    pub left: Option<PathBuf>,
}

/// Makes the calling process a keeper: takes its order from `owner`, waits
/// for the owner's end, and puts back what is left then. Changes the process
/// for good: it leaves its terminal and ignores the signals that ask to end.
///
/// # Errors
/// The order makes no sense, or the state directory cannot be used; the owner
/// hears of it too.
pub fn keep(owner: OwnedFd) -> Result<Kept> {
    let mut owner = BufReader::new(UnixStream::from(owner));
    leave_the_owners_group();
    let (site, state, journal) = match take_order(&mut owner) {
        Ok(order) => order,
        Err(error) => {
            answer(&owner, &error.to_string());
            return Err(error);
        }
    };
    answer(&owner, "up");
    // Whether this is `watch` or the owner's end, the journal is what counts.
    let _watch = owner.by_ref().take(LONGEST_LINE).read_line(&mut String::new());
    answer(&owner, "ready");
    match JournalFile::wait_for(&state, &journal)? {
        Claim::Ours(file, bytes) => {
            let found = clear(&site, &state, file, &bytes, Mode::Act);
            let left = found.is_unresolved().then_some(found.file);
            Ok(Kept { pid: found.pid, changes: found.changes, left })
        }
        Claim::Held(_) | Claim::Gone => Ok(Kept { pid: None, changes: Vec::new(), left: None }),
    }
}

fn take_order(owner: &mut BufReader<UnixStream>) -> Result<(Site, StateDir, String)> {
    let mut order = String::new();
    let no_order = |reason: String| {
        Error::Invalid(format!("a keeper is started by the program it keeps: {reason}"))
    };
    owner.take(LONGEST_LINE).read_line(&mut order).map_err(|e| no_order(e.to_string()))?;
    let order: Order = serde_json::from_str(&order).map_err(|e| no_order(e.to_string()))?;
    let site = Site::of(&Root::at(&order.root))?;
    let is_a_name = Path::new(&order.journal).file_name() == Some(order.journal.as_ref());
    let state = StateDir::open_if_there(&order.state_dir)?;
    match state {
        Some(state) if is_a_name => Ok((site, state, order.journal)),
        _ => Err(no_order(format!("there is no {}", order.state_dir.display()))),
    }
}

fn answer(owner: &BufReader<UnixStream>, word: &str) {
    // An owner that is gone needs no answer.
    let _nobody_listens = owner.get_ref().write_all(format!("{word}\n").as_bytes());
}

/// Away from everything that ends a group of processes together, except for
/// what cannot be escaped: a cgroup that is killed as a whole.
fn leave_the_owners_group() {
    for signal in [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGTSTP,
        libc::SIGPIPE,
    ] {
        // SAFETY: signal(2) with SIG_IGN installs no code, and these signals
        // may all be ignored.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // A leader of a process group has left already, `/` is always there, and
    // the rest is courtesy: a name to be found by, and the wish to be spared
    // when the memory is full.
    let _left = rustix::process::setsid();
    let _nothing_in_use = rustix::process::chdir("/");
    let _named = rustix::thread::set_name(c"unjank-keeper");
    let _spared = Root::system().write("/proc/self/oom_score_adj", "-1000");
}
