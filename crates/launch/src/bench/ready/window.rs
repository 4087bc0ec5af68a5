//! Waits for a program's first window on an X display.

use std::fmt::Display;
use std::io;
use std::os::fd::AsFd as _;

use unjank_host::process::is_descendant;
use unjank_host::wait::until_readable;
use unjank_host::{Error, Nanos, Result, Root, Timestamp};
use x11rb::connection::Connection as _;
use x11rb::cookie::{Cookie, VoidCookie};
use x11rb::errors::{ConnectError, ConnectionError, ReplyError};
use x11rb::protocol::Event;
use x11rb::protocol::res::{ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ConnectionExt as _, EventMask, Window as WindowId,
};
use x11rb::rust_connection::RustConnection;

/// Interval between checks of `stop`, and between attempts to connect.
const INTERVAL: Nanos = Nanos::from_millis(20);

/// How long a display is tried that resets itself.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    /// For this time at most.
    pub timeout: Nanos,
    /// Whether the display was there before.
    pub again: bool,
    /// Whether the user wants to stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// A display whose windows are watched.
#[derive(Debug)]
pub(crate) struct Window {
    connection: RustConnection,
}

impl Window {
    /// Begins to watch before the program is started. A window manager may
    /// reparent a window before it is shown, so each new window is watched by
    /// itself.
    ///
    /// A server resets itself when its last client leaves, and closes the
    /// connections that arrive meanwhile (`-noreset` in Xserver(1)); then it
    /// listens anew. So a display that is there is tried until `patience` ends.
    /// `None` if the user wants to stop before that.
    ///
    /// # Errors
    /// `Unsupported` if it is not there, or does not allow watching.
    pub(crate) fn watch(display: &str, patience: &Patience<'_>) -> Result<Option<Self>> {
        let until = Timestamp::now() + patience.timeout;
        let mut is_there = patience.again;
        while !(patience.stop)() {
            let error = match connect(display) {
                Ok(connection) => return Ok(Some(Self { connection })),
                Err(error) => error,
            };
            is_there |= is_reset(&error);
            let passes = is_reset(&error) || is_there && listens_anew(&error);
            if !passes || Timestamp::now() >= until {
                return Err(Error::Unsupported(format!(
                    "the X display {display} cannot be watched: {error}"
                )));
            }
            (Timestamp::now() + INTERVAL).sleep_until();
        }
        Ok(None)
    }

