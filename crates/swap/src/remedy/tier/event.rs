//! What a supervisor tells the user.

use std::fmt;
use std::path::PathBuf;

use unjank_host::Bytes;

/// What a supervisor tells the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A backing of this size is made.
    Making(PathBuf, Bytes),
    /// The machine swaps to this device.
    Up(PathBuf),
    /// The server was killed, and another one serves.
    Replaced,
    /// Something failed; it is tried again.
    Failed(String),
    /// The tier cannot be taken down yet: so much memory is missing for its pages.
    Short(Bytes),
    /// The supervisor of this process's tier was killed.
    CutOff,
    /// The tier is taken down.
    Down,
    /// The tier could not be taken down.
    NotTakenDown(String),
    /// A backing could not be given back.
    Left(String),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Making(path, size) => write!(f, "writing {size} of zeros to {}", path.display()),
            Self::Up(path) => write!(f, "swapping to {}", path.display()),
            Self::Replaced => write!(f, "the server was killed; another one has taken over"),
            Self::Failed(why) => write!(f, "{why}; trying again"),
            Self::Short(missing) => {
                write!(f, "not enough memory for the pages of the tier, {missing} short; waiting")
            }
            Self::CutOff => write!(f, "the supervisor of a swap tier was killed: taking it down"),
            Self::Down => write!(f, "the tier is down, and its pages are back in memory"),
            Self::NotTakenDown(why) => write!(f, "the tier is not taken down: {why}"),
            Self::Left(why) => write!(f, "not cleaned up: {why}"),
        }
    }
}
