//! Accesses of programs to pages, four bytes each.

use super::packed::{Packed, PackedKind};

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// The program reads the page.
    Read,
    /// The program changes the page.
    Write,
    /// The program touches the page for the first time: its earlier content is gone.
    FirstTouch,
}

impl PackedKind for AccessKind {
    const ALL: &'static [Self] = &[Self::Read, Self::Write, Self::FirstTouch];

    fn number(self) -> u32 {
        self as u32
    }
}

/// An access to a page.
pub type Access = Packed<AccessKind>;
