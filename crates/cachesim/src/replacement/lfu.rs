//! LFU: evicts the page with the fewest requests since it came into the cache; of several, the one
//! whose last request is longest ago.
//!
//! Pages with equally many requests are in one bucket, by their last request, and the buckets are in
//! the order of their requests, so that a request takes constant time (Shah, Mitra, Matani, *An O(1)
//! algorithm for implementing the LFU cache eviction scheme*, 2010).

use super::Replacement;
use super::evict_any_time::EvictAnyTime;
use crate::page::{Page, Space};

/// No page, or no bucket.
const NONE: u32 = u32::MAX;

/// The neighbours of a page in its bucket.
#[derive(Clone, Copy)]
struct Link {
    /// `NONE` if the page is not in the cache.
    bucket: u32,
    /// Towards the page whose last request is longest ago.
    older: u32,
    newer: u32,
}

/// The pages with so many requests.
#[derive(Clone, Copy)]
struct Bucket {
    requests: u32,
    oldest: u32,
    newest: u32,
    /// The bucket with the next fewer requests. Unused buckets are a list by `more`.
    fewer: u32,
    more: u32,
}

/// The pages of the cache in buckets.
pub struct Lfu {
    space: Space,
    pages: u32,
    links: Box<[Link]>,
    /// One for each page that fits, and one for a page on its way to the next.
    buckets: Box<[Bucket]>,
    /// The bucket with the fewest requests.
    fewest: u32,
    unused: u32,
}

impl Lfu {
    /// An empty cache.
    pub fn new(space: Space) -> Self {
        let nowhere = Link { bucket: NONE, older: NONE, newer: NONE };
        let buckets = space.capacity().min(space.footprint()) + 1;
        let unused = |more| Bucket { requests: 0, oldest: NONE, newest: NONE, fewer: NONE, more };
        let chain = (1..=buckets).map(|next| unused(if next == buckets { NONE } else { next }));
        Self {
            space,
            pages: 0,
            links: vec![nowhere; space.footprint() as usize].into_boxed_slice(),
            buckets: chain.collect(),
            fewest: NONE,
            unused: 0,
        }
    }

    fn bucket(&mut self, number: u32) -> &mut Bucket {
        &mut self.buckets[number as usize]
    }

    /// The bucket for so many requests, behind the bucket `fewer`, which has the next fewer ones
    /// (`NONE`: there is none). It is made if it is missing.
    fn bucket_behind(&mut self, fewer: u32, requests: u32) -> u32 {
        let more = if fewer == NONE { self.fewest } else { self.bucket(fewer).more };
        if more != NONE && self.bucket(more).requests == requests {
            return more;
        }
        let new = self.unused;
        self.unused = self.bucket(new).more;
        *self.bucket(new) = Bucket { requests, oldest: NONE, newest: NONE, fewer, more };
        if more != NONE {
            self.bucket(more).fewer = new;
        }
        if fewer == NONE {
            self.fewest = new;
        } else {
            self.bucket(fewer).more = new;
        }
        new
    }

    /// Adds a page as the newest one of a bucket.
    fn add(&mut self, page: Page, number: u32) {
        let bucket = self.bucket(number);
        let older = std::mem::replace(&mut bucket.newest, page.0);
        if older == NONE {
            bucket.oldest = page.0;
        } else {
            self.links[older as usize].newer = page.0;
        }
        self.links[page.index()] = Link { bucket: number, older, newer: NONE };
    }

    /// Takes a page out of its bucket, which may be empty then.
    fn unlink(&mut self, page: Page) -> u32 {
        let Link { bucket: number, older, newer } = self.links[page.index()];
        if older == NONE {
            self.bucket(number).oldest = newer;
        } else {
            self.links[older as usize].newer = newer;
        }
        if newer == NONE {
            self.bucket(number).newest = older;
        } else {
            self.links[newer as usize].older = older;
        }
        number
    }

    /// Gives a bucket back if it is empty.
    fn give_back_if_empty(&mut self, number: u32) {
        let Bucket { oldest, fewer, more, .. } = *self.bucket(number);
        if oldest != NONE {
            return;
        }
        if fewer == NONE {
            self.fewest = more;
        } else {
            self.bucket(fewer).more = more;
        }
        if more != NONE {
            self.bucket(more).fewer = fewer;
        }
        self.bucket(number).more = self.unused;
        self.unused = number;
    }

    fn take(&mut self, page: Page) {
        let bucket = self.unlink(page);
        self.give_back_if_empty(bucket);
        self.links[page.index()].bucket = NONE;
        self.pages -= 1;
    }
}

impl EvictAnyTime for Lfu {
    fn evict_one(&mut self) -> Option<Page> {
        if self.fewest == NONE {
            return None;
        }
        let page = Page(self.bucket(self.fewest).oldest);
        self.take(page);
        Some(page)
    }
}

impl Replacement for Lfu {
    fn contains(&self, page: Page) -> bool {
        self.links[page.index()].bucket != NONE
    }

    fn hit(&mut self, page: Page) {
        let from = self.links[page.index()].bucket;
        let Bucket { requests, oldest, newest, more, .. } = *self.bucket(from);
        let next = requests.saturating_add(1);
        // Alone in its bucket, a page takes it along.
        let is_next_free = more == NONE || self.bucket(more).requests != next;
        if oldest == newest && is_next_free {
            self.bucket(from).requests = next;
            return;
        }
        let to = if next == requests { from } else { self.bucket_behind(from, next) };
        self.unlink(page);
        self.add(page, to);
        self.give_back_if_empty(from);
    }

    fn admit(&mut self, page: Page) -> Option<Page> {
        let full = self.pages == self.space.capacity();
        let victim = if full { self.evict_one() } else { None };
        let bucket = self.bucket_behind(NONE, 1);
        self.add(page, bucket);
        self.pages += 1;
        victim
    }

    fn remove(&mut self, page: Page) -> bool {
        let there = self.contains(page);
        if there {
            self.take(page);
        }
        there
    }

    fn len(&self) -> u32 {
        self.pages
    }

    fn space(&self) -> Space {
        self.space
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.links) + size_of_val(&*self.buckets)
    }
}
