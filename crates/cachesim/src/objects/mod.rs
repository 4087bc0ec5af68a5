//! Caches of objects that have sizes, and perhaps a TTL: what web and key-value caches hold.
//!
//! | module | subject |
//! |---|---|
//! | [`cache`] | a cache with room for a number of bytes: requests, hits, byte misses, expiry |
//! | [`eviction`] | policies: which object leaves next |
//! | [`gdsf`] | Greedy-Dual-Size-Frequency |
//!
//! Objects have dense numbers, like pages ([`Dense`](crate::Dense)).
//!
//! ```
//! use unjank_cachesim::objects::{Eviction as _, ObjectCache, Request};
//! use unjank_cachesim::{Lru, Page};
//!
//! let mut cache = ObjectCache::new(1_000, 3, Lru::for_objects(3)?);
//! for (object, size) in [(0, 600), (1, 300), (0, 600), (2, 500), (0, 600)] {
//!     cache.request(Request { object: Page(object), size, at: 0, ttl: None });
//! }
//! let counts = cache.counts();
//! assert_eq!((counts.misses, counts.missed_bytes), (4, 2_000));
//! # Ok::<(), unjank_cachesim::page::SpaceError>(())
//! ```

pub mod cache;
pub mod eviction;
pub mod gdsf;
mod named;

pub use cache::{Counts, ObjectCache, Outcome, Request};
pub use eviction::Eviction;
pub use gdsf::Gdsf;
pub use named::{ObjectPolicy, UnknownObjectPolicy, VisitObjects};
