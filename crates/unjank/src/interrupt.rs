//! Ctrl-C: the first one asks the run to end and print what is known, the
//! second one ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use unjank_host::process::ignores_signal;

use crate::exit;

/// Whether the user has asked the run to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens to SIGINT, SIGTERM and SIGHUP from now on; under `nohup`, not to
    /// SIGHUP.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && ignores_signal(signal) {
                continue;
            }
            // Registered first, so it sees the flag of an earlier signal only.
            let code = i32::from(exit::INTERRUPTED);
            flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupt.0))?;
            flag::register(signal, Arc::clone(&interrupt.0))?;
        }
        Ok(interrupt)
    }

    /// Whether a signal has come.
    pub(crate) fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
