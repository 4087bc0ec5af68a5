//! The version of what both sides of a channel speak.

/// Version of the layout and of the protocol spoken over it.
pub(crate) const VERSION: u32 = 1;
