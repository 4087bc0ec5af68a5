//! All who ask, served side by side by one thread that waits for none of them.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::ControlSocket;
use super::asker::{Asker, Progress};
use super::room::{Rank, Verdict, judge};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::wait::Doorbell;
use unjank_units::Nanos;

/// How long to wait for a descriptor where none is left.
const AGAIN: Nanos = Nanos::from_millis(200);
/// So many are let in before those inside are looked at again.
const MOST_AT_ONCE: usize = 256;

/// Tells those who ask apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskerId(u64);

/// A question that was heard to its end.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// Who asks.
    pub asker: AskerId,
    /// The line, without its end.
    pub line: String,
    /// Whether the asker may change something.
    pub may_change: bool,
    rank: Rank,
}

/// Those who ask on a socket. There is room for a few of each user, and always
/// for root and the service's own user; who takes too long to ask, or to take
/// its answer, is dropped.
#[derive(Debug)]
pub struct Askers {
    socket: Arc<ControlSocket>,
    /// In the order in which they came.
    present: Vec<(AskerId, Asker)>,
    came: u64,
    /// When a descriptor may be there again.
    rests_until: Option<Timestamp>,
    held_up: String,
}

impl Askers {
    /// Nobody so far. `held_up` is the answer to whom the service does not
    /// answer in time.
    ///
    /// # Errors
    /// `File` if the socket cannot be used so.
    pub fn new(socket: Arc<ControlSocket>, held_up: String) -> Result<Self> {
        let failed = |error| Error::file("listen at", socket.path(), error);
        socket.listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { socket, present: Vec::new(), came: 0, rests_until: None, held_up })
    }

    /// Waits until there are questions, or until `bell` is rung. Those of root
    /// and of the service's own user come first.
    ///
    /// # Errors
    /// `poll(2)` as a whole failed, for want of memory.
    pub fn questions(&mut self, bell: &Doorbell) -> Result<Vec<Question>> {
        let mut questions = Vec::new();
        loop {
            let (news, is_rung) = self.wait(bell)?;
            self.go_on(&news, &mut questions);
            self.give_up(Timestamp::now());
            self.let_in(&mut questions);
            if is_rung || !questions.is_empty() {
                questions.sort_by_key(|question| std::cmp::Reverse(question.rank));
                return Ok(questions);
            }
        }
    }

    /// Answers with one line; who has gone meanwhile hears nothing.
    pub fn answer(&mut self, to: AskerId, line: &str) {
        let place = self.present.iter().position(|(id, _)| *id == to);
        if let Some(place) = place
            && self.present[place].1.answer(line) == Progress::Over
        {
            self.present.remove(place);
        }
    }

    /// What has come of each asker, and whether the bell was rung.
    fn wait(&mut self, bell: &Doorbell) -> Result<(Vec<PollFlags>, bool)> {
        let now = Timestamp::now();
        self.rests_until = self.rests_until.filter(|until| *until > now);
        let until = self.present.iter().map(|(_, asker)| asker.until()).chain(self.rests_until);
        let left = until.min().map(|until| until.since(now).get());
        let timeout = left.map(|left| Timespec {
            tv_sec: (left / 1_000_000_000) as _,
            tv_nsec: (left % 1_000_000_000) as _,
        });
        let comes = if self.rests_until.is_some() { PollFlags::empty() } else { PollFlags::IN };
        let listener = self.socket.listener.as_fd();
        let own = [(bell.as_fd(), PollFlags::IN), (listener, comes)];
        let theirs = self.present.iter().map(|(_, asker)| asker.awaited());
        let mut fds: Vec<PollFd<'_>> = own
            .into_iter()
            .chain(theirs)
            .map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags))
            .collect();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::syscall("poll", "who asks", error)),
        }
        let is_rung = !fds[0].revents().is_empty();
        Ok((fds[2..].iter().map(PollFd::revents).collect(), is_rung))
    }

    fn go_on(&mut self, news: &[PollFlags], questions: &mut Vec<Question>) {
        let mut news = news.iter();
        self.present.retain_mut(|(id, asker)| match news.next() {
            Some(event) if !event.is_empty() => stays(asker.go_on(*event), *id, asker, questions),
            _ => true,
        });
    }

    fn give_up(&mut self, now: Timestamp) {
        self.present.retain_mut(|(_, asker)| {
            let late = asker.until() <= now;
            !late || asker.is_served() && asker.answer(&self.held_up) == Progress::Pending
        });
    }

    /// Lets those in who wait at the door.
    fn let_in(&mut self, questions: &mut Vec<Question>) {
        if self.rests_until.is_some() {
            return;
        }
        for _ in 0..MOST_AT_ONCE {
            match self.socket.listener.accept() {
                Ok((stream, _)) => self.admit(stream, questions),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                // No descriptor is left, for the moment: others need it more.
                Err(_) => {
                    self.rests_until = Some(Timestamp::now() + AGAIN);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, stream: UnixStream, questions: &mut Vec<Question>) {
        let asker = self.socket.place.group().and_then(|group| Asker::new(stream, group));
        let Ok(mut asker) = asker else { return };
        let present: Vec<_> = self.present.iter().map(|(_, asker)| asker.guest).collect();
        match judge(&present, asker.guest) {
            Verdict::Welcome => {}
            Verdict::InsteadOf(place) => drop(self.present.remove(place)),
            Verdict::TurnedAway => return,
        }
        self.came += 1;
        let id = AskerId(self.came);
        // Most have asked by now.
        let progress = asker.go_on(PollFlags::IN);
        if stays(progress, id, &asker, questions) {
            self.present.push((id, asker));
        }
    }
}

/// Whether an asker is still there; what it has asked goes to `questions`.
fn stays(progress: Progress, id: AskerId, asker: &Asker, questions: &mut Vec<Question>) -> bool {
    match progress {
        Progress::Pending => true,
        Progress::Over => false,
        Progress::Asked(line) => {
            let rank = asker.guest.rank;
            questions.push(Question { asker: id, line, may_change: rank > Rank::Anybody, rank });
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use super::super::ask;
    use super::*;

    const PATIENT: Duration = Duration::from_secs(600);

    /// A service that echoes until `bell` is rung.
    fn echo(path: &Path, meanwhile: impl FnOnce()) {
        let socket = Arc::new(ControlSocket::listen(path).unwrap());
        let mut askers = Askers::new(socket, "late".to_owned()).unwrap();
        let bell = Doorbell::new().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    for question in askers.questions(&bell).unwrap() {
                        assert!(question.may_change, "it is the service's own user");
                        askers.answer(question.asker, &format!("{}!", question.line));
                    }
                    if bell.quiet() {
                        return;
                    }
                }
            });
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(meanwhile));
            bell.ring();
            done.unwrap();
        });
    }

    #[test]
    fn who_says_nothing_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        echo(&path, || {
            let silent: Vec<_> = (0..600).map(|_| UnixStream::connect(&path).unwrap()).collect();
            for number in 0..20 {
                let question = format!("question {number}");
                assert_eq!(ask(&path, &question, PATIENT).unwrap(), format!("{question}!"));
            }
            drop(silent);
        });
    }

    #[test]
    fn who_says_nothing_or_too_much_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        echo(&path, || {
            let mut silent = UnixStream::connect(&path).unwrap();
            assert_eq!(silent.read(&mut [0]).unwrap(), 0);
            let mut loud = UnixStream::connect(&path).unwrap();
            // It is cut off when the service has heard enough.
            let _cut_off = loud.write_all(&vec![b'x'; 10 << 20]);
            assert!(matches!(loud.read(&mut [0]), Ok(0) | Err(_)));
            assert_eq!(ask(&path, "how", PATIENT).unwrap(), "how!");
        });
    }

    #[test]
    fn who_does_not_take_its_answer_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let socket = Arc::new(ControlSocket::listen(&path).unwrap());
        let mut askers = Askers::new(socket, String::new()).unwrap();
        let bell = Doorbell::new().unwrap();
        let mut deaf = UnixStream::connect(&path).unwrap();
        deaf.write_all(b"much\n").unwrap();
        let question = askers.questions(&bell).unwrap().pop().unwrap();
        askers.answer(question.asker, &"x".repeat(64 << 20));
        assert_eq!(askers.present.len(), 1, "it has not taken all");
        let mut next = UnixStream::connect(&path).unwrap();
        next.write_all(b"next\n").unwrap();
        assert_eq!(askers.questions(&bell).unwrap()[0].line, "next");
        askers.give_up(Timestamp::now() + Nanos::from_millis(1_000));
        assert!(askers.present.iter().all(|(id, _)| *id != question.asker));
    }
}
