//! The version of the protocol.

/// Version of layout and protocol.
pub(crate) const VERSION: u32 = 1;
