//! The levels below memory.

/// The level of the hierarchy that holds the current copy of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// In the tier.
    Tier,
    /// In storage.
    Storage,
}
