//! Where a page was found.

/// Where a page was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// In the tier.
    Tier,
    /// In storage.
    Storage,
}
