//! Policies for objects: which one leaves next. Those of pages that keep one queue serve objects of
//! any size as well.

use crate::page::{Page, Space, SpaceError};
use crate::replacement::evict_any_time::EvictAnyTime;
use crate::replacement::{Clock, Fifo, Lfu, LfuDa, Lru, Replacement, Sieve};

/// A policy that evicts one object at a time, whenever it is asked.
pub trait Eviction {
    /// Whether a new object is inserted before others are evicted, so that it can itself be the
    /// victim.
    const NEW_COMPETES: bool = false;

    /// A policy for this many different objects.
    ///
    /// # Errors
    ///
    /// More objects than [`MAX_PAGES`](crate::page::MAX_PAGES).
    fn for_objects(footprint: u32) -> Result<Self, SpaceError>
    where
        Self: Sized;

    /// Whether the object is in the cache.
    fn contains(&self, object: Page) -> bool;

    /// Takes a request for an object in the cache.
    fn hit(&mut self, object: Page);

    /// Takes a request for an object that is not in the cache, and comes into it.
    fn insert(&mut self, object: Page, size: u32);

    /// Chooses the object that leaves; `None` if there is none.
    fn evict(&mut self) -> Option<Page>;

    /// Removes an object. Returns whether it was in the cache.
    fn remove(&mut self, object: Page) -> bool;
}

macro_rules! by_pages {
    ($($(#[$attribute:meta])* $policy:ty;)*) => {$(
        impl Eviction for $policy {
            fn for_objects(footprint: u32) -> Result<Self, SpaceError> {
                // The cache of bytes is full before that of pages.
                Ok(Self::new(Space::new(u64::from(footprint).max(1), footprint.into())?))
            }

            fn contains(&self, object: Page) -> bool {
                Replacement::contains(self, object)
            }

            fn hit(&mut self, object: Page) {
                Replacement::hit(self, object);
            }

            fn insert(&mut self, object: Page, _size: u32) {
                let left = self.admit(object);
                debug_assert!(left.is_none(), "there is room for all objects");
            }

            fn evict(&mut self) -> Option<Page> {
                self.evict_one()
            }

            fn remove(&mut self, object: Page) -> bool {
                Replacement::remove(self, object)
            }
        }
    )*};
}

by_pages! {
    Fifo;
    Lru;
    Clock;
    Sieve;
    Lfu;
    LfuDa;
}
