//! Ctrl-C during long work without the interpreter.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use unjank_measure::Monitor;

/// How often signals are looked for.
const BETWEEN: Duration = Duration::from_millis(100);

/// Looks for signals now and then while the interpreter is detached. Only Python's main thread
/// gets any.
pub(crate) struct Signals(Mutex<State>);

struct State {
    latest: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { latest: Instant::now(), raised: None }))
    }

    /// Whether a handler of a signal raised an exception, such as `KeyboardInterrupt`.
    pub(crate) fn raised(&self) -> bool {
        let Ok(mut state) = self.0.lock() else { return true };
        if state.raised.is_none() && state.latest.elapsed() >= BETWEEN {
            state.raised = Python::attach(|py| py.check_signals().err());
            state.latest = Instant::now();
        }
        state.raised.is_some()
    }

    /// What was done, or the exception that ended it early.
    pub(crate) fn finish<T>(self, done: Option<T>) -> PyResult<T> {
        let state = self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match (state.raised, done) {
            (Some(error), _) => Err(error),
            (None, Some(done)) => Ok(done),
            (None, None) => unreachable!("only a signal stops it"),
        }
    }
}

impl Monitor for Signals {
    fn progress(&self, _fraction: f64, _doing: &str) {}

    fn stop_requested(&self) -> bool {
        self.raised()
    }
}
