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

/// Interval between checks of `stop`.
const INTERVAL: Nanos = Nanos::from_millis(20);

/// Connections that are tried. A server resets itself when its last client leaves, and closes the
/// connections that arrive meanwhile (`-noreset` in Xserver(1)).
const ATTEMPTS: u32 = 10;

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
    /// # Errors
    /// `Unsupported` without a display, or if it does not allow watching.
    pub(crate) fn watch(display: Option<&str>) -> Result<Self> {
        let Some(display) = display else {
            return Err(Error::Unsupported(
                "DISPLAY is not set: windows can be detected on an X display only (on Wayland, \
                 through Xwayland)"
                    .to_owned(),
            ));
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            match connect(display) {
                Ok(connection) => return Ok(Self { connection }),
                Err(error) if is_reset(&error) && attempts < ATTEMPTS => {}
                Err(error) => {
                    return Err(Error::Unsupported(format!(
                        "the X display {display} cannot be watched: {error}"
                    )));
                }
            }
        }
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

fn is_reset(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), ConnectionReset | BrokenPipe | UnexpectedEof)
}
