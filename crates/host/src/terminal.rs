//! The terminal behind a file descriptor.

use std::fs::File;
use std::os::fd::AsFd;

/// The number of columns, if it is a terminal that reports it.
pub fn width(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether this process group is in the foreground of its terminal, so that
/// Ctrl-C reaches it and its children: `tcgetpgrp(3)`.
pub fn is_in_foreground() -> bool {
    File::open("/dev/tty")
        .ok()
        .and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok())
        .is_some_and(|group| group == rustix::process::getpgrp())
}
