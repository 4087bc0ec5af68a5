//! The result of putting a change back.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ledger::{ChangeKind, Held};
use crate::error::{Error, ErrorClass};

/// A change and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// Its path on the machine, without symbolic links.
    pub path: String,
    /// File, directory, swap area or zram device.
    pub kind: ChangeKind,
    /// Its value before the change.
    pub before: String,
    /// Its last value during the session.
    pub during: String,
    /// Its current value; `None` if it is gone or cannot be read.
    pub after: Option<String>,
    /// Whether it was put back, and if not, why.
    #[serde(flatten)]
    pub outcome: RestoreOutcome,
}

/// The result of putting a change back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum RestoreOutcome {
    /// The old value was written and read back.
    PutBack,
    /// It already had its old value.
    AlreadyBack,
    /// Another program has changed it since, so it is left alone.
    LeftToOthers,
    /// It no longer exists: an unplugged device, an unloaded driver.
    Gone,
    /// The machine has been booted since, which resets it.
    ResetByBoot,
    /// A dry run: it would be put back.
    WouldPutBack,
    /// A later change of another unjank must be put back first.
    Waits {
        /// Which change, and what puts both back: a sentence without a full stop.
        reason: String,
    },
    /// It is still changed.
    Failed {
        /// The reason: a sentence without a full stop.
        reason: String,
        /// The class of the reason.
        obstacle: Obstacle,
    },
}

/// Why something was not put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// This user lacks a permission.
    Permission,
    /// It is in use; a later attempt may work.
    Busy,
    /// This process cannot see it: another mount namespace, a chroot.
    Hidden,
    /// Anything else.
    Other,
}

impl RestoreOutcome {
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into(), obstacle: Obstacle::Other }
    }

    pub(crate) fn hidden(reason: &str) -> Self {
        Self::Failed { reason: reason.to_owned(), obstacle: Obstacle::Hidden }
    }

    pub(crate) fn from_error(error: &Error) -> Self {
        let busy = matches!(error, Error::Busy(_))
            || matches!(error, Error::File { source, .. }
                if source.kind() == std::io::ErrorKind::ResourceBusy);
        let obstacle = match error.class() {
            ErrorClass::Permission => Obstacle::Permission,
            _ if busy => Obstacle::Busy,
            _ => Obstacle::Other,
        };
        Self::Failed { reason: error.to_string(), obstacle }
    }

    /// The class of the reason for a failure.
    pub fn obstacle(&self) -> Option<Obstacle> {
        match self {
            Self::Failed { obstacle, .. } => Some(*obstacle),
            _ => None,
        }
    }

    /// Whether it is still to be put back.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Failed { .. } | Self::Waits { .. })
    }

    /// Whether it could not be put back.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

impl ChangeReport {
    pub(super) fn new(held: &Held, after: Option<String>, outcome: RestoreOutcome) -> Self {
        Self {
            path: held.path.clone(),
            kind: held.kind,
            before: held.before.clone(),
            during: held.during.clone(),
            after,
            outcome,
        }
    }
}

/// One line without a full stop: `/proc/sys/vm/swappiness: 10 → 60`.
impl fmt::Display for ChangeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, before, during, .. } = self;
        let (before, during) = (quoted(before), quoted(during));
        write!(f, "{path}: ")?;
        match &self.outcome {
            RestoreOutcome::PutBack
                if matches!(self.kind, ChangeKind::Directory | ChangeKind::Zram) =>
            {
                write!(f, "removed again")
            }
            RestoreOutcome::PutBack if self.kind == ChangeKind::SwapArea => {
                write!(f, "turned off again")
            }
            // The kernel removed the file with another knob, so it had no other value.
            RestoreOutcome::PutBack if before == during => write!(f, "put back to {before}"),
            RestoreOutcome::PutBack => write!(f, "{during} → {before}, as it was"),
            RestoreOutcome::AlreadyBack => write!(f, "already back at {before}"),
            RestoreOutcome::LeftToOthers => {
                let now = self.after.as_deref().map_or("another value".into(), quoted);
                write!(f, "left at {now}, which another program wrote after our {during}")
            }
            RestoreOutcome::Gone => write!(f, "no longer exists; nothing to put back"),
            RestoreOutcome::ResetByBoot => write!(f, "reset by a boot; nothing to put back"),
            RestoreOutcome::WouldPutBack => write!(f, "would be put back: {during} → {before}"),
            RestoreOutcome::Waits { reason } => write!(f, "not put back yet: {reason}"),
            RestoreOutcome::Failed { reason, .. } => {
                write!(f, "not put back to {before}: {reason}")
            }
        }
    }
}

/// A value for display: at most 60 characters, on one line, quoted if empty.
fn quoted(value: &str) -> std::borrow::Cow<'_, str> {
    const LONGEST: usize = 60;
    let plain = !value.is_empty() && !value.chars().any(char::is_control);
    if plain && value.chars().count() <= LONGEST {
        return value.into();
    }
    let short: String = value.chars().take(LONGEST).collect();
    let dots = if short.len() < value.len() { "…" } else { "" };
    format!("{short:?}{dots}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: RestoreOutcome) -> ChangeReport {
        ChangeReport {
            path: "/proc/sys/vm/swappiness".to_owned(),
            kind: ChangeKind::File,
            before: "60".to_owned(),
            during: "10".to_owned(),
            after: Some("60".to_owned()),
            outcome,
        }
    }

    #[test]
    fn a_report_is_one_flat_object() {
        assert_eq!(
            serde_json::to_string(&report(RestoreOutcome::failed("no"))).unwrap(),
            "{\"path\":\"/proc/sys/vm/swappiness\",\"kind\":\"file\",\"before\":\"60\",\
             \"during\":\"10\",\"after\":\"60\",\"outcome\":\"failed\",\"reason\":\"no\",\
             \"obstacle\":\"other\"}"
        );
    }

    #[test]
    fn every_outcome_is_shown_in_one_line() {
        let said = |outcome| report(outcome).to_string();
        assert_eq!(said(RestoreOutcome::PutBack), "/proc/sys/vm/swappiness: 10 → 60, as it was");
        let before = report(RestoreOutcome::PutBack).before;
        let gone = ChangeReport { during: before, ..report(RestoreOutcome::PutBack) };
        assert_eq!(gone.to_string(), "/proc/sys/vm/swappiness: put back to 60");
        assert_eq!(
            said(RestoreOutcome::LeftToOthers),
            "/proc/sys/vm/swappiness: left at 60, which another program wrote after our 10"
        );
        assert_eq!(
            said(RestoreOutcome::failed("no room")),
            "/proc/sys/vm/swappiness: not put back to 60: no room"
        );
        let silent = ChangeReport { before: String::new(), ..report(RestoreOutcome::PutBack) };
        assert_eq!(silent.to_string(), "/proc/sys/vm/swappiness: 10 → \"\", as it was");
    }

    #[test]
    fn long_values_are_cut_and_line_ends_shown() {
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
        assert_eq!(quoted(&"x".repeat(61)), format!("\"{}\"…", "x".repeat(60)));
    }
}
