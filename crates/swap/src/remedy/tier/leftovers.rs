//! Tiers whose processes were all killed.

use std::fmt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use unjank_host::{Bytes, Error, Nanos, Result, Timestamp};

use super::directory::TierDirectory;
use super::helper::{Helpers, Task};
use super::lock::Supervision;
use super::status;

/// The time between two looks at a tier that is being taken down.
const LOOK: Duration = Duration::from_millis(20);

/// The time after which a tier of which no page has come back is not waited for.
pub const NO_PROGRESS: Nanos = Nanos::from_millis(30_000);

/// A tier that was left.
#[derive(Debug)]
pub struct Leftover {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a tier that was left.
#[derive(Debug)]
pub enum Outcome {
    /// It is down.
    Down,
    /// It is served again, and taken down as soon as there is so much more memory for its pages.
    Short(Bytes),
    /// It could not be taken down.
    Failed(Error),
}

impl fmt::Display for Outcome {
    /// The predicate of a sentence whose subject is the tier.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => write!(f, "is down"),
            Self::Short(missing) => {
                write!(f, "is served again, and taken down when there is {missing} more memory")
            }
            Self::Failed(error) => write!(f, "is not taken down: {error}"),
        }
    }
}

/// The names of the tiers that nobody looks after.
///
/// # Errors
/// The kernel's error.
pub fn names(all: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for directory in TierDirectory::list(all)? {
        if directory.supervision()? == Supervision::Nobody {
            names.push(directory.name().to_owned());
        }
    }
    Ok(names)
}

/// Starts a keeper for each tier that nobody looks after, and waits until it is down, or cannot be
/// taken down yet: there is too little memory, or for [`NO_PROGRESS`] no page has come back.
///
/// # Errors
/// The kernel's error.
pub fn take_down(all: &Path, helpers: &Helpers) -> Result<Vec<Leftover>> {
    let take_down = |name: String| {
        let outcome = take_one_down(all, &name, helpers).unwrap_or_else(Outcome::Failed);
        Leftover { name, outcome }
    };
    Ok(names(all)?.into_iter().map(take_down).collect())
}

/// As [`take_down`], for one of them.
///
/// # Errors
/// Why it could not be taken down.
pub fn take_one_down(all: &Path, name: &str, helpers: &Helpers) -> Result<Outcome> {
    let directory = TierDirectory::named(all, name)?;
    let mut keeper = helpers.start(Task::Keep, &directory)?;
    keeper.answer()?;
    let (mut used, mut since) = (None, Timestamp::now());
    loop {
        match directory.supervision()? {
            Supervision::Gone => return Ok(Outcome::Down),
            Supervision::Nobody if !keeper.runs() => {
                keeper.answer()?;
                return Err(Error::Busy(format!("the keeper of the swap tier {name} has ended")));
            }
            Supervision::Process(Some(other)) if other != keeper.number() => {
                let why = format!("process {other} looks after the swap tier {name} now");
                return Err(Error::Busy(why));
            }
            Supervision::Nobody | Supervision::Process(_) => {}
        }
        // There is no status while the files are being removed.
        if let Ok(Some(status)) = status::of(&directory) {
            if status.server.is_some() && status.missing > Bytes::default() {
                return Ok(Outcome::Short(status.missing));
            }
            if used.replace(status.used) != Some(status.used) {
                since = Timestamp::now();
            }
        }
        if Timestamp::now().since(since) > NO_PROGRESS {
            return Err(Error::Busy(format!(
                "no page of the swap tier {name} has come back for {NO_PROGRESS}; its keeper \
                 (process {}) goes on trying",
                keeper.number()
            )));
        }
        thread::sleep(LOOK);
    }
}
