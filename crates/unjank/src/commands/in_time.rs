//! Steps that wait for a disk, which may take any time. A run with a time limit does them in
//! threads of their own, and gives them up at its end.

use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::{Result, bail};
use unjank_host::{Nanos, Timestamp};

/// The shortest time for a step: a run that is late tries it as well.
const LEAST: Nanos = Nanos::from_millis(100);

/// A step that is done, or that has begun.
pub(super) enum Step<T> {
    /// Its result.
    Done(Result<T>),
    /// It is done in a thread until `end`.
    Begun {
        /// Its result, as soon as there is one.
        result: Receiver<Result<T>>,
        /// When it is given up.
        end: Timestamp,
        /// What has not happened then.
        lost: String,
    },
}

impl<T: Send + 'static> Step<T> {
    /// Does a step at once, or, in a run that must have ended by `end`, begins it in a thread.
    /// `lost` says what has not happened if it is given up.
    pub(super) fn begin(
        end: Option<Timestamp>,
        lost: String,
        step: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Self {
        let Some(end) = end else { return Self::Done(step()) };
        let end = Timestamp::now() + left(end);
        let (sender, result) = mpsc::channel();
        let thread = thread::Builder::new().name("disk".to_owned()).spawn(move || {
            // Nobody waits any longer if it took too long.
            let _too_late = sender.send(step());
        });
        match thread {
            Ok(_) => Self::Begun { result, end, lost },
            Err(error) => Self::Done(Err(error.into())),
        }
    }

    /// Waits for the result of the step.
    ///
    /// # Errors
    /// Its own; that it was given up. Its thread then ends with this process.
    pub(super) fn finish(self) -> Result<T> {
        match self {
            Self::Done(result) => result,
            Self::Begun { result, end, lost } => {
                match result.recv_timeout(end.since(Timestamp::now()).into()) {
                    Ok(result) => result,
                    Err(_) => bail!("{lost}: the time limit ended before the disk was ready"),
                }
            }
        }
    }
}

/// The time for a step until `end`.
pub(super) fn left(end: Timestamp) -> Nanos {
    end.since(Timestamp::now()).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_hangs_is_given_up_and_the_others_are_done() {
        let (never, waits) = mpsc::channel::<()>();
        let end = Some(Timestamp::now());
        let hangs =
            Step::begin(end, "page.html was not written".to_owned(), move || Ok(waits.recv()?));
        let far = Some(Timestamp::now() + Nanos::from_millis(1_200_000));
        let other = Step::begin(far, String::new(), || Ok(7));
        let error = hangs.finish().unwrap_err().to_string();
        assert!(error.starts_with("page.html was not written: the time limit ended "), "{error}");
        assert_eq!(other.finish().unwrap(), 7);
        drop(never);
    }

    #[test]
    fn a_run_without_a_limit_does_its_steps_at_once() {
        let step = Step::begin(None, String::new(), || Ok(7));
        assert!(matches!(step, Step::Done(Ok(7))));
    }
}
