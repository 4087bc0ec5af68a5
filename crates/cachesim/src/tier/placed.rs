//! Where a page goes, and which page leaves for it.

use super::Level;
use crate::page::Page;

/// What the tier decides about an evicted page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The level that takes the page.
    pub level: Level,
    /// The page that leaves the tier for it.
    pub left: Option<Left>,
}

impl Placed {
    pub(super) const TIER: Self = Self { level: Level::Tier, left: None };
    pub(super) const STORAGE: Self = Self { level: Level::Storage, left: None };
}

/// A page that leaves the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Its number.
    pub page: Page,
    /// Whether its copy in storage is stale, so that it must be written there first.
    pub stale: bool,
}
