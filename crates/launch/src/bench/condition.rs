//! What holds while a program is launched: knobs, a service.

use std::ffi::OsString;
use std::path::PathBuf;

/// What holds while a program is launched, from the pause before it to its
/// end.
#[derive(Debug, Clone, Default)]
pub struct Condition {
    /// What it is called: `as is`, `sampling_rate=50ms`.
    pub name: String,
    /// Knobs that are changed: files and values.
    pub knobs: Vec<(PathBuf, String)>,
    /// A program that runs meanwhile.
    pub service: Option<Service>,
    /// Whether this is the baseline once more: what such launches differ in
    /// is the noise of the machine.
    pub is_baseline: bool,
}

/// A program that runs while another is launched.
#[derive(Debug, Clone)]
pub struct Service {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Whether it says that it is ready (`NOTIFY_SOCKET`), and is waited for.
    pub notifies: bool,
    /// Whether it is a command of unjank, whose exit codes say why it ended.
    pub own: bool,
}

impl Condition {
    /// The same condition to be compared with itself, called `NAME again`. It
    /// is taken back and put in force anew as any other would be.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { name: format!("{} again", self.name), is_baseline: true, ..self.clone() }
    }
}
