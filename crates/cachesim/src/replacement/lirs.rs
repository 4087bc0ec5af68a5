//! LIRS: keeps pages whose last two requests were close to each other; all others pass through a
//! queue of 1 % of the cache.
//!
//! Source: Jiang, Zhang, *LIRS: An Efficient Low Inter-reference Recency Set
//! Replacement Policy*, SIGMETRICS 2002, with its 1 % for pages of high
//! inter-reference recency (HIR), at least one page. The paper does not bound the stack. As in
//! libCacheSim, it holds at most twice the capacity unless another bound is chosen; beyond that,
//! the pages that left the cache longest ago are forgotten.
//!
//! Misses differ slightly from libCacheSim's, which can keep a page too many: with room for four,
//! after requests for 1 2 3 4 4 1 5, all five are hits.

use super::Replacement;
use super::links::{Links, List};
use super::parameters::{Share, Slot};
use crate::page::{Page, Space};

/// The state of a page that is in no list.
const UNKNOWN: u32 = 0;
/// Of low inter-reference recency: in the cache and the stack.
const LIR: u32 = 1;
/// Of high inter-reference recency: in the cache and the queue, perhaps in the stack.
const HIR: u32 = 2;
/// Left the cache: in the stack and the queue of the remembered.
const GONE: u32 = 3;

/// The parameters of LIRS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parameters {
    /// Room for pages of high inter-reference recency, at least one page.
    pub hir: Share,
    /// The maximum number of pages in the stack, for each page that fits. Pages in the cache are
    /// never removed from it by this bound.
    pub stack: Share,
}

impl Parameters {
    /// The values of the paper, with libCacheSim's bound of the stack.
    pub const PAPER: Self = Self { hir: Share::percent(1), stack: Share::percent(200) };

    pub(super) fn slots(&mut self) -> Vec<(&'static str, Slot<'_>)> {
        vec![
            ("hir", Slot::Share(&mut self.hir, 0.0..=1.0)),
            ("stack", Slot::Share(&mut self.stack, 1.0..=1_000.0)),
        ]
    }
}

/// The stack S, the queue Q, and a queue of pages in S that left the cache.
///
/// Sixteen bytes per page: the mark of a page's links is its state.
pub struct Lirs {
    space: Space,
    max_lir: u32,
    max_stacked: u32,
    lir: u32,
    hir: u32,
    /// Pages in the stack.
    stacked: u32,
    stack: Links<1>,
    queues: Links<2>,
}

impl Lirs {
    /// An empty cache, as in the paper.
    pub fn new(space: Space) -> Self {
        Self::with(space, Parameters::PAPER)
    }

    /// An empty cache with these parameters.
    pub fn with(space: Space, parameters: Parameters) -> Self {
        Self {
            space,
            max_lir: space.capacity() - parameters.hir.of(space).max(1),
            max_stacked: parameters.stack.of(space),
            lir: 0,
            hir: 0,
            stacked: 0,
            stack: Links::new(space),
            queues: Links::new(space),
        }
    }

    fn top(&self) -> List {
        self.stack.list(0)
    }

    fn queue(&self) -> List {
        self.queues.list(0)
    }

    fn gone(&self) -> List {
        self.queues.list(1)
    }

    /// Pushes or moves a page to the top of the stack.
    fn raise(&mut self, page: Page) {
        if self.stack.linked(page) {
            self.stack.move_to_front(self.top(), page);
        } else {
            self.stack.push_front(self.top(), page);
            self.stacked += 1;
        }
    }

    fn unstack(&mut self, page: Page) {
        if self.stack.linked(page) {
            self.stack.unlink(page);
            self.stacked -= 1;
        }
    }

    /// Makes a page at the top of the stack LIR, and the lowest one HIR if there are too many LIR
    /// pages then.
    fn promote(&mut self, page: Page) {
        self.stack.set_mark(page, LIR);
        self.lir += 1;
        if self.lir > self.max_lir {
            self.prune();
            if let Some(lowest) = self.stack.back(self.top()) {
                self.unstack(lowest);
                self.stack.set_mark(lowest, HIR);
                self.lir -= 1;
                self.hir += 1;
                self.queues.push_front(self.queue(), lowest);
            }
        }
        self.prune();
    }

    /// Removes pages that are not LIR from the bottom of the stack.
    fn prune(&mut self) {
        while let Some(lowest) = self.stack.back(self.top()) {
            match self.stack.mark(lowest) {
                LIR => break,
                GONE => self.forget(lowest),
                _ => self.unstack(lowest),
            }
        }
    }

    /// Forgets a page that has left the cache.
    fn forget(&mut self, page: Page) {
        self.unstack(page);
        self.queues.unlink(page);
        self.stack.set_mark(page, UNKNOWN);
    }

    fn evict(&mut self) -> Option<Page> {
        let page = self.queues.pop_back(self.queue())?;
        self.hir -= 1;
        if self.stack.linked(page) {
            self.stack.set_mark(page, GONE);
            self.queues.push_front(self.gone(), page);
        } else {
            self.stack.set_mark(page, UNKNOWN);
        }
        Some(page)
    }

    fn bound(&mut self) {
        while self.stacked > self.max_stacked {
            let Some(oldest) = self.queues.back(self.gone()) else { break };
            self.forget(oldest);
        }
    }
}

impl Replacement for Lirs {
    fn contains(&self, page: Page) -> bool {
        matches!(self.stack.mark(page), LIR | HIR)
    }

    fn hit(&mut self, page: Page) {
        let stacked = self.stack.linked(page);
        let lowest = stacked && self.stack.back(self.top()) == Some(page);
        self.raise(page);
        if self.stack.mark(page) == LIR {
            if lowest {
                self.prune();
            }
        } else if stacked {
            self.queues.unlink(page);
            self.hir -= 1;
            self.promote(page);
        } else {
            self.queues.move_to_front(self.queue(), page);
            self.bound();
        }
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let full = self.len() == self.space.capacity();
        let victim = if full { self.evict() } else { None };
        let remembered = self.stack.mark(page) == GONE;
        if remembered {
            self.queues.unlink(page);
        }
        self.raise(page);
        if remembered || self.lir < self.max_lir {
            self.promote(page);
        } else {
            self.stack.set_mark(page, HIR);
            self.hir += 1;
            self.queues.push_front(self.queue(), page);
        }
        self.bound();
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let mark = self.stack.mark(page);
        self.unstack(page);
        self.stack.set_mark(page, UNKNOWN);
        if self.queues.linked(page) {
            self.queues.unlink(page);
        }
        match mark {
            LIR => {
                self.lir -= 1;
                self.prune();
            }
            HIR => self.hir -= 1,
            _ => return false,
        }
        true
    }

    fn len(&self) -> u32 {
        self.lir + self.hir
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        self.stack.bytes() + self.queues.bytes()
    }
}
