//! Who may enter the tier when memory evicts it.
//!
//! | module | rule | memory |
//! |---|---|---|
//! | [`never`](mod@never) | nothing: there is no tier | none |
//! | [`always`] | everything | none |
//! | [`second`] | from the second eviction on: the paper's | a bit a page, for ever |
//! | [`ghost`] | the same, if the first is among the last ones | eight bytes a page |
//! | [`gate`] | what was evicted more often than most of what is there | four bits a page |
//! | [`refault`] | what came back sooner than the oldest page of the tier | four bits a page |
//! | [`reject_first`] | as CacheLib's `RejectFirstAP`: the second eviction within two windows | a bit a page and window |
//! | [`age`] | mmd's: while there is room; what is idle for a day leaves | twelve bytes a page |
//! | [`budget`] | so many pages in a time | some words |

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
use super::tier::Found;

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
    /// Whether this page may enter. Asked once for each eviction; a budget or the
    /// replacement policy may keep it out nonetheless.
    fn admits(&mut self, eviction: Eviction) -> bool;

    /// A page has entered the tier.
    fn entered(&mut self, _page: Page) {}

    /// A page has left the tier.
    fn left(&mut self, _page: Page) {}

    /// Memory asks for a page, and it was found there.
    fn requested(&mut self, _page: Page, _found: Found, _at: Nanos) {}

    /// Memory evicts a page that it has changed and that the tier holds.
    fn rewritten(&mut self, _page: Page, _at: Nanos) {}

    /// Memory drops a page as it came, and the tier holds it.
    fn dropped(&mut self, _page: Page, _at: Nanos) {}

    /// A page that leaves the tier now, though none comes; asked until there is
    /// none, at each eviction.
    fn leaves(&mut self, _at: Nanos) -> Option<Page> {
        None
    }

    /// Pages that a budget kept out so far, though its rule let them in.
    fn over_budget(&self) -> u64 {
        0
    }

    /// The content of a page is gone, and its number may become another's.
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

    fn requested(&mut self, page: Page, found: Found, at: Nanos) {
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

    /// Whether a page that memory evicts enters.
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
