//! Replacement policies: which page leaves a full cache.
//!
//! All policies work on dense page numbers ([`Page`]). They allocate all their memory when they are
//! made: at most sixteen bytes for each page of the footprint (`LeCaR`: 21), and for each page that
//! fits eight to sixteen more for W-TinyLFU's sketch, 20 for LFU's buckets, and 24 for the heap of
//! LFU-DA and `LeCaR`. A request takes constant time, amortised where a hand moves over marks
//! (LFU-DA and `LeCaR`: the logarithm of the pages). No policy reads a clock, and those that choose
//! at random have a seed, so a run is the same on every machine.
//!
//! | module | policy | source |
//! |---|---|---|
//! | [`fifo`] | first in, first out | |
//! | [`lru`] | least recently used | |
//! | [`clock`] | second chance | Corbató, *A Paging Experiment with the Multics System*, 1968 |
//! | [`clock_pro`] | CLOCK-Pro | Jiang, Chen, Zhang, USENIX ATC 2005 |
//! | [`sieve`] | SIEVE | Zhang et al., NSDI 2024 |
//! | [`s3_fifo`] | S3-FIFO | Yang et al., SOSP 2023 |
//! | [`two_q`] | 2Q | Johnson, Shasha, VLDB 1994 |
//! | [`arc`] | ARC | Megiddo, Modha, FAST 2003 |
//! | [`lirs`] | LIRS | Jiang, Zhang, SIGMETRICS 2002 |
//! | [`w_tiny_lfu`] | W-TinyLFU, with Caffeine's sketch or exact counters | Einziger, Friedman, Manes, ACM TOS 2017 |
//! | [`slru`] | segmented LRU | Karedla, Love, Wherry, IEEE Computer 1994 |
//! | [`lfu`] | least frequently used | buckets: Shah, Mitra, Matani, 2010 |
//! | [`lfu_da`] | LFU with dynamic ageing | Arlitt et al., PER 2000 |
//! | [`car`] | CAR | Bansal, Modha, FAST 2004 |
//! | [`lecar`] | `LeCaR` | Vietri et al., `HotStorage` 2018 |
//! | [`hyperbolic`] | hyperbolic caching | Blankstein, Sen, Freedman, USENIX ATC 2017 |
//! | [`larc`] | LARC | Huang et al., MSST 2013 |
//! | [`lhd`] | least hit density | Beckmann, Chen, Cidon, NSDI 2018 |
//! | [`mq`] | MQ | Zhou, Philbin, Li, USENIX ATC 2001 |

pub mod arc;
pub mod car;
mod climber;
pub mod clock;
pub mod clock_pro;
mod counts;
pub(crate) mod evict_any_time;
pub mod fifo;
mod frequency;
pub mod hyperbolic;
pub(crate) mod indexed_heap;
pub mod larc;
pub mod lecar;
pub mod lfu;
pub mod lfu_da;
pub mod lhd;
pub(crate) mod links;
pub mod lirs;
pub(crate) mod lists;
pub mod lru;
pub mod mq;
mod named;
pub mod parameters;
mod queues;
mod random;
mod random_set;
pub mod s3_fifo;
pub mod sieve;
mod sketch;
pub mod slru;
pub mod two_q;
pub mod w_tiny_lfu;

pub use arc::Arc;
pub use car::Car;
pub use clock::Clock;
pub use clock_pro::ClockPro;
pub use fifo::Fifo;
pub use hyperbolic::Hyperbolic;
pub use larc::Larc;
pub use lecar::LeCar;
pub use lfu::Lfu;
pub use lfu_da::LfuDa;
pub use lhd::Lhd;
pub use lirs::Lirs;
pub use lru::Lru;
pub use mq::Mq;
pub use s3_fifo::S3Fifo;
pub use sieve::Sieve;
pub use slru::Slru;
pub use two_q::TwoQ;
pub use w_tiny_lfu::{WTinyLfu, WTinyLfuExact};

pub use named::{Policy, UnknownPolicy, Visit};

use super::page::{Page, Space};

/// A cache of pages under a replacement policy.
///
/// Page numbers passed to it are below the footprint.
pub trait Replacement {
    /// Whether the page is in the cache.
    fn contains(&self, page: Page) -> bool;

    /// Takes a request for a page that is in the cache.
    fn hit(&mut self, page: Page);

    /// Takes a request for a page that is not in the cache. Returns the page that leaves for it:
    /// `None` while there is room, and the page itself if the policy does not admit it.
    fn admit(&mut self, page: Page) -> Option<Page>;

    /// Removes a page that was freed (its swap slot, for example) and forgets its history, because
    /// its number may be reused. Returns whether it was in the cache.
    fn remove(&mut self, page: Page) -> bool;

    /// How many pages are in the cache.
    fn len(&self) -> u32;

    /// Whether no page is in the cache.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The capacity and the footprint.
    fn space(&self) -> Space;

    /// The memory that the policy takes, in bytes.
    fn bytes(&self) -> usize;

    /// Takes a request for any page. Returns whether it was a hit.
    fn request(&mut self, page: Page) -> bool {
        let hit = self.contains(page);
        if hit {
            self.hit(page);
        } else {
            let _left = self.admit(page);
        }
        hit
    }

    /// Takes requests and counts the misses.
    fn misses(&mut self, requests: impl IntoIterator<Item = Page>) -> u64
    where
        Self: Sized,
    {
        requests.into_iter().map(|page| u64::from(!self.request(page))).sum()
    }
}
