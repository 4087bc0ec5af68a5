//! How a change ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ledger::{Held, Kind};
use crate::error::{Error, ErrorClass};

/// One change, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// Where it lies on the machine, without symbolic links.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Its value before the change.
    pub before: String,
    /// The value it had, or the last of several.
    pub during: String,
    /// What it reads now; `None` if it is gone or cannot be read.
    pub after: Option<String>,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a change ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The old value was written, and reads back so.
    PutBack,
    /// It read its old value already.
    AlreadyBack,
    /// Somebody else has changed it since. It is theirs now.
    LeftToOthers,
    /// It is not there any more: an unplugged device, an unloaded driver.
    Gone,
    /// The machine has been started anew since, which resets it.
    ResetByBoot,
    /// A dry run: it would be put back.
    WouldPutBack,
    /// It is still changed.
    Failed {
        /// Why: a sentence without a full stop.
        reason: String,
        /// What stood in the way.
        obstacle: Obstacle,
    },
}

/// What stood in the way of putting something back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// This user may not.
    Permission,
    /// Something uses it; a little later it may work.
    Busy,
    /// It cannot be seen from here: another mount namespace, a chroot.
    Hidden,
    /// Anything else.
    Other,
}

impl Outcome {
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

    /// What stands in the way, if something does.
    pub fn obstacle(&self) -> Option<Obstacle> {
        match self {
            Self::Failed { obstacle, .. } => Some(*obstacle),
            _ => None,
        }
    }

    /// Whether the machine is still changed, and somebody has to see to it.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

impl ChangeReport {
    pub(super) fn new(held: &Held, after: Option<String>, outcome: Outcome) -> Self {
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
            Outcome::PutBack if self.kind == Kind::Directory => write!(f, "removed again"),
            Outcome::PutBack if self.kind == Kind::SwapArea => write!(f, "turned off again"),
            Outcome::PutBack => write!(f, "{during} → {before}, as it was"),
            Outcome::AlreadyBack => write!(f, "{before} already, as it was"),
            Outcome::LeftToOthers => {
                let now = self.after.as_deref().map_or("something else".into(), quoted);
                write!(f, "left at {now}, which somebody else wrote after our {during}")
            }
            Outcome::Gone => write!(f, "not there any more, so nothing to put back"),
            Outcome::ResetByBoot => write!(f, "reset by the boot since, so nothing to put back"),
            Outcome::WouldPutBack => write!(f, "{during} → {before} would put it back"),
            Outcome::Failed { reason, .. } => write!(f, "not put back to {before}: {reason}"),
        }
    }
}

/// A value as it is shown: short, on one line, and never invisible.
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

    fn report(outcome: Outcome) -> ChangeReport {
        ChangeReport {
            path: "/proc/sys/vm/swappiness".to_owned(),
            kind: Kind::File,
            before: "60".to_owned(),
            during: "10".to_owned(),
            after: Some("60".to_owned()),
            outcome,
        }
    }

    #[test]
    fn a_report_is_one_flat_object() {
        assert_eq!(
            serde_json::to_string(&report(Outcome::failed("no"))).unwrap(),
            "{\"path\":\"/proc/sys/vm/swappiness\",\"kind\":\"file\",\"before\":\"60\",\
             \"during\":\"10\",\"after\":\"60\",\"outcome\":\"failed\",\"reason\":\"no\",\
             \"obstacle\":\"other\"}"
        );
    }

    #[test]
    fn every_end_is_said_in_one_line() {
        let said = |outcome| report(outcome).to_string();
        assert_eq!(said(Outcome::PutBack), "/proc/sys/vm/swappiness: 10 → 60, as it was");
        assert_eq!(
            said(Outcome::LeftToOthers),
            "/proc/sys/vm/swappiness: left at 60, which somebody else wrote after our 10"
        );
        assert_eq!(
            said(Outcome::failed("no room")),
            "/proc/sys/vm/swappiness: not put back to 60: no room"
        );
        let silent = ChangeReport { before: String::new(), ..report(Outcome::PutBack) };
        assert_eq!(silent.to_string(), "/proc/sys/vm/swappiness: 10 → \"\", as it was");
    }

    #[test]
    fn long_values_are_cut_and_line_ends_shown() {
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
        assert_eq!(quoted(&"x".repeat(61)), format!("\"{}\"…", "x".repeat(60)));
    }
}
