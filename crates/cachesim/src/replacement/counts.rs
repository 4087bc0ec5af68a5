//! What counts requests of late: [`Frequency`](super::frequency::Frequency) exactly,
//! [`Sketch`](super::sketch::Sketch) by estimate.

use crate::page::{Page, Space};

/// Counts requests of late.
pub trait Counts {
    /// No requests so far; counters are halved after about `sample` of them.
    fn new(space: Space, sample: u64) -> Self;
    /// Counts a request.
    fn count(&mut self, page: Page);
    /// Requests of late, at most 15.
    fn of(&self, page: Page) -> u32;
    /// Forgets a page, as far as its counters are its own.
    fn forget(&mut self, page: Page);
    /// The memory that they take, in bytes.
    fn bytes(&self) -> usize;
}
