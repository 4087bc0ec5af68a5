//! Ctrl-C: the first one ends the run and prints what was measured so far; the
//! second one ends the process at once.

use std::io;
use std::sync::LazyLock;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
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

/// Whether the user has asked the run to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Stop);

impl Interrupt {
    /// Handles SIGINT, SIGTERM and, except under `nohup`, SIGHUP from now on. Each
    /// command calls this once.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = Self(stop());
        let signals = [SIGINT, SIGTERM, SIGHUP];
        with_signals_blocked(&signals, || {
            signals.into_iter().try_for_each(|signal| interrupt.register(signal))
        })?;
        Ok(interrupt)
    }

    fn register(&self, signal: i32) -> io::Result<()> {
        if signal == SIGHUP && ignores_signal(signal) {
            return Ok(());
        }
        // Registered first, so it sees only the flag of an earlier signal.
        let code = i32::from(exit::INTERRUPTED);
        flag::register_conditional_shutdown(signal, code, self.0.flag())?;
        flag::register(signal, self.0.flag())?;
        Ok(())
    }

    /// Whether a signal has arrived.
    pub(crate) fn requested(&self) -> bool {
        self.0.is_requested()
    }
}
