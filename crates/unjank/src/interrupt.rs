//! Ctrl-C: the first one ends the run and prints what was measured so far; the
//! second one ends the process at once.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::LazyLock;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;
use unjank_host::input::Stop;
use unjank_host::process::{ignores_signal, with_signals_blocked};

use crate::exit;

/// Set by signals, which are sent to the whole process.
static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);

/// Ends blocking reads, once [`Interrupt::listen`] was called. Before that, a
/// signal ends the process.
pub(crate) fn stop() -> Stop {
    STOP.clone()
}

/// As [`stop`], for what comes after the end of a run: a signal that ended it does not count, and
/// the next one ends the process.
pub(crate) fn stop_from_now() -> Stop {
    let stop = stop();
    if stop.is_requested() { Stop::default() } else { stop }
}

/// A stream that becomes readable when SIGINT, SIGTERM or, except under `nohup`, SIGHUP asks this
/// process to end, for loops that also wait for other things.
pub(crate) fn stream() -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    for_each_signal(|signal| pipe::register(signal, theirs.try_clone()?).map(drop))?;
    Ok(ours)
}

/// Registers handlers of each signal that asks this process to end. Those that arrive meanwhile
/// are handled afterwards.
fn for_each_signal(register: impl FnMut(i32) -> io::Result<()>) -> io::Result<()> {
    let signals = [SIGINT, SIGTERM, SIGHUP];
    with_signals_blocked(&signals, || {
        let mut handled = signals.into_iter().filter(|&it| !(it == SIGHUP && ignores_signal(it)));
        handled.try_for_each(register)
    })
}

/// Whether the user has asked the run to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Stop);

impl Interrupt {
    /// Handles SIGINT, SIGTERM and, except under `nohup`, SIGHUP from now on. Each
    /// command calls this once.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = Self(stop());
        for_each_signal(|signal| {
            // Registered first, so it sees only the flag of an earlier signal.
            let code = i32::from(exit::INTERRUPTED);
            flag::register_conditional_shutdown(signal, code, interrupt.0.flag())?;
            flag::register(signal, interrupt.0.flag()).map(drop)
        })?;
        Ok(interrupt)
    }

    /// Whether a signal has arrived.
    pub(crate) fn requested(&self) -> bool {
        self.0.is_requested()
    }
}
