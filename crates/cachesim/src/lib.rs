//! Models of caches and tiers of storage: replacement and admission policies, offline optima,
//! miss-ratio curves, and memory over a tier. The crate reads no clock, no machine and no file.
//!
//! Pages have dense numbers ([`Dense`] gives them to the keys of a trace). A model takes the events
//! of pages one by one:
//!
//! ```
//! use unjank_cachesim::{Dense, Lru, Replacement as _, Space};
//!
//! let (mut dense, mut pages) = (Dense::new(), Vec::new());
//! dense.pages(&[7, 3, 7, 9, 3], &mut pages)?;
//! let space = Space::new(2, dense.footprint().into())?;
//! assert_eq!(Lru::new(space).misses(pages), 4);
//! # Ok::<(), unjank_cachesim::page::SpaceError>(())
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`page`] | page numbers, and the capacity and footprint of a cache |
//! | [`dense`] | dense numbers for the keys of a trace |
//! | [`replacement`] | replacement policies: which page leaves a full cache |
//! | [`admission`] | admission rules: which evicted pages enter a tier |
//! | [`objects`] | caches of objects with sizes and TTLs: misses of requests and of bytes |
//! | [`tier`] | a small fast tier between memory and storage |
//! | [`bounds`] | offline optimal policies: Belady with bypass, and the cheapest tier |
//! | [`check`] | the rules of policies, for those of one's own |
//! | [`mrc`] | miss-ratio curves |
//! | [`packed`] | a page and what happened to it, in four bytes |
//! | [`access`] | accesses of programs to pages |
//! | [`workload`] | accesses, launches and exits of the programs of a trace |
//! | [`memory`] | page reclaim: which accesses fault, and which pages are evicted for them |
//! | [`paging`] | page-ins, page-outs and drops: the requests of memory to the levels below it |
//! | [`paged`] | memory with swap: turns a workload into such requests |
//! | [`killing`] | memory without swap, where a low-memory killer makes room |

pub mod access;
pub mod admission;
mod bits;
pub mod bounds;
pub mod check;
pub mod dense;
pub mod killing;
pub mod memory;
pub mod mrc;
mod nibbles;
pub mod objects;
pub mod packed;
pub mod page;
pub mod paged;
pub mod paging;
pub mod replacement;
pub mod tier;
pub mod workload;

pub use access::{Access, AccessKind};
pub use admission::Admission;
pub use bounds::{Belady, NextUses};
pub use dense::Dense;
pub use killing::Killing;
pub use memory::Memory;
pub use page::{Page, Space};
pub use paged::Paged;
pub use paging::{PagingEvent, PagingKind};
pub use replacement::{Lru, Policy, Replacement};
pub use tier::{Tier, Traffic};
pub use workload::Workload;
