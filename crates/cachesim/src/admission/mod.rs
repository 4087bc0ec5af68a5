//! Admission rules: which evicted pages enter the tier.
//!
//! | module | which pages enter | memory |
//! |---|---|---|
//! | [`never`](mod@never) | none: there is no tier | none |
//! | [`always`] | every page | none |
//! | [`second`] | a page from its second eviction on: the paper's rule | 1 bit a page |
//! | [`ghost`] | the same, if its first eviction is among the last rejected ones | 8 bytes a page |
//! | [`gate`] | a page evicted more often than the pages that would fill the tier | 4 bits a page |
//! | [`refault`] | a page that came back sooner than the tier's longest absent page | 4 bits a page |
//! | [`reject_first`] | CacheLib's `RejectFirstAP`: second eviction within two windows | 2 bits a page |
//! | [`age`] | mmd's rule: every page while there is room; idle pages leave | 12 bytes a page |
//! | [`budget`] | the pages that another rule admits, within a rate of writes | some words |

pub mod age;
pub mod always;
pub mod budget;
pub mod gate;
pub mod ghost;
pub mod never;
pub mod refault;
pub mod reject_first;
pub mod second;
mod spans;

pub use age::Age;
pub use always::Always;
pub use budget::{Budget, WriteRate};
pub use gate::Gate;
pub use ghost::Ghost;
pub use never::Never;
pub use refault::Refault;
pub use reject_first::RejectFirst;
pub use second::SecondEviction;

use unjank_units::Nanos;

use super::page::Page;
use super::tier::Level;

/// A page that memory evicts and that the tier does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// The page's number, dense from 0.
    pub page: Page,
    /// Whether the page is dirty, so that it must be written somewhere.
    pub dirty: bool,
    /// The time of the eviction.
    pub at: Nanos,
}

/// A rule that decides which evicted pages enter the tier.
pub trait Admission {
    /// Whether this page may enter. Called once per eviction; a budget or the replacement policy
    /// may still reject the page.
    fn admits(&mut self, eviction: Eviction) -> bool;

    /// A page has entered the tier.
    fn entered(&mut self, _page: Page) {}

    /// A page has left the tier.
    fn left(&mut self, _page: Page) {}

    /// Memory brought a page in, which was in `found`.
    fn requested(&mut self, _page: Page, _found: Level, _at: Nanos) {}

    /// Memory evicts a dirty page that the tier holds.
    fn rewritten(&mut self, _page: Page, _at: Nanos) {}

    /// Memory drops a clean page that the tier holds.
    fn dropped(&mut self, _page: Page, _at: Nanos) {}

    /// A page to return to storage although none enters. Called at each eviction until it returns
    /// `None`.
    fn leaves(&mut self, _at: Nanos) -> Option<Page> {
        None
    }

    /// Pages that the rule admitted and a budget rejected so far.
    fn over_budget(&self) -> u64 {
        0
    }

    /// A page was freed; its number may be reused.
    fn gone(&mut self, page: Page);

    /// The memory that the rule takes, in bytes.
    fn bytes(&self) -> usize;
}

impl<T: Admission + ?Sized> Admission for Box<T> {
    fn admits(&mut self, eviction: Eviction) -> bool {
        (**self).admits(eviction)
    }

    fn entered(&mut self, page: Page) {
        (**self).entered(page);
    }

    fn left(&mut self, page: Page) {
        (**self).left(page);
    }

    fn requested(&mut self, page: Page, found: Level, at: Nanos) {
        (**self).requested(page, found, at);
    }

    fn rewritten(&mut self, page: Page, at: Nanos) {
        (**self).rewritten(page, at);
    }

    fn dropped(&mut self, page: Page, at: Nanos) {
        (**self).dropped(page, at);
    }

    fn leaves(&mut self, at: Nanos) -> Option<Page> {
        (**self).leaves(at)
    }

    fn over_budget(&self) -> u64 {
        (**self).over_budget()
    }

    fn gone(&mut self, page: Page) {
        (**self).gone(page);
    }

    fn bytes(&self) -> usize {
        (**self).bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evicts a page from memory. Returns whether it enters.
    pub(super) fn evict(rule: &mut impl Admission, page: u32) -> bool {
        evict_at(rule, page, Nanos::ZERO)
    }

    /// The same, at some time.
    pub(super) fn evict_at(rule: &mut impl Admission, page: u32, at: Nanos) -> bool {
        let enters = rule.admits(Eviction { page: Page(page), dirty: true, at });
        if enters {
            rule.entered(Page(page));
        }
        enters
    }
}
