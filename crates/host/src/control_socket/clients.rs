//! All clients, served concurrently by one thread that blocks on none of them.

use std::cmp::Reverse;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::ControlSocket;
use super::admission::{Admission, Rank, decide};
use super::client::{Client, Progress};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::wait::WakeEvent;
use unjank_units::Nanos;

/// The pause after running out of file descriptors.
const RETRY: Nanos = Nanos::from_millis(200);
/// The most connections accepted before the present ones are handled again.
const MOST_AT_ONCE: usize = 256;

/// Identifies a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientId(u64);

/// One line that a client sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// The client that asks.
    pub client: ClientId,
    /// The line, without its end.
    pub line: String,
    /// Whether the client may change something.
    pub may_change: bool,
    rank: Rank,
}

/// The clients of a socket. Each user may have a few connections, and root and
/// the service's own user can always connect. A client that takes too long to
/// ask, or to read its answer, is dropped.
#[derive(Debug)]
pub struct Clients {
    socket: Arc<ControlSocket>,
    /// Oldest first.
    present: Vec<(ClientId, Client)>,
    came: u64,
    /// The moment at which connections are accepted again after running out of descriptors.
    paused_until: Option<Timestamp>,
    too_late: String,
}

impl Clients {
    /// No clients so far. `too_late` is the answer to clients that the service
    /// does not answer in time.
    ///
    /// # Errors
    /// `File` if the socket cannot be made non-blocking.
    pub fn new(socket: Arc<ControlSocket>, too_late: String) -> Result<Self> {
        let failed = |error| Error::file("listen at", socket.path(), error);
        socket.listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { socket, present: Vec::new(), came: 0, paused_until: None, too_late })
    }

    /// Waits until there are questions, or until `wake` is sent. Questions of
    /// root and of the service's own user come first.
    ///
    /// # Errors
    /// `poll(2)` failed for lack of memory.
    pub fn questions(&mut self, wake: &WakeEvent) -> Result<Vec<Question>> {
        let mut questions = Vec::new();
        loop {
            let (news, is_woken) = self.wait(wake)?;
            self.handle(&news, &mut questions);
            self.drop_late(Timestamp::now());
            self.accept_all(&mut questions);
            if is_woken || !questions.is_empty() {
                return Ok(in_order(questions));
            }
        }
    }

    /// Sends one line as the answer. Does nothing if the client has gone.
    pub fn answer(&mut self, to: ClientId, line: &str) {
        let place = self.present.iter().position(|(id, _)| *id == to);
        if let Some(place) = place
            && self.present[place].1.answer(line) == Progress::Done
        {
            self.present.remove(place);
        }
    }

    /// The events of each client, and whether `wake` was sent.
    fn wait(&mut self, wake: &WakeEvent) -> Result<(Vec<PollFlags>, bool)> {
        let now = Timestamp::now();
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let until = self.present.iter().map(|(_, client)| client.until()).chain(self.paused_until);
        let left = until.min().map(|until| until.since(now).get());
        let timeout = left.map(|left| Timespec {
            tv_sec: (left / 1_000_000_000) as _,
            tv_nsec: (left % 1_000_000_000) as _,
        });
        let comes = if self.paused_until.is_some() { PollFlags::empty() } else { PollFlags::IN };
        let listener = self.socket.listener.as_fd();
        let own = [(wake.as_fd(), PollFlags::IN), (listener, comes)];
        let theirs = self.present.iter().map(|(_, client)| client.interest());
        let mut fds: Vec<PollFd<'_>> = own
            .into_iter()
            .chain(theirs)
            .map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags))
            .collect();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::syscall("poll", "the clients", error)),
        }
        let is_woken = !fds[0].revents().is_empty();
        Ok((fds[2..].iter().map(PollFd::revents).collect(), is_woken))
    }

    fn handle(&mut self, news: &[PollFlags], questions: &mut Vec<Question>) {
        let mut news = news.iter();
        self.present.retain_mut(|(id, client)| match news.next() {
            Some(event) if !event.is_empty() => {
                stays(client.handle(*event), *id, client, questions)
            }
            _ => true,
        });
    }

    fn drop_late(&mut self, now: Timestamp) {
        self.present.retain_mut(|(_, client)| {
            let late = client.until() <= now;
            !late || client.is_served() && client.answer(&self.too_late) == Progress::Pending
        });
    }

    /// Accepts waiting connections.
    fn accept_all(&mut self, questions: &mut Vec<Question>) {
        if self.paused_until.is_some() {
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
                // Out of descriptors: leaves them to others for a while.
                Err(_) => {
                    self.paused_until = Some(Timestamp::now() + RETRY);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, stream: UnixStream, questions: &mut Vec<Question>) {
        let client = self.socket.file.group().and_then(|group| Client::new(stream, group));
        let Ok(mut client) = client else { return };
        let present: Vec<_> = self.present.iter().map(|(_, client)| client.peer).collect();
        match decide(&present, client.peer) {
            Admission::Admit => {}
            Admission::Replace(place) => drop(self.present.remove(place)),
            Admission::Refuse => return,
        }
        self.came += 1;
        let id = ClientId(self.came);
        // Most clients have asked by now.
        let progress = client.handle(PollFlags::IN);
        if stays(progress, id, &client, questions) {
            self.present.push((id, client));
        }
    }
}

/// Questions of higher ranks first, and those of one rank in the order in which they came.
fn in_order(mut questions: Vec<Question>) -> Vec<Question> {
    questions.sort_by_key(|question| Reverse(question.rank));
    questions
}

/// Whether a client stays. Its question, if complete, goes to `questions`.
fn stays(progress: Progress, id: ClientId, client: &Client, questions: &mut Vec<Question>) -> bool {
    match progress {
        Progress::Pending => true,
        Progress::Done => false,
        Progress::Asked(line) => {
            let rank = client.peer.rank;
            questions.push(Question { client: id, line, may_change: rank > Rank::Reader, rank });
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
    use super::super::client::patience;
    use super::*;

    const PATIENT: Duration = Duration::from_secs(600);

    /// A service that echoes until `wake` is sent.
    fn echo(path: &Path, meanwhile: impl FnOnce()) {
        serve(path, |line| format!("{line}!"), meanwhile);
    }

    fn serve(path: &Path, answer: impl Fn(&str) -> String + Sync, meanwhile: impl FnOnce()) {
        let socket = Arc::new(ControlSocket::listen(path).unwrap());
        let mut clients = Clients::new(socket, "late".to_owned()).unwrap();
        let wake = WakeEvent::new().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                loop {
                    for question in clients.questions(&wake).unwrap() {
                        assert!(question.may_change, "it is the service's own user");
                        clients.answer(question.client, &answer(&question.line));
                    }
                    if wake.reset() {
                        return;
                    }
                }
            });
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(meanwhile));
            wake.send();
            done.unwrap();
        });
    }

    #[test]
    fn owners_are_answered_first_then_members_and_each_rank_in_its_order() {
        let came = [Rank::Reader, Rank::Owner, Rank::Member, Rank::Reader, Rank::Owner];
        let questions = came.into_iter().zip(1..).map(|(rank, number)| Question {
            client: ClientId(number),
            line: String::new(),
            may_change: rank > Rank::Reader,
            rank,
        });
        let order = in_order(questions.collect()).into_iter().map(|question| question.client.0);
        assert_eq!(order.collect::<Vec<_>>(), [2, 5, 3, 1, 4]);
    }

    #[test]
    fn an_answer_may_be_longer_than_any_question() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let long = "x".repeat(1 << 20);
        let answer = |_: &str| long.clone();
        serve(&path, answer, || assert_eq!(ask(&path, "status", PATIENT).unwrap(), long));
    }

    #[test]
    fn silent_clients_do_not_delay_others() {
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
    fn clients_that_send_too_much_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        echo(&path, || {
            let mut loud = UnixStream::connect(&path).unwrap();
            // It is cut off when it has sent too much.
            let _cut_off = loud.write_all(&vec![b'x'; 10 << 20]);
            assert!(matches!(loud.read(&mut [0]), Ok(0) | Err(_)));
            assert_eq!(ask(&path, "how", PATIENT).unwrap(), "how!");
        });
    }

    #[test]
    fn clients_that_send_nothing_are_dropped_and_owners_last() {
        assert!(patience(Rank::Owner) > patience(Rank::Member));
        assert_eq!(patience(Rank::Member), patience(Rank::Reader));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let socket = Arc::new(ControlSocket::listen(&path).unwrap());
        let mut clients = Clients::new(socket, String::new()).unwrap();
        let wake = WakeEvent::new().unwrap();
        let mut silent = UnixStream::connect(&path).unwrap();
        wake.send();
        assert!(clients.questions(&wake).unwrap().is_empty());
        let until = clients.present[0].1.until();
        assert!(until > Timestamp::now() + patience(Rank::Reader), "it is the service's own user");
        clients.drop_late(until);
        assert!(clients.present.is_empty());
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_client_that_does_not_read_its_answer_does_not_delay_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("boost.sock");
        let socket = Arc::new(ControlSocket::listen(&path).unwrap());
        let mut clients = Clients::new(socket, String::new()).unwrap();
        let wake = WakeEvent::new().unwrap();
        let mut deaf = UnixStream::connect(&path).unwrap();
        deaf.write_all(b"much\n").unwrap();
        let question = clients.questions(&wake).unwrap().pop().unwrap();
        clients.answer(question.client, &"x".repeat(64 << 20));
        assert_eq!(clients.present.len(), 1, "it has not read the whole answer");
        let mut next = UnixStream::connect(&path).unwrap();
        next.write_all(b"next\n").unwrap();
        assert_eq!(clients.questions(&wake).unwrap()[0].line, "next");
        clients.drop_late(Timestamp::now() + patience(Rank::Owner));
        assert!(clients.present.iter().all(|(id, _)| *id != question.client));
    }
}
