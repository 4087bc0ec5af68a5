//! Stands between a program and its compositor, and passes everything on as it is.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use unjank_host::passing::{connect, receive, send};
use unjank_host::socket_directory::SocketDirectory;
use unjank_host::wait::{WakeEvent, until_readable};
use unjank_host::{Error, Nanos, Result, Timestamp};

use super::client::Client;

/// The most connections of a program at once. Most programs have one; browsers have
/// one for each of some processes.
const MOST_CONNECTIONS: usize = 256;
/// Length of the pieces in which is passed on; libwayland sends 4 KiB at most at once.
const PIECE: usize = 16 << 10;
/// How long a compositor may take to accept a connection.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// The pause after running out of file descriptors.
const RETRY: Nanos = Nanos::from_millis(100);

/// A socket for a program instead of the compositor's. Dropping this closes the
/// program's connections.
#[derive(Debug)]
pub(crate) struct Relay {
    place: SocketDirectory,
    over: Arc<WakeEvent>,
    accepts: Option<JoinHandle<()>>,
}

/// The two directions of one connection. Dropping this closes it.
struct Connection {
    ends: [Arc<UnixStream>; 2],
    directions: [JoinHandle<()>; 2],
}

/// What is called when a window is shown, or when something of a connection is lost, by the
/// thread that has noticed it.
type Report = Arc<dyn Fn(Result<Timestamp>) + Send + Sync>;

impl Relay {
    /// Listens below `sockets` for a program, for which connections to `compositor`
    /// are made. Calls `report` with the moment at which a client shows its first
    /// window.
    ///
    /// # Errors
    /// `Unsupported` if the compositor cannot be reached.
    pub(crate) fn begin(
        compositor: &Path,
        sockets: &Path,
        report: impl Fn(Result<Timestamp>) + Send + Sync + 'static,
    ) -> Result<Self> {
        if let Err(error) = connect(compositor, ANSWERS_WITHIN) {
            let path = compositor.display();
            return Err(Error::Unsupported(format!(
                "the Wayland compositor at {path} cannot be reached: {error}"
            )));
        }
        let place = SocketDirectory::create(sockets, "wayland")?;
        let failed = |error| Error::file("listen on", place.socket(), error);
        let listener = UnixListener::bind(place.socket()).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let over = Arc::new(WakeEvent::new()?);
        let (is_over, compositor) = (Arc::clone(&over), compositor.to_owned());
        let report: Report = Arc::new(report);
        let accepts = spawn(move || accept_all(&listener, &compositor, &report, &is_over))
            .map_err(|error| Error::syscall("clone", "a thread of the relay", error))?;
        Ok(Self { place, over, accepts: Some(accepts) })
    }

    /// The value for `WAYLAND_DISPLAY`: an absolute path stands for itself.
    pub(crate) fn path(&self) -> PathBuf {
        self.place.socket()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.send();
        if let Some(accepts) = self.accepts.take() {
            let _panicked = accepts.join();
        }
    }
}

