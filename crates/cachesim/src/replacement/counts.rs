//! Counters of recent requests: [`Frequency`](super::frequency::Frequency) is exact,
//! [`Sketch`](super::sketch::Sketch) estimates.

use crate::page::{Page, Space};

/// Counts recent requests.
pub trait Counts {
    /// Counters at zero, which are halved after about `sample` requests.
    fn new(space: Space, sample: u64) -> Self;
    /// Counts a request.
    fn count(&mut self, page: Page);
    /// Recent requests for a page, at most 15.
    fn of(&self, page: Page) -> u32;
    /// Forgets a page, as far as its counters are its own.
    fn forget(&mut self, page: Page);
    /// The memory of the counters, in bytes.
    fn bytes(&self) -> usize;
}
