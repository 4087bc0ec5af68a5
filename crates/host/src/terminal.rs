//! The terminal behind a file descriptor.

use std::fs::File;
use std::os::fd::AsFd;

/// How many columns it has, if it is a terminal that knows.
pub fn width(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether this process and the programs it starts are what its terminal
/// talks to, so that Ctrl-C reaches them all: `tcgetpgrp(3)`.
pub fn is_in_foreground() -> bool {
    File::open("/dev/tty")
        .ok()
        .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
        .is_some_and(|group| group == rustix::process::getpgrp())
}
