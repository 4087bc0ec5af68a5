//! Swap as a model: pure, without a clock or a machine.
//!
//! | module | subject |
//! |---|---|
//! | [`page`] | pages by dense numbers, and how many of them there are room for |
//! | [`dense`] | dense numbers for the keys of a trace |
//! | [`replacement`] | who leaves a full cache: policies |
//! | [`bounds`] | what no policy can beat |
//! | [`mrc`] | misses over the size of the cache |

pub mod bounds;
pub mod dense;
pub mod mrc;
pub mod page;
pub mod replacement;

pub use bounds::{Belady, NextUses};
pub use dense::Dense;
pub use page::{Page, Space};
pub use replacement::{Policy, Replacement};
