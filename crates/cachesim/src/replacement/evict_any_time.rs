//! Policies that can evict a page at any time, not only for another one.

use super::Replacement;
use crate::page::Page;

/// A policy that chooses a page to leave whenever it is asked.
pub(crate) trait EvictAnyTime: Replacement {
    /// Evicts one page; `None` if there is none.
    fn evict_one(&mut self) -> Option<Page>;
}
