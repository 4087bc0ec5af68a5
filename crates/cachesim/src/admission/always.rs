//! Admits every page.

use super::{Admission, Eviction};
use crate::page::Page;

/// Admits every page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Always;

impl Admission for Always {
    fn admits(&mut self, _: Eviction) -> bool {
        true
    }

    fn gone(&mut self, _: Page) {}

    fn bytes(&self) -> usize {
        0
    }
}
