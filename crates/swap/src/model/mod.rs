//! Swap as a model: pure, without a clock or a machine.
//!
//! | module | subject |
//! |---|---|
//! | [`page`] | pages by dense numbers, and how many of them there are room for |
//! | [`dense`] | dense numbers for the keys of a trace |
//! | [`replacement`] | who leaves a full cache: policies |
//! | [`paging`] | what memory does with pages over whatever lies below |
//! | [`memory`] | which touches of pages wait, and what is evicted for them |
//! | [`tier`] | a small fast tier between memory and storage |
//! | [`admission`] | who may enter it |
//! | [`bounds`] | what no policy can beat |
//! | [`mrc`] | misses over the size of the cache |

pub mod admission;
mod bits;
pub mod bounds;
pub mod dense;
pub mod memory;
pub mod mrc;
pub mod page;
pub mod paging;
pub mod replacement;
pub mod tier;

pub use admission::Admission;
pub use bounds::{Belady, NextUses};
pub use dense::Dense;
pub use memory::Memory;
pub use page::{Page, Space};
pub use paging::{Happened, Paging};
pub use replacement::{Policy, Replacement};
pub use tier::{Tier, Traffic};
