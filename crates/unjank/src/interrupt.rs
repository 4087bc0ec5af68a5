//! Ctrl-C: the first one asks the run to end and print what is known, the
//! second one ends the process at once.

use std::io;
use std::sync::LazyLock;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use unjank_host::input::Stop;
use unjank_host::process::ignores_signal;

use crate::exit;

/// Signals come to the process as a whole.
static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);

/// What ends reads that wait, once [`Interrupt::listen`] was called. Before, a
/// signal ends the process by itself.
pub(crate) fn stop() -> Stop {
    STOP.clone()
}

/// Whether the user has asked the run to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Stop);

impl Interrupt {
    /// Listens to SIGINT, SIGTERM and SIGHUP from now on; under `nohup`, not to
    /// SIGHUP. Once in a process: each command does.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = Self(stop());
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && ignores_signal(signal) {
                continue;
            }
            // Registered first, so it sees the flag of an earlier signal only.
            let code = i32::from(exit::INTERRUPTED);
            flag::register_conditional_shutdown(signal, code, interrupt.0.flag())?;
            flag::register(signal, interrupt.0.flag())?;
        }
        Ok(interrupt)
    }

    /// Whether a signal has come.
    pub(crate) fn requested(&self) -> bool {
        self.0.is_requested()
    }
}
