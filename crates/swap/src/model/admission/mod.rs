//! Who may enter the tier when memory evicts it.
//!
//! | module | rule | memory |
//! |---|---|---|
//! | [`always`] | everything | none |
//! | [`second`] | from the second eviction on: the paper's | a bit a page, for ever |
//! | [`ghost`] | the same, if the first is among the last ones | five bytes a remembered page |
//! | [`gate`] | what was evicted more often than most of what is there | four bits a page |
//! | [`reject_first`] | as CacheLib's `RejectFirstAP`: the second eviction within two windows | a bit a page and window |
//! | [`budget`] | so many pages in a time | some words |

pub mod always;
pub mod budget;
pub mod gate;
pub mod ghost;
pub mod reject_first;
pub mod second;

pub use always::Always;
pub use budget::Budget;
pub use gate::Gate;
pub use ghost::Ghost;
pub use reject_first::RejectFirst;
pub use second::SecondEviction;

use unjank_host::Nanos;

use super::page::Page;

/// A page that memory evicts and that the tier does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// The page.
    pub page: Page,
    /// Whether memory has changed it, so that it has to be written somewhere.
    pub dirty: bool,
    /// When.
    pub at: Nanos,
}

/// A rule for who may enter the tier.
pub trait Admission {
    /// Whether this page may enter. Asked once for each eviction.
    fn admits(&mut self, eviction: Eviction) -> bool;

    /// Memory asks for a page, wherever it is.
    fn requested(&mut self, _page: Page, _at: Nanos) {}

    /// Memory evicts a page that it has changed and that the tier holds.
    fn rewritten(&mut self, _page: Page, _at: Nanos) {}

    /// The content of a page is gone, and its number may become another's.
    fn gone(&mut self, page: Page);

    /// The memory that the rule takes, in bytes.
    fn bytes(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a page that memory evicts now may enter.
    pub(super) fn evict(rule: &mut impl Admission, page: u32) -> bool {
        rule.admits(Eviction { page: Page(page), dirty: true, at: Nanos::ZERO })
    }
}
