//! A progress bar on stderr, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use unjank_measure::Monitor;
use unjank_report::one_line;

use crate::interrupt::Interrupt;

/// Shows the progress of a run, and passes Ctrl-C on to it.
pub(crate) struct Progress {
    bar: ProgressBar,
    interrupt: Interrupt,
}

/// The steps of the bar, more than any terminal has columns.
const STEPS: u64 = 1_000;

impl Progress {
    /// A bar for a run of `command`. indicatif draws nothing if stderr is not a
    /// terminal.
    pub(crate) fn new(command: &str, interrupt: Interrupt) -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(5));
        let style =
            ProgressStyle::with_template("{prefix} {wide_bar:.cyan/dim} {percent:>3} %  {msg}")
                .expect("the template is valid");
        bar.set_style(style);
        bar.set_prefix(command.to_owned());
        Self { bar, interrupt }
    }

    /// Removes the bar from the screen.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Monitor for Progress {
    fn progress(&self, fraction: f64, doing: &str) {
        self.bar.set_message(one_line(doing).into_owned());
        self.bar.set_position((fraction.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    fn stop_requested(&self) -> bool {
        self.interrupt.requested()
    }
}
