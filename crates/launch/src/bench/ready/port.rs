//! Waits until a program accepts connections on a port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use unjank_host::{Error, Nanos, Result, Timestamp};

/// Interval between attempts: the resolution. A refused attempt takes some ten
/// microseconds.
const INTERVAL: Nanos = Nanos::from_millis(1);
/// Listeners on this machine answer at once. An attempt that takes longer is
/// repeated.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long, and how often at least, a port is tried that may still be in use by
/// the previous program, which ends late on a busy machine.
const FREE_WITHIN: Nanos = Nanos::from_millis(10_000);
const ATTEMPTS: u32 = 10;

/// A port of 127.0.0.1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Port(pub(crate) u16);

impl Port {
    /// Waits until nothing listens on the port.
    ///
    /// # Errors
    /// `Invalid` if something does: it could answer instead of the program.
    pub(crate) fn must_be_free(self) -> Result<()> {
        let end = Timestamp::now() + FREE_WITHIN;
        let mut attempts = 1;
        while !self.refuses() {
            if attempts >= ATTEMPTS && Timestamp::now() >= end {
                return Err(Error::Invalid(format!(
                    "port {} is in use before the program is launched; choose a free port",
                    self.0
                )));
            }
            attempts += 1;
            (Timestamp::now() + INTERVAL.times(20)).sleep_until();
        }
        Ok(())
    }

    /// Tries until something accepts a connection or `stop`: when it did.
    pub(crate) fn wait(self, stop: impl Fn() -> bool) -> Option<Timestamp> {
        while !stop() {
            if self.answers() {
                return Some(Timestamp::now());
            }
            (Timestamp::now() + INTERVAL).sleep_until();
        }
        None
    }

    fn answers(self) -> bool {
        self.connect().is_ok()
    }

    /// A listener that does not answer (its queue is full) also uses the port.
    fn refuses(self) -> bool {
        self.connect().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    }

    fn connect(self) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(
            &SocketAddr::from((Ipv4Addr::LOCALHOST, self.0)),
            CONNECT_TIMEOUT,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_answers_while_it_has_a_listener() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = Port(listener.local_addr().unwrap().port());
        assert!(port.wait(|| false).is_some());
        drop(listener);
        assert!(port.must_be_free().is_ok());
        assert!(port.wait(|| true).is_none());
    }
}
