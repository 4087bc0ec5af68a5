//! The reasons for which a boost ends.

use super::pause::PauseReason;

/// Why the boost of a launch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndReason {
    /// Its processes are idle.
    Settled,
    /// Its processes have ended.
    Exited,
    /// It is on screen, as the system says.
    Displayed,
    /// Launches of this program are usually over by now.
    Learned,
    /// It reached the longest time of any boost.
    Longest,
    /// The budget was used up.
    Budget,
    /// Boosts were paused.
    Paused(PauseReason),
    /// The service ended.
    Stopped,
}

impl EndReason {
    /// In words, after the length of the boost.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Exited => "exited",
            Self::Displayed => "on screen",
            Self::Learned => "as long as its launches take",
            Self::Longest => "the longest allowed",
            Self::Budget => "budget used up",
            Self::Paused(PauseReason::Request) => "paused",
            Self::Paused(PauseReason::PowerSaver) => "power saver",
            Self::Stopped => "service stopped",
        }
    }
}
