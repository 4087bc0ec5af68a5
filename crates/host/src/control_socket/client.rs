//! One connection: its user, its question so far, and the rest of its answer.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::admission::{Peer, Rank};
use super::line_reader::{LineProgress, LineReader};
use crate::clock::Timestamp;
use unjank_units::Nanos;

/// How long a client may take to ask, and to read its answer. It needs a CPU for
/// that, which a busy machine may give it late.
const CLIENT_TIMEOUT: Nanos = Nanos::from_millis(5_000);
/// The same for root and the service's own user.
const OWNER_TIMEOUT: Nanos = Nanos::from_millis(60_000);
/// How long the service may take for the answer.
const SERVICE_TIMEOUT: Nanos = Nanos::from_millis(30_000);
/// The most groups of one process that are read.
const MOST_GROUPS: usize = 256;

/// A client of the service.
#[derive(Debug)]
pub(super) struct Client {
    stream: UnixStream,
    pub(super) peer: Peer,
    stage: Stage,
    until: Timestamp,
}

#[derive(Debug)]
enum Stage {
    Reading(LineReader),
    Waiting,
    Writing { answer: Vec<u8>, written: usize },
}

/// The result of handling an event of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has more to read or write.
    Pending,
    /// It has asked this question.
    Asked(String),
    /// It is finished: answered, gone, or dropped.
    Done,
}

impl Client {
    /// The client at the other end of `stream`; `group` owns the socket.
    ///
    /// # Errors
    /// The kernel does not identify it.
    pub(super) fn new(stream: UnixStream, group: u32) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let peer = socket_peercred(&stream)?;
        let user = peer.uid.as_raw();
        let rank = if user == 0 || user == geteuid().as_raw() {
            Rank::Owner
        } else if peer.gid.as_raw() == group || groups_of(&stream).contains(&group) {
            Rank::Member
        } else {
            Rank::Reader
        };
        let until = Timestamp::now() + patience(rank);
        Ok(Self {
            stream,
            peer: Peer { user, rank },
            stage: Stage::Reading(LineReader::question()),
            until,
        })
    }

    /// The moment at which it is dropped.
    pub(super) fn until(&self) -> Timestamp {
        self.until
    }

    /// Whether it has asked, and waits for the service.
    pub(super) fn is_served(&self) -> bool {
        matches!(self.stage, Stage::Waiting)
    }

    /// The events to poll for.
    pub(super) fn interest(&self) -> (BorrowedFd<'_>, PollFlags) {
        let flags = match self.stage {
            Stage::Reading(_) => PollFlags::IN,
            // `poll(2)` always reports a hang-up.
            Stage::Waiting => PollFlags::empty(),
            Stage::Writing { .. } => PollFlags::OUT,
        };
        (self.stream.as_fd(), flags)
    }

    /// Handles `event`.
    pub(super) fn handle(&mut self, event: PollFlags) -> Progress {
        match &mut self.stage {
            Stage::Waiting if event.is_empty() => Progress::Pending,
            Stage::Waiting => Progress::Done,
            Stage::Writing { .. } => self.write_answer(),
            Stage::Reading(_) => self.read_question(),
        }
    }

    /// Answers with one line.
    pub(super) fn answer(&mut self, line: &str) -> Progress {
        self.stage = Stage::Writing { answer: format!("{line}\n").into_bytes(), written: 0 };
        self.until = Timestamp::now() + patience(self.peer.rank);
        self.write_answer()
    }

    /// Reads what is available once, so that a client that never stops sending
    /// does not delay others.
    fn read_question(&mut self) -> Progress {
        let Stage::Reading(reader) = &mut self.stage else { return Progress::Pending };
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) => Progress::Done,
            Ok(length) => match reader.take(&piece[..length]) {
                LineProgress::More => Progress::Pending,
                LineProgress::Invalid => Progress::Done,
                LineProgress::Line(line) => {
                    self.stage = Stage::Waiting;
                    self.until = Timestamp::now() + SERVICE_TIMEOUT;
                    Progress::Asked(line)
                }
            },
            Err(error) => later(&error),
        }
    }

    fn write_answer(&mut self) -> Progress {
        let Stage::Writing { answer, written } = &mut self.stage else { return Progress::Pending };
        while *written < answer.len() {
            match self.stream.write(&answer[*written..]) {
                Ok(0) => return Progress::Done,
                Ok(length) => *written += length,
                Err(error) => return later(&error),
            }
        }
        Progress::Done
    }
}

/// How long a client may take to ask, and to read its answer.
pub(super) fn patience(rank: Rank) -> Nanos {
    if rank == Rank::Owner { OWNER_TIMEOUT } else { CLIENT_TIMEOUT }
}

fn later(error: &io::Error) -> Progress {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Progress::Pending,
        _ => Progress::Done,
    }
}

/// The supplementary groups of the client: `socket(7)`, `SO_PEERGROUPS`. Empty
/// if there are too many.
fn groups_of(stream: &UnixStream) -> Vec<u32> {
    let mut groups = [0_u32; MOST_GROUPS];
    let mut length = size_of_val(&groups) as libc::socklen_t;
    // SAFETY: getsockopt(2) writes no more than `length` bytes to the address,
    // and how many it wrote to `length`.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut length,
        )
    } != 0;
    let count = if failed { 0 } else { length as usize / size_of::<u32>() };
    groups[..count.min(MOST_GROUPS)].to_vec()
}
