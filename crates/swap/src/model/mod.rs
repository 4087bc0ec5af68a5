//! Swap as a model: pure, without a clock or a machine.
//!
//! | module | subject |
//! |---|---|
//! | [`page`] | pages by dense numbers, and how many of them there are room for |
//! | [`dense`] | dense numbers for the keys of a trace |
//! | [`replacement`] | who leaves a full cache: policies |
//! | [`access`] | what programs do with pages |
//! | [`workload`] | all of that in a trace |
//! | [`paging`] | what memory does with pages over whatever lies below |
//! | [`memory`] | which touches of pages wait, and what is evicted for them |
//! | [`paged`] | from the one to the other: memory with swap |
//! | [`killing`] | memory without swap, whose apps are killed |
//! | [`tier`] | a small fast tier between memory and storage |
//! | [`admission`] | who may enter it |
//! | [`bounds`] | what no policy can beat |
//! | [`mrc`] | misses over the size of the cache |

pub mod access;
pub mod admission;
mod bits;
pub mod bounds;
pub mod dense;
pub mod killing;
pub mod memory;
pub mod mrc;
mod nibbles;
pub mod page;
pub mod paged;
pub mod paging;
pub mod replacement;
pub mod tier;
pub mod workload;

pub use access::{Access, Did};
pub use admission::Admission;
pub use bounds::{Belady, NextUses};
pub use dense::Dense;
pub use killing::Killing;
pub use memory::Memory;
pub use page::{Page, Space};
pub use paged::Paged;
pub use paging::{Happened, Paging};
pub use replacement::{Policy, Replacement};
pub use tier::{Tier, Traffic};
pub use workload::Workload;
