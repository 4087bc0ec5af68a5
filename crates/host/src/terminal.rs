//! The terminal behind a file descriptor.

use std::os::fd::AsFd;

/// How many columns it has, if it is a terminal that knows.
pub fn width(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
