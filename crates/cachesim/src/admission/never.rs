//! Admits no page: there is no tier.

use super::{Admission, Eviction};
use crate::page::Page;

/// Admits no page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Never;

impl Admission for Never {
    fn admits(&mut self, _: Eviction) -> bool {
        false
    }

    fn gone(&mut self, _: Page) {}

    fn bytes(&self) -> usize {
        0
    }
}