/// Accepts connections until the end.
fn accept_all(listener: &UnixListener, compositor: &Path, report: &Report, over: &WakeEvent) {
    let mut connections: Vec<Connection> = Vec::new();
    loop {
        let sources = [Some(over.as_fd()), Some(listener.as_fd())];
        match until_readable(sources, None) {
            Ok([false, true]) => {}
            Ok([false, false]) => continue,
            Ok([true, _]) | Err(_) => return,
        }
        connections.retain(Connection::is_open);
        match listener.accept() {
            // One too many, or one that the compositor refuses, is closed.
            Ok((client, _)) if connections.len() < MOST_CONNECTIONS => {
                connections.extend(Connection::begin(client, compositor, report));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => {
                let until = Some(Timestamp::now() + RETRY);
                if !matches!(until_readable([Some(over.as_fd())], until), Ok([false])) {
                    return;
                }
            }
        }
    }
}

impl Connection {
    fn begin(client: UnixStream, compositor: &Path, report: &Report) -> io::Result<Self> {
        let compositor = Arc::new(connect(compositor, ANSWERS_WITHIN)?);
        let client = Arc::new(client);
        let followed = Arc::new(Mutex::new(Client::default()));
        let (follows, shown) = (Arc::clone(&followed), Arc::clone(report));
        let requests = pass_on(&client, &compositor, report, move |bytes, at| {
            if follows.lock().unwrap_or_else(PoisonError::into_inner).sends(bytes) {
                shown(Ok(at));
            }
        })?;
        let events = pass_on(&compositor, &client, report, move |bytes, _| {
            followed.lock().unwrap_or_else(PoisonError::into_inner).receives(bytes);
        });
        match events {
            Ok(events) => Ok(Self { ends: [client, compositor], directions: [requests, events] }),
            Err(error) => {
                close(&client);
                close(&compositor);
                let _panicked = requests.join();
                Err(error)
            }
        }
    }

    fn is_open(&self) -> bool {
        self.directions.iter().any(|direction| !direction.is_finished())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.ends.iter().for_each(|end| close(end));
    }
}

/// Passes on what comes from `from`, after `see` has seen it and the moment at which
/// it came. Reports what cannot be passed on. If one end is gone, the other one reads what is left, and then the end.
fn pass_on(
    from: &Arc<UnixStream>,
    to: &Arc<UnixStream>,
    report: &Report,
    mut see: impl FnMut(&[u8], Timestamp) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (from, to, report) = (Arc::clone(from), Arc::clone(to), Arc::clone(report));
    spawn(move || {
        let mut piece = vec![0; PIECE];
        loop {
            let passed = match receive(&from, &mut piece) {
                Ok(passed) if passed.length > 0 => passed,
                Err(error @ Error::Invalid(_)) => {
                    report(Err(error));
                    break;
                }
                Ok(_) | Err(_) => break,
            };
            let bytes = &piece[..passed.length];
            see(bytes, Timestamp::now());
            if send(&to, bytes, &passed.files).is_err() {
                break;
            }
        }
        let _gone = from.shutdown(Shutdown::Read);
        let _gone = to.shutdown(Shutdown::Write);
    })
}

fn close(end: &UnixStream) {
    let _gone = end.shutdown(Shutdown::Both);
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().spawn(work)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    use super::super::fixtures::{message, window};
    use super::*;

    /// A compositor's socket, and a relay to it.
    fn relay(place: &Path) -> (UnixListener, Relay) {
        let path = place.join("compositor");
        let compositor = UnixListener::bind(&path).unwrap();
        let relay = Relay::begin(&path, place, |_| {}).unwrap();
        // The first connection only asks whether it is there.
        compositor.accept().unwrap();
        (compositor, relay)
    }

    #[test]
    fn bytes_and_files_pass_in_both_directions() {
        let place = tempfile::tempdir().unwrap();
        let (compositor, relay) = relay(place.path());
        let client = UnixStream::connect(relay.path()).unwrap();
        let (compositor, _) = compositor.accept().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&client, &message(9, 3, &[1]), &[OwnedFd::from(writer)]).unwrap();
        let mut piece = [0; 64];
        let passed = receive(&compositor, &mut piece).unwrap();
        assert_eq!(piece[..passed.length], message(9, 3, &[1]));
        let [file] = <[OwnedFd; 1]>::try_from(passed.files).unwrap();
        File::from(file).write_all(b"pixels").unwrap();
        let mut pixels = String::new();
        reader.read_to_string(&mut pixels).unwrap();
        assert_eq!(pixels, "pixels");
        send(&compositor, b"not of the protocol", &[]).unwrap();
        let passed = receive(&client, &mut piece).unwrap();
        assert_eq!(&piece[..passed.length], b"not of the protocol");
        // The last words of a compositor arrive before the end.
        send(&compositor, b"an error", &[]).unwrap();
        drop(compositor);
        let passed = receive(&client, &mut piece).unwrap();
        assert_eq!(&piece[..passed.length], b"an error");
        assert_eq!(receive(&client, &mut piece).unwrap().length, 0);
    }

    #[test]
    fn a_dropped_relay_closes_its_connections_and_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let (compositor, relay) = relay(place.path());
        let client = UnixStream::connect(relay.path()).unwrap();
        let (compositor, _) = compositor.accept().unwrap();
        // Neither reads what the other sends.
        client.set_nonblocking(true).unwrap();
        while (&client).write(&[0; 4096]).is_ok() {}
        client.set_nonblocking(false).unwrap();
        let path = relay.path();
        drop(relay);
        (&compositor).read_to_end(&mut Vec::new()).unwrap();
        // The end, or a reset, as nobody has read all that it has sent.
        let _end_or_reset = (&client).read_to_end(&mut Vec::new());
        assert!(!path.exists() && !path.parent().unwrap().exists());
    }

    #[test]
    fn a_window_is_noticed_once() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("compositor");
        let compositor = UnixListener::bind(&path).unwrap();
        let (sender, moments) = mpsc::channel();
        let before = Timestamp::now();
        let report = move |at: Result<Timestamp>| sender.send(at.unwrap()).unwrap();
        let relay = Relay::begin(&path, place.path(), report).unwrap();
        compositor.accept().unwrap();
        let client = UnixStream::connect(relay.path()).unwrap();
        let (compositor, _) = compositor.accept().unwrap();
        send(&client, &window(), &[]).unwrap();
        assert!(moments.recv().unwrap() >= before);
        drop(client);
        (&compositor).read_to_end(&mut Vec::new()).unwrap();
        drop(relay);
        assert!(moments.recv().is_err(), "there was one");
    }

    #[test]
    fn a_compositor_that_is_not_there_is_named() {
        let place = tempfile::tempdir().unwrap();
        let said = Relay::begin(&place.path().join("none"), place.path(), |_| {});
        let said = said.unwrap_err().to_string();
        assert!(said.contains("/none cannot be reached"), "{said}");
    }
}
