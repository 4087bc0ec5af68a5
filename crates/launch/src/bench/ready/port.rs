//! A port on which a program takes connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use unjank_host::{Error, Nanos, Result, Timestamp};

/// Between two tries: the resolution. A try that is refused takes some ten
/// microseconds.
const LOOK: Nanos = Nanos::from_millis(1);
/// What listens on this machine answers at once.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a port may stay taken after the program before has ended.
const FREE_WITHIN: Nanos = Nanos::from_millis(5_000);

/// A port of 127.0.0.1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Port(pub(crate) u16);

impl Port {
    /// Waits until nobody listens there any more.
    ///
    /// # Errors
    /// `Invalid` if somebody does: whose answer it is could not be told.
    pub(crate) fn must_be_free(self) -> Result<()> {
        let end = Timestamp::now() + FREE_WITHIN;
        while !self.refuses() {
            if Timestamp::now() >= end {
                return Err(Error::Invalid(format!(
                    "port {} is in use before the program is launched, so its answer would say \
                     nothing",
                    self.0
                )));
            }
            (Timestamp::now() + LOOK.times(20)).sleep_until();
        }
        Ok(())
    }

    /// Tries until somebody listens there, or `stop` says so: when it answered.
    pub(crate) fn wait(self, stop: impl Fn() -> bool) -> Option<Timestamp> {
        while !stop() {
            if self.answers() {
                return Some(Timestamp::now());
            }
            (Timestamp::now() + LOOK).sleep_until();
        }
        None
    }

    fn answers(self) -> bool {
        self.connect().is_ok()
    }

    /// One who listens and does not answer (too many wait already) has the
    /// port as well.
    fn refuses(self) -> bool {
        self.connect().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    }

    fn connect(self) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, self.0)), PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_answers_while_somebody_listens() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = Port(listener.local_addr().unwrap().port());
        assert!(port.wait(|| false).is_some());
        drop(listener);
        assert!(port.must_be_free().is_ok());
        assert!(port.wait(|| true).is_none());
    }
}
