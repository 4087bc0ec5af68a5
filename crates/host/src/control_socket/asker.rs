//! One connection: who it is, what it has said, and what is still to be said to it.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use super::heard::{Heard, Piece};
use super::room::{Guest, Rank};
use crate::clock::Timestamp;
use unjank_units::Nanos;

/// How long the other side may take to ask, and to take its answer.
const PATIENCE: Nanos = Nanos::from_millis(500);
/// How long the service may take for the answer.
const SERVICE: Nanos = Nanos::from_millis(30_000);
/// Groups of one process that are looked at.
const MOST_GROUPS: usize = 256;

/// Somebody who asks.
#[derive(Debug)]
pub(super) struct Asker {
    stream: UnixStream,
    pub(super) guest: Guest,
    stage: Stage,
    until: Timestamp,
}

#[derive(Debug)]
enum Stage {
    Asks(Heard),
    Waits,
    Hears { answer: Vec<u8>, said: usize },
}

/// What has come of looking at a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing yet.
    Pending,
    /// It has asked this.
    Asked(String),
    /// It is over: answered, gone, or given up.
    Over,
}

impl Asker {
    /// Who is at the other end of `stream`, where `group` is the socket's.
    ///
    /// # Errors
    /// The kernel does not say.
    pub(super) fn new(stream: UnixStream, group: u32) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let peer = socket_peercred(&stream)?;
        let user = peer.uid.as_raw();
        let rank = if user == 0 || user == geteuid().as_raw() {
            Rank::Owner
        } else if peer.gid.as_raw() == group || groups_of(&stream).contains(&group) {
            Rank::Member
        } else {
            Rank::Anybody
        };
        let until = Timestamp::now() + PATIENCE;
        Ok(Self {
            stream,
            guest: Guest { user, rank },
            stage: Stage::Asks(Heard::default()),
            until,
        })
    }

    /// When it is given up.
    pub(super) fn until(&self) -> Timestamp {
        self.until
    }

    /// Whether it has asked, and waits for the service.
    pub(super) fn is_served(&self) -> bool {
        matches!(self.stage, Stage::Waits)
    }

    /// What there is to wait for.
    pub(super) fn awaited(&self) -> (BorrowedFd<'_>, PollFlags) {
        let flags = match self.stage {
            Stage::Asks(_) => PollFlags::IN,
            // That it has gone is always told.
            Stage::Waits => PollFlags::empty(),
            Stage::Hears { .. } => PollFlags::OUT,
        };
        (self.stream.as_fd(), flags)
    }

    /// Goes on, after `event` has come.
    pub(super) fn go_on(&mut self, event: PollFlags) -> Progress {
        match &mut self.stage {
            Stage::Waits if event.is_empty() => Progress::Pending,
            Stage::Waits => Progress::Over,
            Stage::Hears { .. } => self.say(),
            Stage::Asks(_) => self.listen(),
        }
    }

    /// Answers with one line.
    pub(super) fn answer(&mut self, line: &str) -> Progress {
        self.stage = Stage::Hears { answer: format!("{line}\n").into_bytes(), said: 0 };
        self.until = Timestamp::now() + PATIENCE;
        self.say()
    }

    /// As much as is there, and no more than a line: who never ends cannot keep others waiting.
    fn listen(&mut self) -> Progress {
        let Stage::Asks(heard) = &mut self.stage else { return Progress::Pending };
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) => Progress::Over,
            Ok(length) => match heard.take(&piece[..length]) {
                Piece::More => Progress::Pending,
                Piece::Nonsense => Progress::Over,
                Piece::Line(line) => {
                    self.stage = Stage::Waits;
                    self.until = Timestamp::now() + SERVICE;
                    Progress::Asked(line)
                }
            },
            Err(error) => later(&error),
        }
    }

    fn say(&mut self) -> Progress {
        let Stage::Hears { answer, said } = &mut self.stage else { return Progress::Pending };
        while *said < answer.len() {
            match self.stream.write(&answer[*said..]) {
                Ok(0) => return Progress::Over,
                Ok(length) => *said += length,
                Err(error) => return later(&error),
            }
        }
        Progress::Over
    }
}

fn later(error: &io::Error) -> Progress {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Progress::Pending,
        _ => Progress::Over,
    }
}

/// The groups of whoever is at the other end, besides its first: `socket(7)`,
/// `SO_PEERGROUPS`. None where they are too many.
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