    /// Waits until the process `leader` or a descendant shows a window, or until
    /// `stop`: when the event arrived.
    ///
    /// # Errors
    /// `Unsupported` when the display is gone.
    pub(crate) fn wait(&self, leader: u32, stop: impl Fn() -> bool) -> Result<Option<Timestamp>> {
        let gone =
            |error: &dyn Display| Error::Unsupported(format!("the X display is gone: {error}"));
        while !stop() {
            let Some(event) = self.connection.poll_for_event().map_err(|error| gone(&error))?
            else {
                let display = self.connection.stream().as_fd();
                until_readable([Some(display)], Some(Timestamp::now() + INTERVAL))?;
                continue;
            };
            let at = Timestamp::now();
            match event {
                Event::CreateNotify(created) => {
                    let events =
                        ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
                    let asked = self.connection.change_window_attributes(created.window, &events);
                    asked.map_err(|error| gone(&error))?.ignore_error();
                    self.connection.flush().map_err(|error| gone(&error))?;
                }
                Event::MapNotify(shown) if self.is_of(shown.window, leader) => return Ok(Some(at)),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Whether the process that created the window is `leader` or a descendant.
    fn is_of(&self, window: WindowId, leader: u32) -> bool {
        let owner = self.owner_by_server(window).or_else(|| self.owner_by_property(window));
        owner.is_some_and(|owner| is_descendant(&Root::system(), owner, leader))
    }

    /// The X server knows the process of a connection on this machine.
    fn owner_by_server(&self, window: WindowId) -> Option<u32> {
        let asked = ClientIdSpec { client: window, mask: ClientIdMask::LOCAL_CLIENT_PID };
        let answer = self.connection.res_query_client_ids(&[asked]).ok()?.reply().ok()?;
        answer.ids.first()?.value.first().copied()
    }

    /// `_NET_WM_PID`, which clients set by themselves.
    fn owner_by_property(&self, window: WindowId) -> Option<u32> {
        let connection = &self.connection;
        let atom = connection.intern_atom(true, b"_NET_WM_PID").ok()?.reply().ok()?.atom;
        let asked = connection.get_property(false, window, atom, AtomEnum::CARDINAL, 0, 1).ok()?;
        asked.reply().ok()?.value32()?.next()
    }
}

/// Connects, and asks for the events of new windows. All failures are I/O errors, so that those of
/// the connection itself can be distinguished from the others.
fn connect(display: &str) -> io::Result<RustConnection> {
    let (connection, screen) = x11rb::connect(Some(display)).map_err(|error| match error {
        ConnectError::IoError(error) => error,
        error => io::Error::other(error.to_string()),
    })?;
    let root = connection.setup().roots.get(screen).map_or(0, |screen| screen.root);
    let events = ChangeWindowAttributesAux::new().event_mask(EventMask::SUBSTRUCTURE_NOTIFY);
    connection
        .change_window_attributes(root, &events)
        .map_err(ReplyError::from)
        .and_then(VoidCookie::check)
        .map_err(io_error)?;
    // Servers answer requests of version 1.2 only to clients that announce it.
    connection
        .res_query_version(1, 2)
        .map_err(ReplyError::from)
        .and_then(Cookie::reply)
        .map_err(io_error)?;
    Ok(connection)
}

fn io_error(error: ReplyError) -> io::Error {
    match error {
        ReplyError::ConnectionError(ConnectionError::IoError(error)) => error,
        error => io::Error::other(error.to_string()),
    }
}

/// Whether the server has closed the connection: it resets itself.
fn is_reset(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), ConnectionReset | BrokenPipe | UnexpectedEof)
}

/// Whether nothing listens: no server, or one that is about to listen anew.
fn listens_anew(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    const LONG: Nanos = Nanos::from_millis(600_000);

    /// A number of a display that nobody else has, and its abstract socket.
    fn display() -> (String, SocketAddr) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = std::process::id() % 5_000 * 10 + NEXT.fetch_add(1, Ordering::Relaxed);
        let number = 1_000 + own;
        let name = format!("/tmp/.X11-unix/X{number}");
        (format!(":{number}"), SocketAddr::from_abstract_name(name).unwrap())
    }

    /// Accepts this many connections and closes them.
    fn close(address: &SocketAddr, connections: u32) {
        let listener = UnixListener::bind_addr(address).unwrap();
        for _ in 0..connections {
            drop(listener.accept().unwrap());
        }
    }

    /// Refuses one client as a server does: version 11.0, and a reason of four bytes.
    fn refuse(address: &SocketAddr) {
        let listener = UnixListener::bind_addr(address).unwrap();
        let (mut client, _) = listener.accept().unwrap();
        let _request = client.read(&mut [0; 256]).unwrap();
        client.write_all(&[0, 4, 11, 0, 0, 0, 1, 0]).unwrap();
        client.write_all(b"full").unwrap();
        // The client reads the answer first.
        let _end = client.read(&mut [0; 256]);
    }

    fn watch(
        display: &str,
        again: bool,
        timeout: Nanos,
        stop: &dyn Fn() -> bool,
    ) -> Option<String> {
        let patience = Patience { timeout, again, stop };
        Window::watch(display, &patience).map(|_| ()).map_err(|error| error.to_string()).err()
    }

    #[test]
    fn a_display_that_resets_itself_is_tried_until_it_answers() {
        let (name, address) = display();
        let server = thread::spawn(move || {
            close(&address, 25);
            // Nothing listens for a while.
            thread::sleep(std::time::Duration::from_millis(100));
            refuse(&address);
        });
        // The server may not listen yet.
        let said = loop {
            match watch(&name, false, LONG, &|| false) {
                Some(said) if said.contains("refused") => thread::yield_now(),
                said => break said.unwrap(),
            }
        };
        assert!(said.contains("full"), "{said}");
        server.join().unwrap();
    }

    #[test]
    fn a_display_that_is_not_there_is_refused_at_once() {
        let (name, _) = display();
        assert!(watch(&name, false, LONG, &|| false).unwrap().contains("cannot be watched"));
        // One that was there before may listen anew, but not for ever.
        assert!(watch(&name, true, INTERVAL, &|| false).unwrap().contains("cannot be watched"));
        let asked = AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) == 3;
        assert_eq!(watch(&name, true, LONG, &stop), None, "the user wants to stop");
        assert_eq!(asked.into_inner(), 4);
    }
}
